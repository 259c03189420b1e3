"""A linear-chain conditional random field over words that leaves no I- without its B- (Lample et al. 2016).

Shapes: B = sequences, W = their words, L = layers of tags, K = tags of a layer. `continues`: (B,), whether a
sequence continues the one before, as those of a line that was cut. It may begin with any tag.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

FORBIDDEN = -1e4  # of a transition: no sum of emissions outweighs it


class ChainCrf(nn.Module):
    """One field for each layer of flat tags; tags: the names of a layer's, O and B-X and I-X."""

    forbidden: Tensor
    cannot_begin: Tensor

    def __init__(self, tags: Sequence[str], num_layers: int = 1):
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(num_layers, len(tags), len(tags)))  # from, to
        self.begins = nn.Parameter(torch.zeros(num_layers, len(tags)))
        self.ends = nn.Parameter(torch.zeros(num_layers, len(tags)))
        inside = torch.tensor([tag.startswith("I") for tag in tags])
        same = torch.tensor([[before != "O" and before[1:] == after[1:] for after in tags] for before in tags])
        self.register_buffer("forbidden", inside & ~same, persistent=False)
        self.register_buffer("cannot_begin", inside, persistent=False)

    def _moves(self, continues: Tensor) -> tuple[Tensor, Tensor]:
        """(L, K, K) of transitions, (B, L, K) of first tags."""
        moves = self.transitions.masked_fill(self.forbidden, FORBIDDEN)
        # Training cuts through few entities: a weight of an I- after a cut would be learned from next to nothing.
        return moves, self.begins.masked_fill(self.cannot_begin, FORBIDDEN) * ~continues.view(-1, 1, 1)

    def log_normaliser(self, scores: Tensor, real: Tensor, continues: Tensor) -> Tensor:
        """(B, L), the logarithm of the sum over all tag sequences. scores: (B, W, L, K); real: (B, W), words first."""
        moves, begins = self._moves(continues)
        total = scores[:, 0] + begins
        for word in range(1, scores.shape[1]):
            longer = (total.unsqueeze(-1) + moves).logsumexp(-2) + scores[:, word]
            total = torch.where(real[:, word, None, None], longer, total)
        return (total + self.ends).logsumexp(-1)

    def score(self, scores: Tensor, real: Tensor, continues: Tensor, tags: Tensor) -> Tensor:
        """(B, L), the score of these tags (B, W, L)."""
        moves, begins = self._moves(continues)
        layers = torch.arange(tags.shape[2], device=tags.device)
        own = scores.gather(-1, tags.unsqueeze(-1)).squeeze(-1)  # (B, W, L)
        steps = moves[layers, tags[:, :-1], tags[:, 1:]] * real[:, 1:, None]
        last = tags.gather(1, (real.sum(1) - 1).view(-1, 1, 1).expand(-1, 1, tags.shape[2])).squeeze(1)
        edges = begins.gather(-1, tags[:, 0].unsqueeze(-1)).squeeze(-1) + self.ends[layers, last]
        return (own * real.unsqueeze(-1)).sum(1) + steps.sum(1) + edges

    def loss(self, scores: Tensor, real: Tensor, continues: Tensor, tags: Tensor) -> Tensor:
        """The mean of the negative log-likelihood of a word and layer, in nats. Gold is read as conlleval does."""
        tags = self.opened(continues, tags)
        lost = self.log_normaliser(scores, real, continues) - self.score(scores, real, continues, tags)
        return lost.sum() / (real.sum() * scores.shape[2])

    def opened(self, continues: Tensor, tags: Tensor) -> Tensor:
        """The tags (B, W, L), with a B- for each I- that continues no entity; an I- has the number after its B-."""
        first = self.cannot_begin[tags[:, :1]] & ~continues.view(-1, 1, 1)
        return tags - torch.cat([first, self.forbidden[tags[:, :-1], tags[:, 1:]]], 1).long()

    def best(self, scores: Tensor, real: Tensor, continues: Tensor) -> Tensor:
        """(B, W, L), the likeliest tags (Viterbi); 0 where there is no word."""
        moves, begins = self._moves(continues)
        total, backward = scores[:, 0] + begins, []
        for word in range(1, scores.shape[1]):
            longer, before = (total.unsqueeze(-1) + moves).max(-2)
            inside = real[:, word, None, None]
            total = torch.where(inside, longer + scores[:, word], total)
            backward.append(torch.where(inside, before, torch.arange(total.shape[-1], device=total.device)))
        tag = (total + self.ends).argmax(-1, keepdim=True)  # (B, L, 1)
        found = [tag]
        for before in reversed(backward):
            tag = before.gather(-1, tag)
            found.append(tag)
        return torch.stack(found[::-1], 1).squeeze(-1) * real.unsqueeze(-1)

    def probabilities(self, scores: Tensor, real: Tensor, continues: Tensor) -> Tensor:
        """(B, W, L, K), how likely each tag of a word is over all sequences: the gradient of the normaliser."""
        with torch.enable_grad():
            scores = scores.detach().requires_grad_()
            return torch.autograd.grad(self.log_normaliser(scores, real, continues).sum(), scores)[0]
