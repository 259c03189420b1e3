"""The layout of ids, and a `tokenizers` model as a list of pieces in the order of their ids.

`<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3, the pieces from 4, `<unused0>`... so that the size is a multiple of 8, and
`<mask>` last: fairseq's Dictionary puts the first four in front of dict.txt, our tasks put the mask behind it, and
40,000 pieces make AliBERT's 40,008.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tokenizers import AddedToken, Tokenizer, decoders, models, processors

from preprocess.tokenizer.normalizer import BOUNDARY, TextOptions, build_normalizer, build_pre_tokenizer

SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
MASK = "<mask>"
UNKNOWN = SPECIALS.index("<unk>")
MULTIPLE = 8  # tensor cores want a vocabulary projection of a multiple of 8
# Score of what is no piece of text. An unknown character costs 10 more than the worst score: with one this low, none is
# called unknown, and no lone boundary spent, where pieces can spell it.
NEVER = -1000.0
CONTINUATION = "##"  # WordPiece's mark of a piece that does not start a word


@dataclass
class Subwords:
    """A trained subword model: `pieces` from the most to the least wanted, no special among them.

    `scores` are Unigram's log-probabilities, one a piece; `merges` are BPE's, in order.
    """

    kind: str
    pieces: list[str]
    scores: list[float] = field(default_factory=list)
    merges: list[tuple[str, str]] = field(default_factory=list)


def lay_out(pieces: Sequence[str]) -> list[str]:
    """The whole vocabulary in the order of its ids."""
    fillers = -(len(SPECIALS) + len(pieces) + 1) % MULTIPLE
    return [*SPECIALS, *pieces, *(f"<unused{number}>" for number in range(fillers)), MASK]


def build_tokenizer(options: TextOptions, subwords: Subwords) -> Tokenizer:
    """The tokenizer that `tokenizer.json` holds: normalizer, pre-tokenizer, model, special tokens, `<s> A </s>`."""
    vocabulary = lay_out(subwords.pieces)
    tokenizer = Tokenizer(_model(subwords, vocabulary))
    tokenizer.normalizer = build_normalizer(options)
    tokenizer.pre_tokenizer = build_pre_tokenizer(options, boundary=subwords.kind != "wordpiece")
    if subwords.kind == "wordpiece":
        tokenizer.decoder = decoders.WordPiece(prefix=CONTINUATION, cleanup=False)
    else:
        tokenizer.decoder = decoders.Metaspace(BOUNDARY, prepend_scheme="always", split=False)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in (*SPECIALS, MASK)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def _model(subwords: Subwords, vocabulary: list[str]) -> models.Model:
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    if subwords.kind == "unigram":
        scores = dict(zip(subwords.pieces, subwords.scores, strict=True))
        return models.Unigram([(piece, scores.get(piece, NEVER)) for piece in vocabulary], unk_id=UNKNOWN)
    if subwords.kind == "bpe":
        return models.BPE(ids, subwords.merges, unk_token="<unk>", fuse_unk=True)
    return models.WordPiece(ids, unk_token="<unk>", continuing_subword_prefix=CONTINUATION)
