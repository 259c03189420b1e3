"""The model card: what a user must know before using the folder."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCardData

from alibert_common.report.templates import filled

MADE_BY = "with alibert_fairseq by"  # export recognises its own folders by this text
TO_COMPLETE = "To be completed by whoever publishes this folder"  # and a card that nobody has edited by this one

DISCRIMINATOR = "ElectraForPreTraining"  # the one that fills no mask
OBJECTIVES = {  # of a class or a model that is trained by more than masked language modelling
    "electra_modern": "replaced token detection and masked language modelling",
    "BertForPreTraining": "masked language modelling and a sentence objective",
    "AlbertForPreTraining": "masked language modelling and a sentence objective",
    DISCRIMINATOR: "replaced token detection (the discriminator)",
    "ElectraForMaskedLM": "replaced token detection (the generator)",
}
LOSSES = {
    "alibert_mlm": "masked tokens",
    "segment_pairs": "masked tokens + sentence pairs",
    "electra": "generator + weighted discriminator",
}


def write_card(folder: Path, checkpoint, part, difference: float, licence: str) -> None:
    """Write README.md with the metadata block of the Hugging Face hub. Its text is card.md."""
    if name := checkpoint.converted_from:
        origin = f"Converted {MADE_BY} hf.load and hf.export, from {name}; nothing was trained."
    else:
        objective = OBJECTIVES.get(checkpoint.model_name) or OBJECTIVES.get(part.cls, "masked language modelling")
        origin = f"Pretrained {MADE_BY} {objective}."
    text = filled(
        Path(__file__).with_name("card.md"), title=f"{name or 'French biomedical encoder'}, {part.cls}",
        origin=origin, facts=_facts(checkpoint, part),
        auto_class="AutoModelForTokenClassification" if part.cls == DISCRIMINATOR else "AutoModelForMaskedLM",
        to_complete=TO_COMPLETE, difference=difference,
    )  # fmt: skip
    metadata = _metadata(folder, checkpoint, part, licence).to_yaml()
    (folder / "README.md").write_text(f"---\n{metadata}\n---\n{text}\n", encoding="utf-8")


def _metadata(folder: Path, checkpoint, part, licence: str) -> ModelCardData:
    data: dict[str, Any] = {"license": licence, "library_name": "transformers", "pipeline_tag": None}
    if not checkpoint.converted_from:
        data |= {"language": "fr", "tags": ["biomedical", "clinical", "french"]}
    if part.cls != DISCRIMINATOR:
        mask = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))["mask_token"]
        data |= {"pipeline_tag": "fill-mask", "mask_token": mask}
        data |= {"widget": [{"text": f"Le patient présente une {mask} à 38,5 °C."}]}
    return ModelCardData(**data)


def _facts(checkpoint, part) -> dict:
    cfg = checkpoint.cfg
    size = checkpoint.size(part)
    facts = {
        "layers, width, heads": f"{size.layers}, {size.width}, {size.heads}",
        "vocabulary": size.vocabulary,
        "longest sequence (tokens)": size.max_positions,
        "updates": checkpoint.updates,
    }
    if origin := cfg["checkpoint"]["finetune_from_model"]:
        facts["continued from"] = Path(origin).absolute().parent.name
    if not checkpoint.converted_from:
        facts |= {
            "optimizer": f"{cfg['optimizer']['_name']}, learning rate {cfg['optimization']['lr'][0]:g}",
            "tokens per sample": cfg["task"]["tokens_per_sample"],
            "seed": cfg["common"]["seed"],
        }
    if checkpoint.average:
        facts["weights"] = f"moving average over the updates, decay {cfg['ema']['ema_decay']:g}"
    if checkpoint.best_loss is not None and not checkpoint.average:  # it is of the weights of an update
        loss = LOSSES.get(cfg["criterion"]["_name"], "all objectives")
        facts[f"best validation loss (bits per masked token, {loss})"] = f"{float(checkpoint.best_loss):.3f}"
    return facts
