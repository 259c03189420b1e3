"""Text on its way to the data-bin: the blocks a worker gets and gives back, and the lines between documents."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from preprocess.databin.line_encoder import LineEncoder
from preprocess.databin.subword_regularization import SubwordSampler
from preprocess.documents.document import Document
from preprocess.documents.long_lines import Cuts, cut_line

BLOCK_CHARACTERS = 1 << 18  # some 0.03 s of a worker: large beside the cost of handing a block over, small in memory


@dataclass
class Block:
    """Lines of text, and for each the number of its document."""

    lines: list[str] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)


@dataclass
class EncodedBlock:
    """The same as ids, end to end; sizes in ids, each line's end included. Lines without a token are left out."""

    ids: np.ndarray
    sizes: np.ndarray  # (lines,)
    documents: np.ndarray  # (lines,)
    empty_lines: int = 0  # that were left out

    def only(self, kept: np.ndarray) -> "EncodedBlock":
        """Some of the lines; `kept` (lines,) says which."""
        if kept.all():
            return self
        return EncodedBlock(self.ids[np.repeat(kept, self.sizes)], self.sizes[kept], self.documents[kept])


def blocks_of(documents: Iterable[Document], cuts: Cuts) -> Iterator[Block]:
    """Blocks of some BLOCK_CHARACTERS; lines too long are cut and counted in `cuts`."""
    block, characters = Block(), 0
    for number, document in enumerate(documents):
        for line in document.lines:
            for part in cut_line(line, cuts):
                block.lines.append(part)
                block.documents.append(number)
                characters += len(part)
                if characters >= BLOCK_CHARACTERS:
                    yield block
                    block, characters = Block(), 0
    if block.lines:
        yield block


def encode_block(encoder: LineEncoder, block: Block) -> EncodedBlock:
    """Encode the lines. One without a token is left out: its end alone would look like the end of a document."""
    return _kept(block, *encoder.encode(block.lines))


def sample_block(sampler: SubwordSampler, block: Block, part: int, number: int) -> list[EncodedBlock]:
    """The same for each sample of the sampler; `number` is that of the block in part `part` of the text."""
    return [_kept(block, ids, sizes) for ids, sizes in sampler.encode(block.lines, part, number)]


def _kept(block: Block, ids: np.ndarray, sizes: np.ndarray) -> EncodedBlock:
    kept = sizes > 1
    encoded = EncodedBlock(ids, sizes, np.array(block.documents, np.int32)).only(kept)
    encoded.empty_lines = int(np.count_nonzero(~kept))
    return encoded


def with_separators(block: EncodedBlock, last: int | None, end: int) -> tuple[np.ndarray, np.ndarray]:
    """(ids, sizes) with an empty line before every line that is not of the document of the line before it.

    `last` is the document of the last line of the blocks before, None if there was no line; `end` is the id that ends
    a line.
    """
    first = block.documents[:1] if last is None else last
    new = np.diff(block.documents, prepend=first) != 0
    starts = np.cumsum(block.sizes) - block.sizes
    return np.insert(block.ids, starts[new], end), np.insert(block.sizes, np.flatnonzero(new), 1)
