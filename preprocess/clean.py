"""Drop what is not text, and say how much: rules as data, each with an example, a look-alike it leaves alone, a reason.

    python -m preprocess.clean documents.jsonl --output clean.jsonl

Spelling, punctuation and spaces are left to the normalizer in tokenizer.json. Kept lines keep their letters and digits.
"""

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from preprocess.documents import Document, read_documents, write_document
from preprocess.files import InputLog, exit_with_sentence, written_whole
from preprocess.options import at_least
from preprocess.report import Report


@dataclass(frozen=True)
class Rule:
    """Characters that `pattern` finds are replaced; without a `replacement`, lines that it finds are dropped."""

    name: str
    pattern: re.Pattern
    example: str
    unchanged: str
    reason: str
    replacement: str | Callable[[re.Match], str] | None = None


def _as_windows_1252(match: re.Match) -> str:
    return match[0].encode("latin-1").decode("windows-1252", "replace")


CHARACTER_RULES = (
    Rule(
        "page and column breaks turned into spaces",
        re.compile(r"[\x0b\x0c\x1c-\x1f]"),
        example="fin de page\x0cdébut de page",
        unchanged="Poids :\t72 kg",
        reason="left by PDF and printer exports between two words, which must not grow together",
        replacement=" ",
    ),
    Rule(
        "control characters removed",
        re.compile(r"[\x00-\x08\x0e-\x1b\x7f]"),
        example="para\x00cétamol",
        unchanged="Poids :\t72 kg",
        reason="left by terminal and database exports inside words",
        replacement="",
    ),
    Rule(
        "Windows-1252 signs read as Latin-1 restored",
        re.compile(r"[\x80-\x9f]"),
        example="l\x92\x9cdème",
        unchanged="l’œdème",
        reason="Latin-1 has control characters where Windows-1252 has ’ and œ; no text uses them",
        replacement=_as_windows_1252,
    ),
)
LINE_RULES = (
    Rule(
        "lines with lost characters",
        re.compile("\ufffd"),
        example="Le patient a \ufffdt\ufffd hospitalisé.",
        unchanged="Le patient a été hospitalisé.",
        reason="U+FFFD stands for a letter that an earlier conversion lost: the word cannot be known",
    ),
    Rule(
        "lines of UTF-8 read as Latin-1",
        # Ã and Å, then what a second byte from 80 to BF is in Windows-1252, its signs restored above
        re.compile("Ã[\u00a0-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|Å[“’]|Â[\u00a0-\u00bf]|â€"),
        example="Ã‰volution d'un Å“dème",
        unchanged="SÃO PAULO, Âge : 54 ans",
        reason="a second, wrong spelling of every accented word would fill the vocabulary",
    ),
    Rule(
        "lines without a letter",
        re.compile(r"\A[\W\d_]*\Z"),
        example="12 / 34 ------",
        unchanged="T2N0M0",
        reason="page numbers, rules and empty table cells: no word to learn",
    ),
)


def clean(paths: list[Path], output: Path, min_words: int) -> Report:
    """Write the cleaned documents of all `paths` to `output`; the report counts what every rule did."""
    log, report = InputLog(), Report("clean", settings={"min_words": min_words})
    for rule in CHARACTER_RULES + LINE_RULES:
        report.drop(rule.name, 0)
    with written_whole(output) as handle:
        for document in read_documents(paths, log):
            report.read.add(document)
            document.lines = [line for line in (clean_line(line, report) for line in document.lines) if line]
            if _long_enough(document, min_words, report):
                report.kept.add(document)
                write_document(handle, document)
    report.inputs = log.manifest()
    return report


def clean_line(line: str, report: Report) -> str | None:
    """The line after all rules, None when one of them drops it."""
    for rule in CHARACTER_RULES:
        line, count = rule.pattern.subn(rule.replacement, line)
        report.drop(rule.name, count)
    for rule in LINE_RULES:
        if rule.pattern.search(line):
            return report.drop(rule.name)
    return line


def _long_enough(document: Document, min_words: int, report: Report) -> bool:
    if not document.lines:
        report.drop("documents left without a line")
    elif len(document.text.split()) < min_words:
        report.drop(f"documents of fewer than {min_words} words")
    else:
        return True
    return False


def main() -> None:
    """The command line."""
    rules = "\n".join(f"  {rule.name}: {rule.reason}" for rule in CHARACTER_RULES + LINE_RULES)
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nrules:\n{rules}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("documents", nargs="+", type=Path, metavar="FILE", help="documents, .jsonl or .txt")
    parser.add_argument("--output", required=True, type=Path, help="the .jsonl to write; counts in OUTPUT.report.json")
    parser.add_argument(
        "--min-words", type=at_least(0), default=3,
        help="documents with fewer words are dropped (default 3: one word or two give a "
        "masked word no context; 0 keeps all)",
    )  # fmt: skip
    options = parser.parse_args()
    clean(options.documents, options.output, options.min_words).finish(options.output)


if __name__ == "__main__":
    exit_with_sentence(main)
