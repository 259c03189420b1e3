"""Compare tokenizers on held-out text: metrics, medical terms and sentences in pieces.

    python -m preprocess.compare_tokenizers TOKENIZER... --text mixed/valid --output study

A TOKENIZER is any folder with a tokenizer.json, such as a published model. A large text is measured on documents that
are drawn at random. The output holds study.json, study.md with its pictures, and study.html, one page with everything.
They contain no text except the terms and sentences.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from alibert_common.cli import at_least, program
from alibert_common.directories import Marker, directory_written_whole, refuse_foreign
from alibert_common.errors import exit_with_sentence
from alibert_common.executors.base import ALONE, Engine, add_workers_option
from alibert_common.input_log import InputLog
from alibert_common.report import markdown
from preprocess.documents.document import read_documents
from preprocess.tokenizer.piece_text import spelled_texts, text_pieces
from preprocess.tokenizer_study import tables
from preprocess.tokenizer_study.candidates import Candidate, load_candidates
from preprocess.tokenizer_study.held_out import seen_in_training
from preprocess.tokenizer_study.measure import figures, measure
from preprocess.tokenizer_study.report import report, warnings, write_pages
from preprocess.tokenizer_study.samples import Term, read_sentences, read_terms, segment, segment_term
from preprocess.tokenizer_study.speed import speeds
from preprocess.tokenizer_study.text_sample import draw_documents

MARKER = Marker("study.json", '"command": "compare_tokenizers"', sometimes=("terms.png",))
MEGABYTES = 20  # half a minute of one core for each tokenizer; the fertility of half of it differs by less than 1 %


def study_of(
    candidates: list[Candidate],
    path: Path,
    terms: list[Term],
    sentences: list[str],
    seed: int,
    trained_on: Sequence[Path] = (),
    megabytes: int = MEGABYTES,
    engine: Engine = ALONE,
) -> dict:
    """The content of study.json without its settings. Lists have one entry per tokenizer, in their order.

    Measures on documents of `megabytes` that are drawn from the text. Raises InputError for text that cannot be read.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        text = draw_documents(path, megabytes * 10**6, seed, engine, folder / "text")
        meters = measure(candidates, text, engine, folder / "measured")
        timed = speeds(candidates, text.blocks, seed, folder / "timed")
        described = text.describe()
        if trained_on:
            held_out = read_documents(text.blocks)
            described["seen_in_training"] = seen_in_training(held_out, trained_on, engine, folder / "seen")
    found = [figures(meter, text) | speed for meter, speed in zip(meters, timed, strict=True)]
    cut = [[segment_term(candidate, term.text) for candidate in candidates] for term in terms]
    return {
        "text": described,
        "tokenizers": _tokenizers(candidates, found, described),
        "overlap": overlap(candidates),
        "categories": by_category(terms, cut),
        "terms": [
            {"term": term.text, "category": term.category, "segmentations": row}
            for term, row in zip(terms, cut, strict=True)
        ],
        "sentences": [
            {"sentence": sentence, "segmentations": [segment(candidate, sentence) for candidate in candidates]}
            for sentence in sentences
        ],
    }


def _tokenizers(candidates: list[Candidate], found: list[dict], described: dict) -> dict[str, dict]:
    """Each with its figures. Was it trained on the measured text? Was all it was trained on compared with that text?"""
    files = {file["sha256"] for file in described["inputs"]}
    compared = {file["sha256"] for file in described.get("seen_in_training", {}).get("inputs", ())}
    tokenizers = {}
    for candidate, own_figures in zip(candidates, found, strict=True):
        own = candidate.trained_on
        tokenizers[candidate.name] = {
            "path": str(candidate.path),
            "sha256": candidate.sha256,
            "model": candidate.kind,
            "trained_on_text": None if own is None else not own.isdisjoint(files),
            "trained_on_compared": bool(compared) and own is not None and own <= compared,
            **own_figures,
        }
    return tokenizers


def overlap(candidates: list[Candidate]) -> list[list[dict]]:
    """The pieces that each pair has in common, without word marks, and their share of all pieces of the two."""
    texts = [
        {spelled.text for spelled in spelled_texts(text_pieces(candidate.tokenizer).values(), candidate.convention)}
        for candidate in candidates
    ]
    return [[{"common": len(a & b), "jaccard": len(a & b) / max(len(a | b), 1)} for b in texts] for a in texts]


def by_category(terms: list[Term], cut: list[list[dict]]) -> dict[str, dict]:
    """The number of terms by category and overall; for each tokenizer (mean pieces, share without a split word).

    `cut` holds the segmentations of each term, one per tokenizer.
    """
    rows: dict[str, list] = {}
    for term, row in zip(terms, cut, strict=True):
        rows.setdefault(term.category, []).append(row)
    if len(rows) > 1:
        rows["(all)"] = cut
    return {
        category: {"terms": len(some), "means": [_means(column) for column in zip(*some, strict=True)]}
        for category, some in rows.items()
    }


def _means(cuts: Sequence[dict]) -> tuple[float, float]:
    """(mean pieces, share without a split word) of one tokenizer."""
    return sum(len(cut["pieces"]) for cut in cuts) / len(cuts), sum(cut["whole"] for cut in cuts) / len(cuts)


def write_study(study: dict, output: Path) -> None:
    """Write study.json, the pictures, study.md and study.html, all or nothing."""
    from preprocess.tokenizer_study.pictures import draw  # here, because matplotlib makes `--help` slow

    with directory_written_whole(output, MARKER) as directory:
        pictures = draw(study)
        for name, content in pictures.items():
            (directory / name).write_bytes(content)
        write_pages(directory, "study", study, report(study, pictures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        program("python -m preprocess.compare_tokenizers"), description=__doc__.split("\n\n")[0]
    )
    add = parser.add_argument
    add("tokenizers", nargs="+", type=Path, metavar="TOKENIZER", help="folders with a tokenizer.json")
    text = "held-out documents: a directory such as mixed/valid, a .txt file or a .jsonl file"
    add("--text", required=True, type=Path, help=text)
    trained_on = "training text, to count the documents and lines of --text that it shares (default: not counted)"
    add("--trained-on", nargs="+", type=Path, default=[], metavar="DOCUMENTS", help=trained_on)
    add("--output", type=Path, help="directory of the study (default: print the main table only)")
    names = "names of the tokenizers, with commas between (default: their folders)"
    add("--names", type=lambda names: names.split(","), default=[], help=names)
    add("--terms", type=Path, help="lines of a term, a tab and its category (default: none)")
    add("--sentences", type=Path, help="lines to show in pieces (default: none)")
    megabytes = f"held-out text to measure on, of documents drawn at random, in MB (default: {MEGABYTES})"
    add("--text-megabytes", type=at_least(1), default=MEGABYTES, help=megabytes)
    add(
        "--seed",
        type=at_least(0),
        default=1,
        help="random seed of the documents, and of the lines for the speed (default: 1)",
    )
    add_workers_option(parser)
    return parser.parse_args()


def main() -> None:
    """Run the command."""
    arguments = _arguments()
    if arguments.output:
        refuse_foreign(arguments.output, MARKER)
    candidates, log = load_candidates(arguments.tokenizers, arguments.names), InputLog()
    terms = read_terms(arguments.terms, log) if arguments.terms else []
    sentences = read_sentences(arguments.sentences, log) if arguments.sentences else []
    study = {
        "command": "compare_tokenizers",
        "settings": {
            "seed": arguments.seed,
            "text_megabytes": arguments.text_megabytes,
            "inputs": log.manifest(),
        },
        "versions": {"python": sys.version.split()[0], "tokenizers": version("tokenizers")},
        **study_of(
            candidates,
            arguments.text,
            terms,
            sentences,
            arguments.seed,
            arguments.trained_on,
            arguments.text_megabytes,
            Engine(arguments.workers),
        ),
    }
    for warning in warnings(study):
        print(f"warning: {warning}", file=sys.stderr)
    print(markdown.plain(tables.text(study)))
    if arguments.output:
        write_study(study, arguments.output)
        print(f"{'output':>10}  {arguments.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
