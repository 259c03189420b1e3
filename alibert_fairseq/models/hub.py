"""Using a checkpoint from Python: text in, predictions out, through the tokenizer the checkpoint was trained with."""

from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn as nn
from fairseq import hub_utils
from fairseq.data import encoders
from torch import Tensor

from alibert_fairseq.data.text_encoders import AlibertSubwords


class Guess(NamedTuple):
    """One candidate for a masked word."""

    text: str  # the sentence with the mask filled
    score: float  # probability
    token: str  # the predicted token


class HubInterface(nn.Module):
    """`encode`, `decode`, `fill_mask` and `extract_features`, for one model of this plugin."""

    part: str  # whose features are given; models of other objectives lack it

    def __init__(self, cfg, task, model):
        super().__init__()
        self.cfg, self.task, self.model = cfg, task, model
        self.bpe = encoders.build_bpe(cfg.bpe)  # --bpe, as recorded in the checkpoint; it needs no --tokenizer
        self.mask = task.source_dictionary[task.mask_id]  # its form in text: <mask>, or a published model's [MASK]
        if not isinstance(self.bpe, AlibertSubwords):
            raise ValueError("the checkpoint was trained without --bpe alibert_subwords, so its tokenizer is unknown")
        self.eval()

    @classmethod
    def load(cls, model_name_or_path, checkpoint_file, data_name_or_path, **overrides):
        """Load a checkpoint of your own. It is a pickle: never load one from a stranger."""
        data = Path(data_name_or_path)
        if data_name_or_path.startswith("."):  # fairseq looks for it in the checkpoint's folder
            data = Path(model_name_or_path) / data
        for path, name in ((Path(model_name_or_path), "the folder of a checkpoint"), (data, "a data-bin")):
            if not path.exists():
                raise FileNotFoundError(f"{path}: no such file or directory; give the path of {name}")
        loaded = hub_utils.from_pretrained(model_name_or_path, checkpoint_file, data_name_or_path, **overrides)
        model = loaded["models"][0]
        if not hasattr(model, cls.part):
            raise ValueError(f"{checkpoint_file}: of {type(model).__name__}; use that class's from_pretrained")
        return cls(loaded["args"], loaded["task"], model)

    @property
    def device(self) -> torch.device:
        """Where the model lies."""
        return next(self.model.parameters()).device

    def encode(self, text: str) -> Tensor:
        """(T,) ids, <s> and </s> included."""
        return torch.tensor(self._enclosed(self.bpe.ids(text)))

    def decode(self, tokens: Tensor) -> str:
        """The text of ids, special tokens left out."""
        dictionary = self.task.source_dictionary
        special = {dictionary.bos(), dictionary.pad(), dictionary.eos()}
        return self.bpe.decode(" ".join(dictionary[i] for i in tokens.tolist() if i not in special))

    def _enclosed(self, ids: list[int]) -> list[int]:
        return [self.task.source_dictionary.bos(), *ids, self.task.source_dictionary.eos()]

    def scores(self, tokens: Tensor, masked: Tensor) -> Tensor:
        """(M, V) scores of the masked positions of (B, T) ids."""
        raise NotImplementedError

    def extract_features(self, tokens: Tensor) -> Tensor:
        """(T,) or (B, T) ids to (B, T, C) features of the last layer."""
        with torch.no_grad():
            encoder = getattr(self.model, self.part).sentence_encoder
            return encoder.of_rows(self._on_device(tokens.reshape(-1, tokens.size(-1))))

    def _on_device(self, tokens: Tensor) -> Tensor:
        if tokens.size(-1) > self.model.max_positions():
            raise ValueError(
                f"the text has {tokens.size(-1)} tokens, <s> and </s> included, and the model reads at most "
                f"{self.model.max_positions()}; give it in parts"
            )
        return tokens.to(self.device)

    @torch.no_grad()
    def fill_mask(self, text: str, topk: int = 5) -> list[Guess]:
        """The likeliest tokens for the one mask in a text, in the model's own form: `<mask>`, or BERT's `[MASK]`."""
        dictionary, mask_id = self.task.source_dictionary, self.task.mask_id
        ids = self.bpe.ids(text, with_mask=True)
        if ids.count(mask_id) != 1:
            raise ValueError(f"the text must hold exactly one {self.mask}, not {ids.count(mask_id)}")
        tokens = self._on_device(torch.tensor([self._enclosed(ids)]))
        probabilities = self.scores(tokens, tokens.eq(mask_id))[0].float().softmax(-1)
        guesses = []
        for score, index in zip(*probabilities.topk(topk), strict=True):
            filled = self.bpe.decode(" ".join(dictionary[int(index) if i == mask_id else i] for i in ids))
            guesses.append(Guess(filled, float(score), dictionary[int(index)]))
        return guesses


class AliBertHubInterface(HubInterface):
    """Over a masked language model."""

    part = "encoder"

    def scores(self, tokens, masked):
        return self.model.scores(tokens)[masked]


class ElectraHubInterface(HubInterface):
    """Over ELECTRA: masks are filled by the generator, features come from the discriminator."""

    part = "discriminator"

    def scores(self, tokens, masked):
        return self.model.generator.lm_head(self.model.generator.sentence_encoder.of_rows(tokens)[masked])
