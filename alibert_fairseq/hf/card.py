"""The model card: what a user must know before using the folder."""

import json
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCardData

from alibert_common.directories import Marker
from alibert_common.files import read_json
from alibert_common.report.templates import filled
from alibert_fairseq.hf.logit_check import SENTENCE_SCORES

MADE_BY = "with alibert_fairseq by"  # export recognises its own folders by this text
LOADED = Marker.of_command("hf.load")
TO_COMPLETE = "To be completed by whoever publishes this folder"  # and a card that nobody has edited by this one

LOSSES = {
    "alibert_mlm": "masked tokens",
    "segment_pairs": "masked tokens + sentence pairs",
    "electra": "generator + weighted discriminator",
}


def write_card(folder: Path, checkpoint, part, difference: float, licence: str, audit: dict | None = None) -> None:
    """Write README.md with the metadata block of the Hugging Face hub. Its text is card.md.

    audit: what audit.json says of the model.
    """
    if name := checkpoint.converted_from:
        origin = f"Converted {MADE_BY} hf.load and hf.export, from {name}; nothing was trained."
    else:
        origin = f"Pretrained {MADE_BY} {_objective(checkpoint, part)}."
    text = filled(
        Path(__file__).with_name("card.md"), title=f"{name or 'French biomedical encoder'}, {part.cls}",
        origin=origin, facts=_facts(checkpoint, part),
        auto_class=_auto_class(checkpoint, part),
        to_complete=TO_COMPLETE, difference=difference, audit=_audit(audit) if audit else {},
    )  # fmt: skip
    metadata = _metadata(folder, checkpoint, part, licence).to_yaml()
    (folder / "README.md").write_text(f"---\n{metadata}\n---\n{text}\n", encoding="utf-8")


def _audit(figures: dict) -> dict[str, str]:
    """The main figures of an audit."""
    rule, membership = figures["data"]["anonymity"], figures["membership"]
    found = {
        "patients of the training text": f"{figures['data']['patients']:,}",
        "patients who must have a word that is learned": str(rule["min_patients"]) if rule else "1 (no rule)",
    }
    for unit in ("document", "patient"):
        calibrated, standardised = (membership[f"{unit}, {score}"] for score in ("calibrated", "standardised"))
        found[f"membership of a {unit}, AUC (0.5 is chance)"] = _with_interval(calibrated["auc"])
        at_one_percent = _with_interval(standardised["true_positives"]["0.01"])
        found[f"membership of a {unit}, share found at 1 % false alarms"] = at_one_percent
    for one in (figures["exposure"] or {"by_copies": []})["by_copies"]:
        copies = f"{one['copies']} document{'s' * (one['copies'] > 1)}"
        found[f"exposure of invented secrets in {copies}, bits (1.44 is chance)"] = _with_interval(one)
    return found


def _with_interval(rate: dict) -> str:
    return f"{rate['value']:.2f} [{rate['low']:.2f}, {rate['high']:.2f}]"


def _published_name(start: Path) -> str:
    """The name of the published folder that hf.load converted to `start`, or the name of `start`."""
    return read_json(start / LOADED.file).get("folder", start.name) if LOADED.is_in(start) else start.name


def _objective(checkpoint, part) -> str:
    if part.name in ("discriminator", "generator"):
        frozen = part.name == "generator" and dict(checkpoint.cfg.get("model", {})).get("freeze_generator")
        return f"replaced token detection (the {part.name}{', whose weights did not change' if frozen else ''})"
    if checkpoint.model_name != "electra_modern":
        causal = any(checkpoint.cfg["task"].get(name) for name in ("causal_share", "causal_until"))
        others = "a sentence objective" if part.cls in SENTENCE_SCORES else "causal modelling" if causal else ""
        return f"masked language modelling{' and ' + others if others else ''}"
    if checkpoint.cfg["criterion"]["encoder_weight"]:
        return "replaced token detection and masked language modelling"
    return "replaced token detection; the head for words was not trained"


def _fills_masks(checkpoint, part) -> bool:
    """Whether the part was trained to predict a word where it sees a mask."""
    if checkpoint.model_name != "electra_modern" or part.name == "generator":
        return part.name != "discriminator"
    cfg = checkpoint.cfg
    return bool(cfg["criterion"]["encoder_weight"] and cfg["model"]["kept_mask_prob"])


def _auto_class(checkpoint, part) -> str:
    if part.name == "discriminator":
        return "AutoModelForTokenClassification"
    return "AutoModelForMaskedLM" if _fills_masks(checkpoint, part) else "AutoModel"


def _metadata(folder: Path, checkpoint, part, licence: str) -> ModelCardData:
    data: dict[str, Any] = {"license": licence, "library_name": "transformers", "pipeline_tag": None}
    if not checkpoint.converted_from:
        data |= {"language": "fr", "tags": ["biomedical", "clinical", "french"]}
    if _fills_masks(checkpoint, part):
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
        facts["continued from"] = _published_name(Path(origin).absolute().parent)
    if not checkpoint.converted_from:
        facts |= {
            "optimizer": f"{cfg['optimizer']['_name']}, learning rate {cfg['optimization']['lr'][0]:g}",
            "tokens per sample": cfg["task"]["tokens_per_sample"],
            "seed": cfg["common"]["seed"],
        }
    if checkpoint.average:
        facts["weights"] = f"moving average over the updates, decay {cfg['ema']['ema_decay']:g}"
    of_loss = cfg["checkpoint"].get("best_checkpoint_metric", "loss") == "loss"
    if checkpoint.best_loss is not None and of_loss and not checkpoint.average:  # it is of the weights of an update
        loss = LOSSES.get(cfg["criterion"]["_name"], "all objectives")
        if checkpoint.model_name == "electra_modern" and cfg["criterion"]["encoder_weight"]:
            loss += " + encoder's words"
        facts[f"best validation loss (bits per masked token, {loss})"] = f"{float(checkpoint.best_loss):.3f}"
    return facts
