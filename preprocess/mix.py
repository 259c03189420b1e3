"""Split the documents into training and validation, and weigh the corpora.

    python -m preprocess.mix unique --output mixed --core pamj,letters

Each source is a corpus. Its training documents are written once. With a weight of 3, training uses each document three
times per epoch; with 2.5, twice and a random half of them a third time. Validation documents are never repeated and
never in training. All documents of a patient are on one side (--patient-field or --patient-pattern of ingest). A large
corpus gives a smaller share to validation (--valid-words). mix.png shows the size of each corpus before and after.
"""

import argparse
import hashlib
import sys
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from alibert_common.cli import OptionParser, at_least, command_parser, share
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.executors.base import Engine, add_engine_options, engine_of
from alibert_common.files import read_json, write_json
from alibert_common.input_log import InputLog
from alibert_common.output_dir import Work, resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity, is_output, read_manifest
from preprocess.documents.document import (
    PSEUDONYMISED,
    SHARD_SUFFIX,
    Document,
    Size,
    document_files,
    patient_of,
    read_documents,
)
from preprocess.documents.map_shards import ShardTask
from preprocess.documents.names import check_source_name
from preprocess.documents.shards import ShardFile, shard_name, written_shard
from preprocess.mixing.mix_file import TRAIN, Use, describe, write_mix
from preprocess.mixing.reader import VALID
from preprocess.mixing.weights import MixWeights, add_weight_options, mix_weights_of

VERSION = 2  # of its output: see alibert_common.provenance.Stage
STAGE = Stage("mix", VERSION, ("zstandard",))
VALID_WORDS = 1_500_000  # some 2 million tokens: docs/reference/mixing.md says what they can tell
PICTURE = "mix.png"  # how much each corpus has, before and after


@dataclass
class Part:
    """What became of the documents of one corpus; `lowest` and `highest` are the extremes of their draws."""

    train: Size = field(default_factory=Size)
    valid: Size = field(default_factory=Size)
    with_patient: int = 0  # the documents that say their patient
    pseudonymised: int = 0  # of these, the documents whose patient is a hash
    lowest: float = 1.0
    highest: float = 0.0

    def add(self, other: "Part") -> None:
        """Add up with the same corpus in another shard."""
        self.train, self.valid = self.train + other.train, self.valid + other.valid
        self.with_patient += other.with_patient
        self.pseudonymised += other.pseudonymised
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)

    @property
    def manifest(self) -> dict:
        """What the manifest says of it."""
        return {name: value for name, value in asdict(self).items() if name != "pseudonymised"}


@dataclass(frozen=True)
class Cap:
    """How much is for validation: a share of the documents, or what holds some `words` where that is less."""

    share: float
    words: int

    def share_of(self, words: int) -> float:
        """The share of a text of so many words; where they are not known, 0, it is the whole share."""
        return min(self.share, self.words / max(1, words))


@dataclass(frozen=True)
class Split(ShardTask):
    """Write a shard's documents to the side that their draws say: `share` of them for validation.

    The corpora have one share, so a patient or a text of two of them is on one side.
    """

    seed: int
    share: float
    chosen: frozenset[float] = frozenset()  # draws of documents that are set apart whatever the share

    def __call__(self, shard: tuple[int, Path]) -> None:
        number, source = shard
        log, name = InputLog(), shard_name(number) + SHARD_SUFFIX
        parts: dict[str, Part] = {}
        for older in [*self.directory.glob(f"{TRAIN}/*/{name}"), *self.directory.glob(f"{VALID}/{name}")]:
            older.unlink()  # of a division without the chosen texts
        with ExitStack() as stack:
            files: dict[str, ShardFile] = {}
            for document in read_documents([source], log):
                side = self._side(document, parts.setdefault(document.source, Part()))
                if side not in files:
                    files[side] = stack.enter_context(written_shard(self.directory / side / name))
                files[side].write(document)
        records = {source: asdict(part) for source, part in parts.items()}
        write_json(self.done(shard), {"parts": records, "inputs": log.manifest()})

    def _side(self, document: Document, part: Part) -> str:
        """The directory of the document, which is counted."""
        drawn = draw(self.seed, document)
        part.lowest, part.highest = min(part.lowest, drawn), max(part.highest, drawn)
        if patient_of(document):
            part.with_patient += 1
            part.pseudonymised += bool(document.metadata.get(PSEUDONYMISED))
        if drawn < self.share or drawn in self.chosen:
            part.valid.add(document)
            return VALID
        part.train.add(document)
        return f"{TRAIN}/{check_source_name(document.source)}"


def draw(seed: int, document: Document) -> float:
    """A number in [0, 1), uniform over patients, and over the texts of documents without a patient.

    All documents of a patient draw the same number, and equal texts without a patient do, whatever their source.
    """
    patient = patient_of(document)
    key = hashlib.sha256(f"{seed}/{'patients' if patient else 'split'}".encode()).digest()
    drawn = hashlib.blake2b((patient or document.text).encode(), digest_size=8, key=key).digest()
    return (int.from_bytes(drawn, "big") >> 11) / 2**53  # 53 bits: what a float holds exactly


def mix(
    inputs: list[Path], output: Path, mix_weights: MixWeights, share: float, seed: int, engine: Engine,
    valid_words: int = VALID_WORDS,
) -> dict:  # fmt: skip
    """Write train/SOURCE/, valid/, mix.json, mix.png and manifest.json under `output`; returns the manifest.

    `share` of the documents are for validation, or as many as hold some `valid_words` where that is less.
    Raises InputError for documents that cannot be read, and when nothing is left for training or for validation.
    """
    shards = list(enumerate(document_files(inputs)))
    words = _words(inputs)
    if words:
        mix_weights.check(words)  # else when all is read
    settings = {"weighing": asdict(mix_weights), "valid": share, "seed": seed}
    cap = Cap(share, valid_words)
    may_lower = not words or cap.share_of(sum(words.values())) < share  # else the output is that of versions without
    asked = settings | ({"valid_words": valid_words} if may_lower else {})
    with resumable_directory(output, STAGE, {"settings": asked, "inputs": identity(inputs)}) as work:
        if work is not None:
            parts, read, drawn = _split(work, shards, cap, sum(words.values()), seed, engine)
            _check_parts(parts, share, inputs)
            weights = mix_weights.of({name: part.train.bytes for name, part in parts.items() if part.train.documents})
            write_mix(work.directory, weights)
            if len(weights) > 1:
                from preprocess.mixing.plot import draw_mix  # here, for what imports this module without drawing

                uses = [(name, parts[name].train.bytes, weight) for name, weight in weights.items()]
                draw_mix(uses, seed, work.directory / PICTURE)
            corpora = {name: part.manifest | {"weight": weights.get(name, 0.0)} for name, part in parts.items()}
            lowered = {"valid_words": valid_words, "share_for_validation": drawn} if drawn < share else {}
            work.manifest = settings | lowered | {"corpora": corpora, "inputs": read}
    return read_manifest(output / MANIFEST)


def _words(inputs: list[Path]) -> dict[str, int]:
    """The words of each source, where all inputs are outputs, whose manifests tell them; else none."""
    words: dict[str, int] = {}
    for path in inputs if all(map(is_output, inputs)) else []:
        for source, size in read_manifest(path / MANIFEST)["kept"].items():
            words[source] = words.get(source, 0) + size["words"]
    return words


def _split(
    work: Work, shards: list, cap: Cap, words: int, seed: int, engine: Engine
) -> tuple[dict[str, Part], list, float]:
    """Divide all shards, and again when what is read shows another share than the `words` that are told.

    Again also where a corpus is so small that no text of it was drawn for validation. Returns the share as well.
    """
    split = Split(work.directory, work.scratch / "reports", seed, cap.share_of(words))
    parts, read = _divide(work, split, shards, engine)
    share = cap.share_of(sum(part.train.words + part.valid.words for part in parts.values()))
    chosen = {part.lowest for part in parts.values() if share <= part.lowest < part.highest} if share else set()
    if share != split.share or chosen:
        split = replace(split, reports=work.scratch / "again", share=share, chosen=frozenset(chosen))
        parts, read = _divide(work, split, shards, engine)
    return parts, read, share


def _divide(work: Work, split: Split, shards: list, engine: Engine) -> tuple[dict[str, Part], list]:
    engine.run("splitting", split, shards, work.scratch / "jobs")
    parts: dict[str, Part] = {}
    read: list[dict] = []
    for shard in shards:
        report = read_json(split.done(shard))
        for name, record in report["parts"].items():
            sides = {side: Size(**record[side]) for side in ("train", "valid")}
            parts.setdefault(name, Part()).add(Part(**record | sides))
        read += report["inputs"]
    return parts, read


def _check_parts(parts: dict[str, Part], share: float, inputs: list[Path]) -> None:
    known, hidden = (sum(getattr(part, name) for part in parts.values()) for name in ("with_patient", "pseudonymised"))
    if 0 < hidden < known:
        raise InputError(
            f"{inputs[0]}: {known - hidden:,} of {known:,} documents with a patient are not pseudonymised, so that a "
            "patient would be in training and in validation; pseudonymise all of them."
        )
    if not any(part.train.documents for part in parts.values()):
        raise InputError(f"{inputs[0]}: no document is left to train on; lower --valid or add documents.")
    if share and not any(part.valid.documents for part in parts.values()):
        if any(part.with_patient for part in parts.values()):
            raise InputError(f"{inputs[0]}: a single patient, and none can be set apart for validation; add patients.")
        raise InputError(
            f"{inputs[0]}: a single document, and none can be set apart for validation; put a blank line between "
            "documents, or give a folder with a file for each."
        )


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    weights, engine = mix_weights_of(options), engine_of(options)
    manifest = mix(options.documents, options.output, weights, options.valid, options.seed, engine, options.valid_words)
    uses = []
    for name, corpus in manifest["corpora"].items():
        train, valid = Size(**corpus["train"]), Size(**corpus["valid"])
        print(f"{name}\n{'train':>8}  {train}\n{'valid':>8}  {valid}")
        known = corpus.get("with_patient", 0)
        if without := (train.documents + valid.documents - known) * bool(known):
            print(
                f"warning: {name}: {without:,} documents without a patient were divided by their text", file=sys.stderr
            )
        if train.documents:
            uses.append(Use(name, train.documents, corpus["weight"], train.bytes, train.bytes * corpus["weight"]))
    for line in describe(uses, "bytes"):
        print(f"{'mix':>8}  {line}")
    if drawn := manifest.get("share_for_validation"):
        print(f"{'valid':>8}  {drawn:.2%} of the documents, for some {options.valid_words:,} words (--valid-words)")
    print(f"{'output':>8}  {options.output} (seed {manifest['seed']})")


def command_line() -> OptionParser:
    """The options of the command."""
    parser = command_parser("preprocess.mix", __doc__)
    parser.add_argument("documents", nargs="+", type=Path, metavar="DOCUMENTS", help="output of deduplicate, or files")
    parser.add_argument("--output", required=True, type=Path, help="folder to write")
    add_weight_options(parser)
    help_of_valid = "share of the documents for validation, the same for each corpus (default: 0.02)"
    parser.add_argument("--valid", type=share, default=0.02, help=help_of_valid)
    help_of_words = f"number of words for validation, at most about; the share is lower then (default: {VALID_WORDS:,})"
    parser.add_argument("--valid-words", type=at_least(1), default=VALID_WORDS, metavar="N", help=help_of_words)
    parser.add_argument("--seed", type=at_least(0), default=1, help="random seed (default: 1)")
    add_engine_options(parser)
    return parser


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
