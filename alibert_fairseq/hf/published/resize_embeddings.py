"""Where the rows of another vocabulary come from: a row of the old one, or the mean of several.

A subword that the old vocabulary has too, after the old rules, keeps its row. A special token keeps its role's row.
Every other subword gets the mean of the rows of those into which the old tokenizer splits its text. The word tables and
the output's bias are treated alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from tokenizers import Tokenizer
from torch import Tensor

from alibert_fairseq.hf.families.names import WORDS
from alibert_fairseq.hf.families.part import Part
from alibert_fairseq.hf.published.model import PublishedPart
from alibert_fairseq.hf.published.word_splitter import WordSplitter
from preprocess.tokenizer.piece_text import FILLER, Spelled
from preprocess.tokenizer.special_tokens import Layout


@dataclass
class NewRows:
    """For each new id, the old ids whose rows are averaged; how many of each kind there are, to print."""

    sources: list[Sequence[int]]
    padding: int  # the id that the new vocabulary pads with
    counts: dict[str, int] = field(default_factory=dict)

    def apply(self, table: Tensor) -> Tensor:
        """(old ids, ...) to (new ids, ...)."""
        return torch.stack([table[ids[0]] if len(ids) == 1 else table[list(ids)].mean(dim=0) for ids in self.sources])


def replaced(old: Tokenizer, old_ids: dict[str, int], new: Tokenizer, layout: Layout) -> NewRows:
    """The rows of the vocabulary `new`, laid out as `layout` says; `old_ids` are the old roles' ids."""
    splitter = WordSplitter(old, old_ids["unknown"])
    texts = sorted(splitter.subword_texts().items(), reverse=True)
    known = {subword: number for number, subword in texts}  # the first wins
    roles = {getattr(layout, role): [number] for role, number in old_ids.items()}
    new_texts = WordSplitter(new, layout.unknown).subword_texts()
    everything = sorted(known.values())
    counts = dict.fromkeys(("by role", "by spelling", "means", "of the unknown", "of all rows"), 0)
    sources: list[Sequence[int]] = []
    for number in range(layout.size):
        kind, ids = _source(number, roles, new_texts.get(number), known, splitter)
        counts[kind] += 1
        sources.append(ids or everything)
    return NewRows(sources, layout.pad, counts)


def _source(
    number: int, roles: dict[int, list[int]], subword: Spelled | None, known: dict[Spelled, int], splitter: WordSplitter
) -> tuple[str, list[int]]:
    if number in roles:
        return "by role", roles[number]
    if subword and (same := known.get(splitter.normal(subword))) is not None:
        return "by spelling", [same]
    split = [] if subword is None or FILLER.match(subword.text) else splitter.split(subword)
    if not split:
        return "of all rows", []
    return ("of the unknown" if set(split) == {splitter.unknown} else "means"), split


def extended(size: int, added: dict[int, list[int]], padding: int) -> NewRows:
    """The rows of a vocabulary of `size` with more pieces: `added` has their old pieces by their ids."""
    last = max([size - 1, *added])
    return NewRows([added.get(number, [number]) for number in range(last + 1)], padding, {"new pieces": len(added)})


def with_rows(published: PublishedPart, rows: NewRows) -> PublishedPart:
    """The same model over the new vocabulary."""
    part, weights = published.part, published.model.state_dict()
    for name in dict.fromkeys(part.names_of(WORDS)):
        weights[name] = rows.apply(weights[name])
    config = type(published.model.config).from_dict(published.model.config.to_dict())
    if part.counts_from_padding and config.pad_token_id != rows.padding:
        _count_from(part, weights, config, rows.padding)
    config.vocab_size, config.pad_token_id = len(rows.sources), rows.padding
    model = type(published.model)(config)
    model.load_state_dict(weights)
    return published._replace(model=model.eval())


def _count_from(part: Part, weights: dict[str, Tensor], config, padding: int) -> None:
    """RoBERTa's positions begin behind the padding id: move them to where the new one has them begin."""
    name = next(name for name in weights if name.endswith("position_embeddings.weight"))
    table = weights[name][part.skipped(config.pad_token_id) :]
    weights[name] = torch.cat([table.new_zeros(part.skipped(padding), table.size(1)), table])
    config.max_position_embeddings = len(weights[name])
