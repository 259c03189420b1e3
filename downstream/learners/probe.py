"""A linear probe of an encoder that stays as it is, for tasks whose answers are of whole texts."""

import torch
from torch import nn

from downstream.learners.networks import Output


class LinearProbe(nn.Module):
    """One linear map of the mean of the last hidden states, over all tokens of the text or pair.

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
