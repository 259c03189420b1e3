"""Reading, filtering and near-duplicates beside datatrove and text-dedup: time, memory, and which copies are found.

    python -m venv datatrove && datatrove/bin/pip install "datatrove[io,processing]==0.10.1" spacy==3.8.18
    python -m venv text-dedup && text-dedup/bin/pip install text-dedup==0.4.1    # Python 3.12
    python tests/benchmarks/text_peers.py DATA --scratch DIR --output peers.json \\
        --datatrove datatrove/bin/python --text-dedup text-dedup/bin/python

All read the same JSON lines, in two files, with two processes. The documents are composed as in mixed_text.py. Copies
of some are planted, with a share of the words replaced, deleted or followed by another. A pair is found when not both
of it are left. Precision is the share of the dropped documents that are like another: half of the 3-word shingles
of both are common. Each peer runs with its defaults, and with the shingles, bands and rows of ours. datatrove's
language filter is left out: it loads a model from the network. NeMo Curator is left out: its near-duplicates need a
GPU.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
from interleaved import ROOT, write
from mixed_text import composed, corpora, edited_lines, interleaved
from planted_copies import shingle_set
from process_cost import MB, bytes_below, measured
from text_tables import table

from preprocess.documents.document import read_documents

VERSIONS = {"datatrove": "0.10.1", "text-dedup": "0.4.1"}
RATES = {"exact": 0.0, "2 %": 0.02, "5 %": 0.05, "10 %": 0.1, "15 %": 0.15, "20 %": 0.2}
SHARES = {"leaflets": 0.5, "oncology": 0.2, "abstracts": 0.12, "cases": 0.12, "covid": 0.06}
PLANTED = 0.15  # share of the documents that have a copy
LEAST_WORDS = 50  # of a document, so that 2 % are a word
WORKERS = 2
ALIKE = 0.5  # Jaccard similarity of 3-word shingles from which a dropped document counts as rightly dropped
SEED = 1
OURS = {"words": 3, "bands": 30, "rows": 5, "threshold": 0.62}  # preprocess/deduplication/minhash.py


def write_documents(data: Path, folder: Path, megabytes: float) -> None:
    """WORKERS files of JSON lines, and pairs.json: [original, copy, kind] by their ids. Nothing if it is there."""
    if folder.exists():
        return
    work, rng, real = folder.with_name(f".{folder.name}.partial"), np.random.default_rng(SEED), corpora(data)
    shutil.rmtree(work, ignore_errors=True)
    (work / "in").mkdir(parents=True)
    long_enough = {
        name: (lines for lines in composed(real[name], f"peers {name}") if words_in(lines) >= LEAST_WORDS)
        for name in SHARES
    }
    texts, pairs, kinds = [], [], itertools.cycle(RATES)
    for _, lines in interleaved(SHARES, long_enough, int(megabytes * MB * (1 - PLANTED))):
        texts.append("\n".join(lines))
        if rng.random() < PLANTED:
            kind = next(kinds)
            pairs.append([str(len(texts) - 1), str(len(texts)), kind])
            texts.append("\n".join(edited_lines(lines, RATES[kind], rng)))
    files = [open(work / "in" / f"{number}.jsonl", "w", encoding="utf-8") for number in range(WORKERS)]
    order = rng.permutation(len(texts))
    for place, number in enumerate(order.tolist()):
        record = {"id": str(number), "text": texts[number]}
        files[place * WORKERS // len(order)].write(json.dumps(record, ensure_ascii=False) + "\n")
    for file in files:
        file.close()
    (work / "pairs.json").write_text(json.dumps(pairs))
    work.rename(folder)


def words_in(lines: list[str]) -> int:
    """How many words lines have."""
    return sum(len(line.split()) for line in lines)


def stage(name: str, source: Path, output: Path, *options: str) -> list:
    """One of our commands."""
    command = [sys.executable, "-m", f"preprocess.{name}", source, "--output", output]
    return [*command, "--workers", WORKERS, *options]


def kept_ids(folder: Path) -> set[str]:
    """Of the documents that are left, in our form or in a peer's folder `kept`."""
    if (folder / "kept").is_dir():
        lines = (line for file in (folder / "kept").glob("*.jsonl") for line in file.open(encoding="utf-8"))
        return {str(json.loads(line)["id"]) for line in lines}
    return {document.id for document in read_documents([folder])}


def recall(pairs: list, kept: set[str]) -> dict[str, float]:
    """The share of the pairs of each kind of which not both are left."""
    found = defaultdict(list)
    for original, copy, kind in pairs:
        found[kind].append(not {original, copy} <= kept)
    return {kind: float(np.mean(found[kind])) for kind in RATES if kind in found}


def precision(texts: dict[str, str], kept: set[str]) -> dict[str, float]:
    """How many documents were dropped, and which share of them has another one that is alike."""
    dropped = sorted(set(texts) - kept)
    sets = {number: shingle_set(texts[number], 3) for number in dropped}
    holders = defaultdict(list)
    for number, shingles in sets.items():
        for shingle in shingles:
            holders[shingle].append(number)
    nearest = dict.fromkeys(dropped, 0.0)
    for other, text in texts.items():
        shingles = shingle_set(text, 3)
        shared = Counter(number for shingle in shingles for number in holders.get(shingle, ()) if number != other)
        for number, count in shared.items():
            nearest[number] = max(nearest[number], count / (len(sets[number]) + len(shingles) - count))
    right = sum(value >= ALIKE for value in nearest.values())
    return {"dropped": len(dropped), "precision": right / len(dropped) if dropped else 1.0}


def systems(options: argparse.Namespace, source: Path, scratch: Path) -> dict[str, Callable[[Path], list]]:
    """The commands by name, as functions of their output. Those after the first slash do about the same work."""
    documents = scratch / "ingest, ours"

    def peer(script: str, python: Path, step: str, minhash: dict | None = None) -> Callable[[Path], list]:
        settings = json.dumps({"workers": WORKERS, "minhash": minhash or {}})
        return lambda output: [python, Path(__file__).with_name(script), step, source, output, settings]

    found = {
        "ingest, ours": lambda output: stage("ingest", source, output),
        "clean, ours": lambda output: stage("clean", documents, output),
        "deduplicate, ours": lambda output: stage("deduplicate", documents, output),
        "deduplicate, ours, documents alone": lambda output: stage(
            "deduplicate", documents, output, "--max-repeats", "0"
        ),
    }
    if options.datatrove:
        same = {"n_grams": OURS["words"], "num_buckets": OURS["bands"], "hashes_per_bucket": OURS["rows"]}
        found |= {
            "read and write, datatrove": peer("peer_datatrove.py", options.datatrove, "read"),
            "filter, datatrove": peer("peer_datatrove.py", options.datatrove, "filter"),
            "deduplicate, datatrove": peer("peer_datatrove.py", options.datatrove, "deduplicate"),
            "deduplicate, datatrove, our bands": peer("peer_datatrove.py", options.datatrove, "deduplicate", same),
        }
    if options.text_dedup:
        plain = {
            "num_perm": 240,
            "threshold": 0.7,
            "ngram_size": 5,
            "check_false_positive": True,
        }  # as its minhash.toml
        same = {
            "num_perm": OURS["bands"] * OURS["rows"], "bands": OURS["bands"], "rows": OURS["rows"],
            "ngram_size": OURS["words"], "threshold": OURS["threshold"], "check_false_positive": True,
        }  # fmt: skip
        found |= {
            "deduplicate, text-dedup": peer("peer_text_dedup.py", options.text_dedup, "deduplicate", plain),
            "deduplicate, text-dedup, our bands": peer("peer_text_dedup.py", options.text_dedup, "deduplicate", same),
        }
    return found


def markdown(results: dict) -> str:
    """Both tables."""
    megabytes = results["megabytes"]
    head = ["step", "seconds", "CPU s", "MB/s a core", "largest process, MB", "all processes, MB", "documents kept"]
    costs = [
        [name, cost["seconds"], cost["processor"], megabytes / cost["processor"], cost["largest_mb"],
         cost["together_mb"], cost["kept"]]
        for name, cost in results["systems"].items()
    ]  # fmt: skip
    shares = [
        [name, *(f"{share:.3f}" for share in cost["recall"].values()), cost["dropped"], f"{cost['precision']:.3f}"]
        for name, cost in results["systems"].items()
        if "recall" in cost
    ]
    return table(head, costs) + "\n\n" + table(["found", *RATES, "dropped", "precision"], shares)


def check_version(python: Path, name: str) -> None:
    """Raise SystemExit unless that Python has the pinned version."""
    program = f"import importlib.metadata as metadata; print(metadata.version({name!r}))"
    found = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    if found != VERSIONS[name]:
        raise SystemExit(f"{python} has {name} {found}; the figures are of {VERSIONS[name]}.")


def run(name: str, command: list, output: Path, checkout: Path) -> dict:
    """What a system costs; its earlier output is removed."""
    for old in (output, output.with_name(f".{name}.work")):
        shutil.rmtree(old, ignore_errors=True)
    path = str(checkout.resolve()) if ", ours" in name else ""
    return asdict(measured(command, output.with_name(f"{name}.log"), output.parent, PYTHONPATH=path))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for text and outputs")
    parser.add_argument("--megabytes", type=float, default=50.0, help="size of the text (default: 50)")
    parser.add_argument("--datatrove", type=Path, help="Python of datatrove's environment (default: leave out)")
    parser.add_argument("--text-dedup", type=Path, help="Python of text-dedup's environment (default: leave out)")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="checkout of ours to measure (default: this one)")
    parser.add_argument("--only", nargs="*", help="steps to measure (default: all)")
    parser.add_argument("--output", type=Path, required=True, help="file of the results")
    options = parser.parse_args()
    for name in VERSIONS:
        if python := getattr(options, name.replace("-", "_")):
            setattr(options, name.replace("-", "_"), python.absolute())  # not resolved: a link has an environment
            check_version(python.absolute(), name)
    scratch = options.scratch.resolve() / f"{options.megabytes:g}"
    write_documents(options.data, scratch / "documents", options.megabytes)
    source = scratch / "documents" / "in"
    records = (json.loads(line) for file in source.iterdir() for line in file.open(encoding="utf-8"))
    texts = {record["id"]: record["text"] for record in records}
    pairs = json.loads((scratch / "documents" / "pairs.json").read_text())
    results: dict = {"megabytes": bytes_below(source) / MB, "documents": len(texts), "versions": VERSIONS}
    results |= {"pairs": Counter(kind for *_, kind in pairs), "systems": {}}
    for name, command in systems(options, source, scratch).items():
        if options.only and name not in options.only:
            continue
        cost = run(name, command(scratch / name), scratch / name, options.checkout)
        kept = kept_ids(scratch / name)
        found = {"recall": recall(pairs, kept)} | precision(texts, kept) if name.startswith("deduplicate") else {}
        results["systems"][name] = cost | found | {"kept": len(kept), "phases": None}
        write(results, options.output)
        print(f"{name}: {cost['processor']:.1f} CPU seconds", file=sys.stderr, flush=True)
    print(markdown(results))


if __name__ == "__main__":
    main()
