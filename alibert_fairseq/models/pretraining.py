"""What the models of every objective share as fairseq models."""

import logging

import torch
from fairseq.models import BaseFairseqModel
from torch import Tensor

from alibert_fairseq.models.encoder import EMBEDDINGS, SentenceEncoder
from alibert_fairseq.models.hub import HubInterface
from alibert_fairseq.optim.marks import mark_depth

logger = logging.getLogger(__name__)


def mark_depths(encoder: SentenceEncoder) -> None:
    """Say how deep an encoder's parameters lie below its head: the top layer 1, embeddings L + 1.

    A layer that is used several times lies where it is used last. The matrices of layers are hidden ones.
    """
    size = encoder.size
    for name in (*EMBEDDINGS, "embed_project", "embed_relative", "relative_layer_norm"):
        if hasattr(encoder, name):
            mark_depth(getattr(encoder, name), size.layers + 1)
    if hasattr(encoder, "convolution"):
        mark_depth(encoder.convolution, size.layers)
    last_use = {size.group_of(layer): layer for layer in range(size.layers)}
    for group, layer in last_use.items():
        mark_depth(encoder.layers[group], size.layers - layer, hidden=True)


class PretrainingModel(BaseFairseqModel):
    """A model that is built from its configuration and the task's dictionary. A subclass sets `cfg`."""

    hub_interface: type[HubInterface]
    shares_layers = False  # whether layers of its Hugging Face class have the same weights

    @classmethod
    def build_model(cls, cfg, task):
        """Build for the task; what does not fit ends the run in one sentence."""
        try:
            if task.max_positions() > cfg.max_positions:
                raise ValueError(
                    f"--tokens-per-sample {task.max_positions()} is more than --max-positions {cfg.max_positions}; "
                    "lower the first, or raise the second; the further positions of a continued model begin untrained."
                )
            if task.segment_types > max(1, cfg.segments):
                raise ValueError(
                    f"the samples have {task.segment_types} segments and the model no embeddings for them; give "
                    f"--segments {task.segment_types}, or an --arch that has them (segment_bert_base, albert_base)."
                )
            if cfg.layer_groups and not cls.shares_layers:
                raise ValueError(
                    f"--layer-groups {cfg.layer_groups}: only layers of ALBERT share weights; leave it out, or give "
                    "--arch albert_base."
                )
            model = cls.for_task(cfg, task)
            for module in model.modules():
                if isinstance(module, SentenceEncoder):
                    mark_depths(module)
        except ValueError as error:
            raise SystemExit(f"error: {error}") from None
        if getattr(cfg, "compile", False):  # absent in an older checkpoint
            logger.info("--compile: the first updates compile the model, which takes a minute or more")
            model.compile()
        return model

    @classmethod
    def for_task(cls, cfg, task) -> "PretrainingModel":
        """The model that the task trains. Raises ValueError where it needs what the model has not."""
        raise NotImplementedError

    @classmethod
    def from_pretrained(cls, model_name_or_path, checkpoint_file="checkpoint_best.pt", data_name_or_path=".", **kwargs):
        """A hub interface (`encode`, `decode`, `fill_mask`, `extract_features`) over a checkpoint of this plugin."""
        return cls.hub_interface.load(model_name_or_path, checkpoint_file, data_name_or_path, **kwargs)

    def max_positions(self) -> int:
        """Longest sequence, special tokens included."""
        return self.cfg.max_positions

    def weights(self) -> dict[str, Tensor]:
        """The state of the model as encoders that stand alone have it."""
        return self.state_dict()

    def upgrade_state_dict_named(self, state_dict, name) -> None:
        """Take the checkpoint of a training with fewer positions; the others are as --new-positions says.

        BERT trains most updates on sequences of 128 tokens, then some on 512. Copied: position p + n k has the row of
        position p, where k positions are known (Beltagy et al. 2020, Longformer).
        """
        super().upgrade_state_dict_named(state_dict, name)
        for key, ours in self.state_dict().items():
            theirs = state_dict.get(key)
            if key.rsplit(".", 2)[-2:-1] != ["embed_positions"] or theirs is None or len(theirs) >= len(ours):
                continue
            logger.info("%s: %d positions of the checkpoint, %d new ones", key, len(theirs), len(ours) - len(theirs))
            state_dict[key] = torch.cat([theirs, self._new_positions(key, theirs, ours)])

    def _new_positions(self, key: str, theirs: Tensor, ours: Tensor) -> Tensor:
        """The rows that a table of positions lacks; those up to the padding id are of no position."""
        if str(getattr(self.cfg, "new_positions", "initial")) != "copied":  # absent in an older checkpoint
            return ours[len(theirs) :].to(theirs)
        first = self.get_submodule(key.rpartition(".")[0]).padding_idx + 1
        places = torch.arange(len(theirs), len(ours)) - first
        return theirs[first + places % (len(theirs) - first)]
