"""A corpus of invented letters, pseudonymised: which surnames are pieces of its tokenizer, and what was replaced how.

    python tests/campaigns/pseudonymised_corpus.py OUTPUT [--count 2000] [--known] [--tagger FOLDER] [--vocab-size 6000]

Half of the letters have held-out sentences. The tokenizers of the raw and of the pseudonymised letters are compared by
the surnames of the letters that are whole pieces. Names that are surrogates or French words too do not count. The
program fails where a patient has two surrogates for a name, or two offsets of dates, or where other text has changed.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from preprocess.documents.document import Document, write_document
from preprocess.pseudonymisation.documents import POSITIONS, Pseudonymiser, Replaced
from preprocess.pseudonymisation.persons.name_lists import SURNAMES, WORDS, read_names
from preprocess.pseudonymisation.persons.name_parts import PARTICLE
from preprocess.pseudonymisation.settings import Settings
from preprocess.pseudonymisation.surrogates.secret_key import make_key, read_key
from preprocess.pseudonymisation.words import folded
from preprocess.tokenizer.load import load_tokenizer
from preprocess.train_tokenizer import train_tokenizer

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
import identified_letters  # noqa: E402
import letter_sentences  # noqa: E402

SAMPLE = Path(__file__).parents[2] / "recipes" / "sample" / "text"
WORD = re.compile(r"[^\W\d_]+")
YEARS = range(1970, 2060)  # others are ambiguous where a date has two digits of its year: 68 is read as 2068
CENTURY = 36_525  # days
SHORTEST = 3  # letters of a name that counts
FORMS = ("%d/%m/%Y", "%d-%m-%Y", "%d.%m.%Y", "%Y-%m-%d", "%d %m %Y", "%d/%m/%y", "%d.%m.%y", "%d-%m-%y")
MONTHS = [folded(month) for month in identified_letters.MONTHS]


def letters(count: int) -> list[identified_letters.Letter]:
    """Letters of the developed sentences, and as many of the held-out ones; of other patients."""
    half = count // 2
    return identified_letters.letters(half, 41) + identified_letters.letters(count - half, 42, held_out=True)


def surnames(of: Iterable[identified_letters.Letter]) -> set[str]:
    """The surnames planted in letters, without particles, surrogates, French words, and words of other sentences."""
    planted = {
        name.lower()
        for letter in of
        for start, end, label in letter.spans
        if label == "NOM"
        for name in WORD.findall(letter.text[start:end])
        if _counts(name)
    }
    sentences = " ".join([*letter_sentences.PLAIN, *letter_sentences.HELD_OUT_PLAIN, *identified_letters.STREETS])
    others = {folded(name) for name in (*read_names(SURNAMES), *WORDS, *WORD.findall(sentences))}
    return {name for name in planted if folded(name) not in others}


def _counts(name: str) -> bool:
    """Whether a word is a name and no particle: "ben" stays in lower case, and is replaced with a capital."""
    return len(name) >= SHORTEST and not re.fullmatch(PARTICLE, name.lower())


def full_date(text: str) -> datetime | None:
    """The day that a date says, None where it has no day or no year."""
    plain = folded(text).replace("1er ", "1 ")
    for number, month in enumerate(MONTHS, 1):
        plain = plain.replace(month, str(number))
    for form in FORMS:
        try:
            return datetime.strptime(plain, form)
        except ValueError:
            continue
    return None


class Checks:
    """What must be the same in all letters of a patient."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        self.days: dict[str, set[int]] = defaultdict(set)
        self.counts: Counter[str] = Counter()

    def add(self, letter: identified_letters.Letter, other: Document, replaced: list[Replaced]) -> None:
        """Note the replacements of a letter, and that nothing else has changed."""
        kept, end = "", 0
        for (start, stop, _), one in zip(other.metadata[POSITIONS], replaced, strict=True):
            kept, end = kept + other.text[end:start] + one.text, stop
        self.counts["letters whose other text has changed"] += kept + other.text[end:] != letter.text
        for one in replaced:
            if one.label in ("NOM", "PRENOM"):
                for name, surrogate in zip(WORD.findall(one.text), WORD.findall(one.other), strict=True):
                    if _counts(name):
                        self.names[letter.patient, one.label, folded(name)].add(folded(surrogate))
            before, after = full_date(one.text), full_date(one.other)
            if one.label.startswith("DATE") and before and after and before.year in YEARS:
                days = (after - before).days + CENTURY // 2
                self.days[letter.patient].add(days % CENTURY - CENTURY // 2)  # 70 less two years is 68: 1968, not 2068

    def report(self) -> Iterator[str]:
        """What was seen, a line each."""
        yield f"names of patients: {len(self.names):,}; with two surrogates: {_several(self.names.values())}"
        yield f"patients with dates: {len(self.days):,}; with two offsets: {_several(self.days.values())}"
        yield from (f"{what}: {count:,}" for what, count in self.counts.items())


def _several(values: Iterable[set]) -> int:
    return sum(len(value) > 1 for value in values)


def pieces(corpus: Path, size: int) -> set[str]:
    """The whole words that are pieces of a tokenizer of a corpus, and of other texts, for letters have few words."""
    folder = corpus.with_suffix(".tokenizer")
    train_tokenizer([corpus, *sorted(SAMPLE.glob("*.txt"))], folder, vocab_size=size)
    return {piece[1:] for piece in load_tokenizer(folder).get_vocab() if piece.startswith("▁")}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="new folder")
    parser.add_argument("--count", type=int, default=2000, help="number of letters (default: %(default)s)")
    parser.add_argument("--known", action="store_true", help="with the names of the patients")
    parser.add_argument("--tagger", default="", help="folder of a token-classification model")
    parser.add_argument("--vocab-size", type=int, default=6000, help="pieces of the tokenizers (default: %(default)s)")
    options = parser.parse_args()
    options.output.mkdir(parents=True)
    settings = Settings(tagger=options.tagger, known=("known",) if options.known else (), positions=True)
    make_key(options.output / "secret.key")
    pseudonymiser, checks = Pseudonymiser(settings, read_key(options.output / "secret.key")), Checks()
    raw, pseudonymised = (options.output / f"{name}.jsonl" for name in ("raw", "pseudonymised"))
    made, left = letters(options.count), Counter[str]()
    names = surnames(made)
    with open(raw, "w", encoding="utf-8") as before, open(pseudonymised, "w", encoding="utf-8") as after:
        for letter in made:
            metadata = {"patient": letter.patient, "known": letter.known}
            document = Document(letter.id, "letters", letter.text.split("\n"), metadata=metadata)
            other, replaced = pseudonymiser.of(document)
            checks.add(letter, other, replaced)
            left.update(name for name in map(str.lower, WORD.findall(other.text)) if name in names)
            write_document(before, document)
            write_document(after, other)
    for corpus in (raw, pseudonymised):
        whole = sorted(names & pieces(corpus, options.vocab_size))
        print(f"{corpus.stem}: {len(whole)} of {len(names)} surnames are pieces: {', '.join(whole)}")
    print(
        f"surnames left: {left.total():,} times: {', '.join(f'{name} {count}' for name, count in left.most_common())}"
    )
    print(*checks.report(), sep="\n")
    if _several(checks.names.values()) or _several(checks.days.values()) or checks.counts.total():
        sys.exit(1)


if __name__ == "__main__":
    main()
