"""The model card: what a stranger needs to know before using the folder."""

import json
from pathlib import Path

MADE_BY = "Pretrained with alibert_fairseq by"  # what export knows its own folders by
TO_COMPLETE = "To be completed by whoever publishes this folder"  # and an untouched card

USES = {
    "RobertaForMaskedLM": ("fill-mask", "masked language modelling", "AutoModelForMaskedLM"),
    "ElectraForPreTraining": (None, "replaced token detection (the discriminator)", "AutoModelForTokenClassification"),
    "ElectraForMaskedLM": ("fill-mask", "replaced token detection (the generator)", "AutoModelForMaskedLM"),
}


def write_card(folder: Path, checkpoint, cls: str, difference: float, licence: str) -> None:
    """Write README.md with the metadata block of the Hugging Face hub."""
    pipeline_tag, objective, auto_class = USES[cls]
    mask = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["mask_token"]
    front = [
        "language: fr",
        f"license: {licence}",
        "library_name: transformers",
        "tags: [biomedical, clinical, french]",
    ]
    if pipeline_tag:
        front += [f"pipeline_tag: {pipeline_tag}", f'mask_token: "{mask}"']
        front += ["widget:", f'  - text: "Le patient présente une {mask} à 38,5 °C."']
    rows = "\n".join(f"| {name} | {value} |" for name, value in _figures(checkpoint, cls).items())
    (folder / "README.md").write_text(
        "---\n" + "\n".join(front) + "\n---\n"
        f"# French biomedical encoder, {cls}\n\n"
        f"{MADE_BY} {objective}.\n\n"
        f"| | |\n|---|---|\n{rows}\n\n"
        "## Use\n```python\n"
        f"from transformers import AutoTokenizer, {auto_class}\n\n"
        f'tokenizer = AutoTokenizer.from_pretrained("PATH")\nmodel = {auto_class}.from_pretrained("PATH")\n```\n\n'
        "## Training data, licence and limits\n"
        f"{TO_COMPLETE}: the corpora, their licences, and whether they may hold "
        "personal data. The model repeats the biases of its corpus; it is no medical device.\n\n"
        f"Largest difference of logits to the training checkpoint: {difference:.1e} (float32).\n",
        encoding="utf-8",
    )


def _figures(checkpoint, cls: str) -> dict:
    cfg = checkpoint.cfg
    size = checkpoint.part_for(cls).sentence_encoder.size
    figures = {
        "layers, width, heads": f"{size.layers}, {size.width}, {size.heads}",
        "vocabulary": size.vocabulary,
        "longest sequence (tokens)": size.max_positions,
        "updates": checkpoint.updates,
        "optimizer": f"{cfg['optimizer']['_name']}, learning rate {cfg['optimization']['lr'][0]:g}",
        "tokens per sample": cfg["task"]["tokens_per_sample"],
        "seed": cfg["common"]["seed"],
    }
    if checkpoint.best_loss is not None:
        loss = "masked tokens" if cls == "RobertaForMaskedLM" else "generator + weighted discriminator"
        figures[f"best validation loss (bits a drawn token, {loss})"] = f"{float(checkpoint.best_loss):.3f}"
    return figures
