"""How much faster is preprocess.binarize than encoding every line and calling fairseq-preprocess, for the same bytes?

    python tests/campaigns/binarize_speed.py --tokenizer TOKDIR --text corpus.txt --megabytes 20 --workers 2

Times both ways from text to data-bin, one after the other, and compares the outputs byte by byte. Prints one JSON
object: seconds, seconds of processor, the largest process in MB, for each way, and the ratios. `--plain` is the slow
way's first half, which runs in a process of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from preprocess.documents import read_documents
from preprocess.tokenizer import load_tokenizer

LINES_A_BATCH = 10_000


def encode_every_line(tokenizer: Path, text: Path, output: Path) -> None:
    """The pieces of every line as text, documents apart by an empty line."""
    encoder = load_tokenizer(tokenizer)
    names = [encoder.id_to_token(number) for number in range(encoder.get_vocab_size())]
    lines = []
    for document in read_documents([text]):
        lines += [""] * bool(lines) + document.lines
    with open(output, "w", encoding="utf-8") as handle:
        for start in range(0, len(lines), LINES_A_BATCH):
            for encoding in encoder.encode_batch(lines[start : start + LINES_A_BATCH], add_special_tokens=False):
                handle.write(" ".join(map(names.__getitem__, encoding.ids)) + "\n")


def measured(*command: object) -> dict:
    """Run a command to its end; what it took, its children included."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "processor": usage.ru_utime + usage.ru_stime, "largest_mb": usage.ru_maxrss / 1024}


def compare(tokenizer: Path, text: Path, megabytes: float, workers: int, fairseq: bool) -> dict:
    """Both ways on the first `megabytes` of the text."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        part, tokens = folder / "part.txt", folder / "tokens"
        with open(text, "rb") as source:
            part.write_bytes(source.read(int(megabytes * 1e6)).rpartition(b"\n")[0] + b"\n")
        ours = [
            sys.executable,
            "-m",
            "preprocess.binarize",
            "--tokenizer",
            tokenizer,
            "--train",
            part,
            "--output",
            folder / "ours",
        ]
        result = {"megabytes": part.stat().st_size / 1e6, "workers": workers}
        result["ours"] = measured(*ours, "--workers", workers)
        result["ours"]["mb_per_second"] = result["megabytes"] / result["ours"]["seconds"]
        counts = json.loads((folder / "ours" / "manifest.json").read_text())["splits"]["train"]
        result["ours"]["tokens_per_second"] = counts["tokens"] / result["ours"]["seconds"]
        result["encode_batch"] = measured(
            sys.executable, __file__, "--plain", tokens, "--tokenizer", tokenizer, "--text", part
        )
        ways = [result["encode_batch"]]
        if fairseq:
            theirs = [
                Path(sys.executable).with_name("fairseq-preprocess"),
                "--only-source",
                "--srcdict",
                tokenizer / "dict.txt",
            ]
            theirs += ["--trainpref", tokens, "--destdir", folder / "theirs", "--workers", workers]
            ways.append(measured(*theirs))
            result["fairseq_preprocess"] = ways[-1]
            for name in ("train.bin", "train.idx", "dict.txt"):
                assert (folder / "ours" / name).read_bytes() == (folder / "theirs" / name).read_bytes(), name
        for unit in ("seconds", "processor"):
            result[f"times_as_fast_in_{unit}"] = sum(way[unit] for way in ways) / result["ours"][unit]
        return result


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", required=True, type=Path, help="directory of preprocess.train_tokenizer")
    parser.add_argument("--text", required=True, type=Path, help="a .txt of documents")
    parser.add_argument("--megabytes", type=float, default=20.0, help="how much of it (default 20: a minute or two)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="for both ways (default: all cores)")
    parser.add_argument("--without-fairseq", action="store_true", help="leave fairseq-preprocess out")
    parser.add_argument("--plain", type=Path, metavar="FILE", help="only write the pieces of every line to FILE")
    options = parser.parse_args()
    if options.plain:
        return encode_every_line(options.tokenizer, options.text, options.plain)
    fairseq = not options.without_fairseq
    result = compare(options.tokenizer, options.text, options.megabytes, options.workers, fairseq)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
