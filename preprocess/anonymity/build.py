"""From the training text of data-bins to what makes a training on it k-anonymous, and what others need to check it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.files import sha256_of, write_json
from alibert_common.output_dir import Work
from preprocess.anonymity.common import CommonNgrams
from preprocess.anonymity.counting import FindCommon, FindNgrams
from preprocess.anonymity.marking import JoinMarks, MarkPart, total
from preprocess.anonymity.token_text import TokenText
from preprocess.databin.document_records import ENDING as RECORDS
from preprocess.databin.fairseq_writer import id_type
from preprocess.databin.predictable import ENDING, PROOF
from preprocess.documents.patients import PatientTally
from preprocess.tokenizer.piece_text import FILLER
from preprocess.tokenizer.special_tokens import read_layout, read_symbols
from preprocess.tokenizer.vocabulary import MASK, SPECIALS
from preprocess.tokenizer.word_starts import starts_by, word_mark


@dataclass(frozen=True)
class AnonymityRule:
    """Tokens may be learned whose n-grams of 1 to `ngram_words` words `min_patients` patients have."""

    min_patients: int
    ngram_words: int = 3  # the longest n-grams of arXiv 2501.02407, appendix


@dataclass(frozen=True)
class Vocabulary:
    """The symbols of a data-bin's dictionary, all special ones among them, and the mark of its words."""

    symbols: list[str]
    mark: str
    listed_from: int  # the id of the first line of dict.txt

    @classmethod
    def of(cls, directory: Path) -> "Vocabulary":
        """That of a tokenizer directory or a data-bin. Raises InputError where nothing shows where words start."""
        symbols = read_symbols(directory / "dict.txt")
        mark = word_mark([symbol for symbol in symbols if not FILLER.fullmatch(symbol)])
        if read_layout(directory).published:
            return cls(symbols, mark, 0)
        return cls([*SPECIALS, *symbols, MASK], mark, len(SPECIALS))


def make_anonymous(
    work: Work, places: Sequence[Path], splits: Sequence[str], rule: AnonymityRule, counted_pieces: bool, engine: Engine
) -> dict:
    """Mark the tokens of the training `splits` of the data-bins `places`; returns what the manifest says of it.

    All splits of all data-bins are one text. `counted_pieces`: the tokenizer was trained on the words of so many
    patients, which its pieces are to show. Raises InputError where the text has too few patients, and where
    nothing is left to learn.
    """
    prefixes = [place / split for place in places for split in splits]
    vocabulary, tally = Vocabulary.of(places[0]), PatientTally()
    text = _text_of(prefixes, vocabulary, work.scratch / "anonymity")
    text.write_documents(tally)
    patients = len(np.unique(text.patients))
    if patients < rule.min_patients:
        raise InputError(
            f"--min-patients {rule.min_patients}: the text has only {patients:,} patients; give more text, or a "
            "smaller number."
        )
    find = FindNgrams(text, text.folder / "places", rule.min_patients)
    common = [_common(find, work, engine)]
    for n in range(2, rule.ngram_words + 1):
        common.append(_common(replace(find, n=n, shorter=common[-1]), work, engine))
    mark = MarkPart(text, text.folder / "marks", tuple(common))
    engine.run("marking", mark, text.parts(), work.scratch / "jobs")
    engine.run("joining marks", JoinMarks(mark, text.folder), range(len(prefixes)), work.scratch / "jobs")
    marked = total(mark)
    if not marked.predictable_tokens:
        raise InputError(
            f"--min-patients {rule.min_patients} --ngram-words {rule.ngram_words}: no token is left to learn; lower "
            "one of them, or give more text."
        )
    documents = {
        "patients": patients,
        "documents": len(text.patients),
        "documents_as_patients": tally.unknown,
    }
    summary = asdict(rule) | {"counted_pieces": counted_pieces} | documents | asdict(marked)
    described = _described(work.directory, text, vocabulary)
    for place in places:  # a training reads data-bins one by one
        write_json(place / PROOF, {"counts": summary})
    write_json(work.directory / PROOF, {"counts": summary} | described)
    return summary


def _text_of(prefixes: Sequence[Path], vocabulary: Vocabulary, folder: Path) -> TokenText:
    layout = read_layout(prefixes[0].parent)
    dtype = id_type(layout.listed)
    sizes = tuple(Path(f"{prefix}.bin").stat().st_size // dtype.itemsize for prefix in prefixes)
    starts = starts_by(vocabulary.mark, vocabulary.symbols)
    starts[layout.unknown] = True  # it has no mark, so it would change the word before it
    return TokenText(tuple(prefixes), sizes, dtype, layout.end, layout.unknown, starts, folder)


def _common(find: FindNgrams, work: Work, engine: Engine) -> CommonNgrams:
    """Count the n-grams, unless they were counted."""
    text, name = find.text, f"{find.n}-grams"
    common = CommonNgrams(find.n, text.folder / f"{name}.numbers")
    if not common.numbers.exists():
        logs, parts = work.scratch / "jobs", text.parts()
        engine.run(name, find, parts, logs)
        found = FindCommon(tuple(map(find.done, parts)), text.folder / name, find.patients)
        ranges = found.ranges()
        engine.run(f"common {name}", found, ranges, logs)
        common.write([found.done(keys) for keys in ranges])
    return common


def _described(directory: Path, text: TokenText, vocabulary: Vocabulary) -> dict:
    """What a reader of the files must know, and the digest of each."""
    splits = [prefix.relative_to(directory).as_posix() for prefix in text.prefixes]
    dictionaries = dict.fromkeys(
        (prefix.parent / "dict.txt").relative_to(directory).as_posix() for prefix in text.prefixes
    )
    files = [f"{split}{ending}" for split in splits for ending in (".bin", ".idx", RECORDS, ENDING)]
    files += dictionaries
    ids = {"bytes": text.dtype.itemsize, "end": text.end, "unknown": text.unknown}
    return {
        "splits": splits,
        "ids": ids | {"first_of_dictionary": vocabulary.listed_from},
        "mark": vocabulary.mark,
        "dictionary": next(iter(dictionaries)),
        "sha256": {name: sha256_of(directory / name) for name in files},
    }
