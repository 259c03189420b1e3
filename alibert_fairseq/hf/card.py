"""The model card: what a stranger needs to know before using the folder."""

import json
from pathlib import Path

MADE_BY = "with alibert_fairseq by"  # what export knows its own folders by
TO_COMPLETE = "To be completed by whoever publishes this folder"  # and an untouched card

USES = {
    "RobertaForMaskedLM": ("fill-mask", "masked language modelling", "AutoModelForMaskedLM"),
    "BertForMaskedLM": ("fill-mask", "masked language modelling", "AutoModelForMaskedLM"),
    "BertForPreTraining": ("fill-mask", "masked language modelling and a sentence objective", "AutoModelForMaskedLM"),
    "AlbertForMaskedLM": ("fill-mask", "masked language modelling", "AutoModelForMaskedLM"),
    "AlbertForPreTraining": ("fill-mask", "masked language modelling and a sentence objective", "AutoModelForMaskedLM"),
    "ElectraForPreTraining": (None, "replaced token detection (the discriminator)", "AutoModelForTokenClassification"),
    "ElectraForMaskedLM": ("fill-mask", "replaced token detection (the generator)", "AutoModelForMaskedLM"),
}
LOSSES = {
    "alibert_mlm": "masked tokens",
    "segment_pairs": "masked tokens + sentence pairs",
    "electra": "generator + weighted discriminator",
}


def write_card(folder: Path, checkpoint, part, difference: float, licence: str) -> None:
    """Write README.md with the metadata block of the Hugging Face hub."""
    pipeline_tag, objective, auto_class = USES[part.cls]
    mask = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["mask_token"]
    front = [f"license: {licence}", "library_name: transformers"]
    if not checkpoint.converted_from:
        front = ["language: fr", *front, "tags: [biomedical, clinical, french]"]
    if pipeline_tag:
        front += [f"pipeline_tag: {pipeline_tag}", f'mask_token: "{mask}"']
        front += ["widget:", f'  - text: "Le patient présente une {mask} à 38,5 °C."']
    rows = "\n".join(f"| {name} | {value} |" for name, value in _figures(checkpoint, part).items())
    (folder / "README.md").write_text(
        "---\n" + "\n".join(front) + "\n---\n"
        f"# {_title(checkpoint)}, {part.cls}\n\n"
        f"{_origin(checkpoint, objective)}\n\n"
        f"| | |\n|---|---|\n{rows}\n\n"
        "## Use\n```python\n"
        f"from transformers import AutoTokenizer, {auto_class}\n\n"
        f'tokenizer = AutoTokenizer.from_pretrained("PATH")\nmodel = {auto_class}.from_pretrained("PATH")\n```\n\n'
        "## Training data, licence and limits\n"
        f"{TO_COMPLETE}: the corpora, their licences, and whether they may hold "
        "personal data; of a continued model also the terms of the one it began as. "
        "The model repeats the biases of its corpus; it is no medical device.\n\n"
        f"Largest difference of logits to the training checkpoint: {difference:.1e} (float32).\n",
        encoding="utf-8",
    )


def _title(checkpoint) -> str:
    return checkpoint.converted_from or "French biomedical encoder"


def _origin(checkpoint, objective: str) -> str:
    if name := checkpoint.converted_from:
        return f"Converted {MADE_BY} hf.load and hf.export, from {name}; nothing was trained."
    return f"Pretrained {MADE_BY} {objective}."


def _figures(checkpoint, part) -> dict:
    cfg = checkpoint.cfg
    size = checkpoint.size(part)
    figures = {
        "layers, width, heads": f"{size.layers}, {size.width}, {size.heads}",
        "vocabulary": size.vocabulary,
        "longest sequence (tokens)": size.max_positions,
        "updates": checkpoint.updates,
    }
    if origin := cfg["checkpoint"]["finetune_from_model"]:
        figures["continued from"] = Path(origin).absolute().parent.name
    if not checkpoint.converted_from:
        figures |= {
            "optimizer": f"{cfg['optimizer']['_name']}, learning rate {cfg['optimization']['lr'][0]:g}",
            "tokens per sample": cfg["task"]["tokens_per_sample"],
            "seed": cfg["common"]["seed"],
        }
    if checkpoint.best_loss is not None:
        loss = LOSSES.get(cfg["criterion"]["_name"], "all objectives")
        figures[f"best validation loss (bits a drawn token, {loss})"] = f"{float(checkpoint.best_loss):.3f}"
    return figures
