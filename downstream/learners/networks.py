"""Networks that are not of transformers: a linear probe of an encoder, and two small ones over word vectors.

The small ones, convolutions and a recurrence that is read by attention, read one text, or two whose tokens have the
types 0 and 1, as the batches of training/loop.py have them.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

KERNELS, MAPS = (3, 4, 5), 100  # words a convolution sees, and convolutions of each width: Kim (2014)
HIDDEN = 64  # of each direction; Lin et al. (2017) have 300, for vectors of 300: hours for a CPU on long texts
INNER, HOPS = 64, 4  # of the attention, and how many; theirs are 350 and 30, with a penalty on hops that are alike


class Output(NamedTuple):
    """logits: (batch, outputs), or (batch, tokens, outputs)."""

    logits: torch.Tensor


class LinearProbe(nn.Module):
    """For answers of whole texts: one linear map of the mean last hidden state of an encoder that stays as it is.

    The mean is over all tokens of the text or pair.
    The heads that transformers puts on texts have a hidden layer of their own (or a pooler), which would learn what
    the encoder does not know; and the first token of an encoder that was pretrained on tokens alone says nothing of
    the others, so the mean is read.
    """

    base_model_prefix = "encoder"

    def __init__(self, model, num_outputs: int):
        """model: one of transformers, with any head, whose encoder is taken."""
        super().__init__()
        self.encoder, self.config = model.base_model, model.config
        self.out = nn.Linear(model.config.hidden_size, num_outputs)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **types: torch.Tensor) -> Output:
        """logits: (batch, outputs), from (batch, tokens)."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **types).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        return Output(self.out((states * mask).sum(1) / mask.sum(1)))


class OverVectors(nn.Module):
    """The vectors stay as they are, as the weights of a frozen encoder would (`base_model_prefix`)."""

    base_model_prefix = "words"

    def __init__(self, vectors: torch.Tensor):
        super().__init__()
        self.words = nn.Embedding.from_pretrained(vectors, freeze=True, padding_idx=0)


class Convolutions(OverVectors):
    """Kim's CNN-static: the largest value of each map, dropout, one linear map."""

    def __init__(self, vectors: torch.Tensor, num_outputs: int, pairs: bool, dropout: float):
        super().__init__(vectors)
        self.maps = nn.ModuleList(nn.Conv1d(vectors.shape[1], MAPS, size, padding=size // 2) for size in KERNELS)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(len(KERNELS) * MAPS * (4 if pairs else 1), num_outputs)
        self.pairs = pairs

    def forward(self, input_ids, attention_mask, token_type_ids=None) -> Output:
        vectors, width = self.words(input_ids).transpose(1, 2), input_ids.shape[1]  # (batch, SIZE, tokens)
        maps = torch.cat([layer(vectors)[..., :width] for layer in self.maps], dim=1).relu()  # (batch, maps, tokens)
        pooled = [
            (maps * part.unsqueeze(1)).amax(-1)
            for part in _parts(attention_mask, token_type_ids if self.pairs else None)
        ]
        return Output(self.out(self.dropout(_compared(*pooled))))


class Recurrence(OverVectors):
    """A bidirectional LSTM; of a text the means of its states by several attentions, dropout, one linear map.

    per_token: a linear map of every state instead.
    """

    def __init__(self, vectors: torch.Tensor, num_outputs: int, pairs: bool, dropout: float, per_token: bool):
        super().__init__(vectors)
        self.lstm = nn.LSTM(vectors.shape[1], HIDDEN, batch_first=True, bidirectional=True)
        self.attention = nn.Sequential(nn.Linear(2 * HIDDEN, INNER), nn.Tanh(), nn.Linear(INNER, HOPS))
        self.dropout = nn.Dropout(dropout)
        width = 2 * HIDDEN * (1 if per_token else HOPS * (4 if pairs else 1))
        self.out = nn.Linear(width, num_outputs)
        self.pairs, self.per_token = pairs, per_token

    def forward(self, input_ids, attention_mask, token_type_ids=None) -> Output:
        lengths = attention_mask.sum(1).cpu()
        packed = pack_padded_sequence(self.words(input_ids), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)  # (batch, tokens, 2 * HIDDEN)
        if self.per_token:
            return Output(self.out(self.dropout(states)))
        scores, pooled = self.attention(states), []
        for part in _parts(attention_mask, token_type_ids if self.pairs else None):
            shares = scores.masked_fill(~part.unsqueeze(-1), -torch.inf).softmax(1)  # (batch, tokens, HOPS)
            pooled.append((shares.transpose(1, 2) @ states).flatten(1))
        return Output(self.out(self.dropout(_compared(*pooled))))


def _parts(mask: torch.Tensor, types: torch.Tensor | None) -> list[torch.Tensor]:
    """Where the text stands, or each of two: (batch, tokens). No part is empty, for each has an edge."""
    if types is None:
        return [mask.bool()]
    return [mask.bool() & (types == number) for number in (0, 1)]


def _compared(first: torch.Tensor, second: torch.Tensor | None = None) -> torch.Tensor:
    """Of two texts both, their distance and their product (Mou et al. 2016)."""
    if second is None:
        return first
    return torch.cat([first, second, (first - second).abs(), first * second], dim=-1)
