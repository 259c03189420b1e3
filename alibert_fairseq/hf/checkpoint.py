"""Reading a checkpoint of this plugin without training: its configuration, its dictionary, its model."""

from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from alibert_common.errors import InputError, reason
from alibert_fairseq.hf.families.part import Part
from alibert_fairseq.hf.families.table import CLASSES, DETECTORS, parts_of
from alibert_fairseq.models.pretraining import PretrainingModel
from alibert_fairseq.models.size import EncoderSize

# Of names that begin alike, the longer one first.
MODELS = sorted([*CLASSES, *DETECTORS, "electra_modern"], key=len, reverse=True)


class Checkpoint(NamedTuple):
    """A model ready to compare with, and what is known of its training."""

    path: Path
    model_name: str  # of MODELS
    model: PretrainingModel  # in eval mode, float32
    cfg: dict  # the whole training configuration
    task_state: dict  # what the task recorded: the SHA-256 of dict.txt and tokenizer.json
    updates: int
    best_loss: object  # bits, or None before the first validation; of the last weights
    average: bool  # whether these are the moving average of the weights
    converted_from: str | None  # the published folder, where hf.load wrote it and nothing was trained since
    dictionary: Dictionary

    def parts(self) -> tuple[Part, ...]:
        """The Hugging Face classes that the model becomes."""
        return parts_of(self.model_name, has_sentence_head(self.model.state_dict()))

    def size(self, part: Part) -> EncoderSize:
        """The size of a part's encoder."""
        return getattr(self.model, part.name).sentence_encoder.size


def read_checkpoint(path: Path, dictionary: Dictionary, average: bool = False) -> Checkpoint:
    """Load a checkpoint of one of MODELS, its last weights or the average that --store-ema kept.

    Raises InputError for a missing, damaged or foreign file, another objective, another dictionary, or no average.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: no such checkpoint; check the --save-dir of the training run.")
    try:
        state = checkpoint_utils.load_checkpoint_to_cpu(str(path))
        cfg, weights = state["cfg"], state["model"]
        name, settings = cfg["model"]["_name"], dict(cfg["model"])
    except Exception as error:  # whatever a damaged or foreign file makes the unpickler say
        raise InputError(f"{path}: not a checkpoint that fairseq-train wrote whole ({reason(error)}).") from None
    model_name = next((known for known in MODELS if name == known or name.startswith(f"{known}_")), None)
    if model_name is None:
        raise InputError(
            f"{path}: a checkpoint of the model {name!r}; only those of {', '.join(MODELS)} can be exported."
        )
    extra = state.get("extra_state") or {}
    if average and "ema" not in extra:
        raise InputError(f"{path}: holds no average of the weights; train with --store-ema, or leave --average out.")
    weights = extra.get("ema_fp32_params", extra["ema"]) if average else weights
    config = MODEL_DATACLASS_REGISTRY[model_name]
    model_cfg = config(**{f.name: settings[f.name] for f in fields(config) if f.name in settings})
    model_cfg.bf16_autocast = False  # a model to compare with, in float32 whatever it was trained in
    _check_vocabulary(path, weights, dictionary)
    model = build_model(model_name, model_cfg, dictionary, has_sentence_head(weights))
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if missing or unexpected:
        raise InputError(
            f"{path}: parameters missing {missing[:3]} or unknown {unexpected[:3]}; give one of this plugin."
        )
    history = state.get("optimizer_history") or [{}]
    updates, task_state = history[-1].get("num_updates", 0), state.get("task_state") or {}
    best, origin = extra.get("best"), extra.get("converted_from")
    model = model.float().eval()
    return Checkpoint(path, model_name, model, cfg, task_state, updates, best, average, origin, dictionary)


def has_sentence_head(weights: dict) -> bool:
    """Whether a model was trained by a sentence objective."""
    return "encoder.sentence_head.out_proj.weight" in weights


def build_model(model_name: str, model_cfg, dictionary: Dictionary, sentence_head: bool) -> PretrainingModel:
    """A model of MODELS with random weights."""
    return MODEL_REGISTRY[model_name](model_cfg, dictionary, **({"sentence_head": True} if sentence_head else {}))


def _check_vocabulary(path: Path, weights: dict, dictionary: Dictionary) -> None:
    rows = next((w.size(0) for name, w in weights.items() if name.endswith("embed_tokens.weight")), None)
    if rows != len(dictionary):
        raise InputError(
            f"{path}: {rows} word embeddings, but the tokenizer has {len(dictionary)} ids; "
            f"give the tokenizer this checkpoint was trained with."
        )
