"""How much faster is preprocess.binarize than encoding every line and calling fairseq-preprocess, for the same bytes?

    python tests/campaigns/binarize_speed.py leaflets.txt cases.txt novels.txt --workers 2

The documents of all files are put in one order, drawn with a seed; the first 50 MB are the text. Where more is asked
for than the files hold, they come again, in another order, with every third word (of four letters or more, chosen by
its spelling and the round) spelt with another letter: so new words go on coming, and a cache of words is not flattered.

Both ways go from the text to the data-bin, ours before and after the other; their outputs are compared byte by byte.
Then ours alone for its memory, on other sizes of the same text. Prints one JSON object: seconds, seconds of processor,
the ratios; for memory the largest process and all processes together, in MB. `--plain` is the slow way's first half,
which runs in a process of its own.
"""

import argparse
import hashlib
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from preprocess.documents.document import read_documents
from preprocess.tokenizer.load import load_tokenizer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "benchmarks"))
from process_cost import measured  # noqa: E402

LINES_A_BATCH = 10_000
WORD = re.compile(r"[^\W\d_]{4,}")
SEED = 1


def mixed(files: list[Path]) -> Iterator[str]:
    """The texts of the documents, without end."""
    texts = [document.text for file in files for document in read_documents([file])]
    turn = 0
    while True:
        random.Random(SEED + turn).shuffle(texts)
        spelt: dict[str, str] = {}
        for text in texts:
            yield WORD.sub(partial(altered, turn, spelt), text) if turn else text
        turn += 1


def altered(turn: int, spelt: dict[str, str], match: re.Match) -> str:
    """The word, or of every third word another, always the same in one round; `spelt` remembers it."""
    if (word := match[0]) not in spelt:
        draw = hashlib.blake2b(f"{turn} {word}".encode(), digest_size=3).digest()
        place = 1 + draw[1] % (len(word) - 2)
        letter = "abcdefghijklmnopqrstuvwxyz"[draw[2] % 26]
        spelt[word] = word if draw[0] % 3 else word[:place] + letter + word[place + 1 :]
    return spelt[word]


def write_text(files: list[Path], megabytes: float, output: Path) -> Path:
    """The first so many megabytes of the mixed text, whole lines."""
    left = int(megabytes * 1e6)
    with open(output, "wb") as handle:
        for text in mixed(files):
            part = text.encode() + b"\n\n"
            if len(part) >= left:
                handle.write(part[:left].rpartition(b"\n")[0] + b"\n")
                return output
            left -= handle.write(part)
    raise AssertionError


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


def cost_of(log: Path, *command: object) -> dict:
    """Run a command to its end; what it took, its children included, and the most memory."""
    cost = measured(list(command), log, ROOT)
    return {name: getattr(cost, name) for name in ("seconds", "processor", "largest_mb", "together_mb", "processes")}


def ours(tokenizer: Path, text: Path, output: Path, workers: int) -> list:
    """Our command."""
    command = [sys.executable, "-m", "preprocess.binarize", "--tokenizer", tokenizer, "--train", text]
    return [*command, "--output", output, "--workers", workers]


def compare(tokenizer: Path, text: Path, folder: Path, workers: int) -> dict:
    """Both ways, on one text."""
    took = partial(cost_of, folder / "log")
    first = took(*ours(tokenizer, text, folder / "ours", workers))
    tokens, preprocess = folder / "tokens", Path(sys.executable).with_name("fairseq-preprocess")
    plain = took(sys.executable, __file__, text, "--plain", tokens, "--tokenizer", tokenizer)
    theirs = [preprocess, "--only-source", "--srcdict", tokenizer / "dict.txt", "--trainpref", tokens]
    fairseq = took(*theirs, "--destdir", folder / "theirs", "--workers", workers)
    for name in ("train.bin", "train.idx", "dict.txt"):
        assert (folder / "ours" / name).read_bytes() == (folder / "theirs" / name).read_bytes(), name
    second = took(*ours(tokenizer, text, folder / "again", workers))
    counts = json.loads((folder / "ours" / "manifest.json").read_text())["splits"]["train"]
    result = {"megabytes": text.stat().st_size / 1e6, "workers": workers, "tokens": counts["tokens"]}
    result |= {"ours": [first, second], "encode_batch": plain, "fairseq_preprocess": fairseq}
    for unit in ("seconds", "processor"):
        result[f"times_as_fast_in_{unit}"] = 2 * (plain[unit] + fairseq[unit]) / (first[unit] + second[unit])
    return result


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT", help="files of documents")
    parser.add_argument("--tokenizer", type=Path, help="directory of a tokenizer (default: trained on the text)")
    parser.add_argument("--megabytes", type=float, default=50.0, help="of text, to compare (default 50: two minutes)")
    parser.add_argument("--memory", nargs="*", type=float, default=[10, 50, 400], help="megabytes to look at memory on")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="for both ways (default: all cores)")
    parser.add_argument("--plain", type=Path, metavar="FILE", help="only write the pieces of every line to FILE")
    options = parser.parse_args()
    if options.plain:
        return encode_every_line(options.tokenizer, options.texts[0], options.plain)
    with tempfile.TemporaryDirectory() as name:
        folder, result = Path(name), {}
        text = write_text(options.texts, options.megabytes, folder / "text.txt")
        tokenizer = options.tokenizer
        if not tokenizer:
            tokenizer = folder / "tokenizer"
            command = [sys.executable, "-m", "preprocess.train_tokenizer", text, "--output", tokenizer]
            result["training"] = cost_of(folder / "log", *command)
        result |= compare(tokenizer, text, folder, options.workers)
        result["memory"] = {}
        for megabytes in options.memory:
            part = write_text(options.texts, megabytes, folder / "part.txt")
            command = ours(tokenizer, part, folder / f"memory-{megabytes}", options.workers)
            result["memory"][f"{megabytes:g} MB"] = cost_of(folder / "log", *command)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
