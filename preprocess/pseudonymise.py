"""Replace what identifies patients: names, numbers, addresses, dates.

    python -m preprocess.pseudonymise clean --output pseudonymised --key hospital.key --ipp '\\b80\\d{8}\\b'
    python -m preprocess.pseudonymise --annotated annotated.jsonl     # prints how many identifiers are found

Rules find what has a form, and names by titles and lists; --tagger adds a model. Replacements are plausible, and the
same for a patient in all documents. Ids and patients become hashes, and other metadata are dropped. All of it follows
from the key, which stays in the hospital. OUTPUT.check.html shows drawn identifiers: check them, and delete the page.
No program finds all identifiers: docs/howto/pseudonymise.md says how many are found.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from alibert_common.cli import OptionParser, at_least, command_parser
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, is_output, read_manifest
from alibert_common.report import markdown
from preprocess.documents.document import PATIENT, Document, document_files
from preprocess.documents.map_shards import map_shards
from preprocess.documents.samples import Samples, ShardSamples
from preprocess.documents.stage_report import Report
from preprocess.pseudonymisation.documents import Pseudonymiser
from preprocess.pseudonymisation.page import add_sample, page_of, write_page
from preprocess.pseudonymisation.persons.name_lists import FIRST_NAMES, SURNAMES
from preprocess.pseudonymisation.score import read_annotated, score, table
from preprocess.pseudonymisation.settings import Settings, identifiers
from preprocess.pseudonymisation.spans import LABELS
from preprocess.pseudonymisation.surrogates.secret_key import key_digest, make_key, read_key

VERSION = 1  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("pseudonymise", VERSION, ("edsnlp", "transformers", "zstandard"))
REPLACED = "identifiers replaced ({})"
WITH_FIELD = "documents with the field '{}'"
NO_PATIENT = "documents without a patient, each taken for one"


@dataclass(frozen=True)
class PseudonymiseShard:
    """Pseudonymises the documents of a shard, and leaves samples of the identifiers."""

    settings: Settings
    key_file: Path
    digest: str
    samples: ShardSamples

    def __call__(self, number: int, documents: Iterable[Document], report: Report) -> Iterator[Document]:
        key = read_key(self.key_file)
        if key_digest(key) != self.digest:
            raise InputError(f"{self.key_file}: changed while it was used; run the same command again.")
        pseudonymiser = Pseudonymiser(self.settings, key)
        samples = Samples(self.samples.most)
        for document in documents:
            other, found = pseudonymiser.of(document)
            for one in found:
                report.note(REPLACED.format(one.label))
                add_sample(samples, document.id, one)
            for name in {*self.settings.known, *self.settings.keep} & document.metadata.keys():
                report.note(WITH_FIELD.format(name))
            report.note(NO_PATIENT, PATIENT not in other.metadata)
            yield other
        self.samples.save(number, samples)


def pseudonymise(paths: list[Path], output: Path, settings: Settings, key_file: Path, engine: Engine = ALONE) -> Report:
    """Write the pseudonymised documents of all `paths`, and OUTPUT.check.html beside the output.

    Raises InputError for a pattern, a list, a model or a key that cannot be used.
    """
    settings.check()
    for folder in (output, *filter(is_output, paths)):
        if folder.resolve() in key_file.resolve().parents:
            raise InputError(f"--key {key_file}: lies in {folder}, which may be passed on; keep it elsewhere.")
    make_key(key_file)
    digest = key_digest(read_key(key_file))
    if key_file.stat().st_mode & 0o077:
        print(f"warning: {key_file}: others can read the key; run `chmod go= {key_file}`.", file=sys.stderr)
    shards = document_files(paths)
    named = settings.named() | {"key": digest}
    key = {"settings": named, "inputs": identity([*paths, *settings.files()])}
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            samples = ShardSamples(work.scratch / "samples", tuple(shards), settings.samples)
            replace = PseudonymiseShard(settings, key_file.absolute(), digest, samples)
            report = map_shards(work, "pseudonymising", shards, replace, engine)
            for name in (*settings.known, *settings.keep):
                if not report.noted.get(WITH_FIELD.format(name)):
                    raise InputError(f"'{name}': no document has this field; check --known and --keep.")
            counts = {label: report.noted.get(REPLACED.format(label), 0) for label in LABELS}
            write_page(page_of(output), samples.together(), counts, settings.samples)
            work.manifest = {"settings": named} | asdict(report)
    return Report.from_json(read_manifest(output / MANIFEST))


def print_scores(file: Path, settings: Settings) -> None:
    """Print how many identifiers of an annotated set are found."""
    texts = list(read_annotated(file))
    found = [identifiers(annotated.text, settings, annotated.known) for annotated in texts]
    scores, whole = score(found, [annotated.spans for annotated in texts])
    print(markdown.plain(table(scores)))
    print(f"documents with every identifier found: {whole:.1%} of {len(texts):,}")


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.pseudonymise", __doc__)
    add = parser.add_argument
    # fmt: off
    add("documents", nargs="*", type=Path, metavar="DOCUMENTS", help="output of clean, or files")
    add("--output", type=Path, help="folder to write")
    add("--key", type=Path, metavar="FILE", help="file of the secret key; it is made if it is not there")
    add("--ipp", action="append", metavar="REGEX",
        help="pattern of the hospital's patient numbers; repeatable (default: numbers after IPP, NIP and such words)")
    add("--nda", action="append", metavar="REGEX",
        help="pattern of the numbers of stays; repeatable (default: numbers after NDA and such words)")
    add("--first-names", type=Path, default=FIRST_NAMES, metavar="FILE",
        help="list of first names, one a line (default: 500 of INSEE)")
    add("--surnames", type=Path, default=SURNAMES, metavar="FILE",
        help="list of surnames, one a line (default: 500 of INSEE)")
    add("--known", action="append", default=[], metavar="FIELD",
        help="metadata field with names of the patient, found in any form; repeatable (default: none)")
    add("--tagger", type=Path, metavar="FOLDER", help="token-classification model that finds names (default: none)")
    add("--eds-pseudo", type=Path, metavar="FOLDER", help="pipeline of EDS-pseudo that finds names (default: none)")
    add("--keep", action="append", default=[], metavar="FIELD",
        help="metadata field to keep as it is; repeatable (default: none)")
    add("--tags", action="store_true", help="tags such as [NOM] in place of plausible replacements")
    add("--positions", action="store_true", help="places of the replacements in the metadata `replacements`")
    add("--samples", type=at_least(0), default=Settings.samples, help="identifiers on the page to check (default: 200)")
    add("--annotated", type=Path, metavar="FILE",
        help="annotated JSON lines to print how many identifiers are found, in place of all else")
    # fmt: on
    add_engine_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    settings = Settings.of(options)
    if options.annotated:
        print_scores(options.annotated, settings)
        return
    if not options.documents or not options.output or not options.key:
        raise InputError("give documents, --output and --key, or --annotated.")
    print(pseudonymise(options.documents, options.output, settings, options.key, engine_of(options)))
    page = page_of(options.output)
    print(f"{'output':>8}  {options.output}{f' (check {page}, then delete it)' if page.exists() else ''}")


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
