"""Text on its way to the data-bin: the blocks that a worker gets and gives back."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from preprocess.databin.line_encoder import LineEncoder
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
    ids, sizes = encoder.encode(block.lines)
    kept = sizes > 1
    encoded = EncodedBlock(ids, sizes, np.array(block.documents, np.int32)).only(kept)
    encoded.empty_lines = int(np.count_nonzero(~kept))
    return encoded
