"""The data-bin is byte for byte what fairseq-preprocess writes from the same tokens, and fairseq reads it as such."""

import subprocess
import sys
from pathlib import Path

import pytest
from corpus_helpers import tiny_tokenizer, write_tokenizer
from long_cases import long_except

from alibert_common.executors.base import Engine
from preprocess.binarize import binarize

COMMAND = Path(sys.executable).with_name("fairseq-preprocess")
pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="fairseq is not installed")

TEXT = (
    "Le patient a de la fièvre.\nDort mal, dit-elle.\n\nPas de toux 日.\n\n"
    + "Prendre 7,4 mg/kg/j à 12h30.\n" * 40
    + "Fin"
)
TEXTS = {
    "plain": TEXT + "\n",
    "no last newline": TEXT,
    "CRLF": TEXT.replace("\n", "\r\n") + "\r\n",
    "one document": "Une patiente.\n",
    "many short documents": "\n\n".join(f"Cas {number}." for number in range(300)),
}
SPLITS = ["train", "valid", "valid1", "valid2", "valid3"]  # the names fairseq-preprocess gives


def token_lines(text: str) -> str:
    """The pieces of every line, separated by spaces; what is left of its line ends is left."""
    tokenizer = tiny_tokenizer()

    def pieces(line):
        return " ".join(map(tokenizer.id_to_token, tokenizer.encode(line, add_special_tokens=False).ids))

    return "".join(pieces(line) + line[len(line.rstrip("\r\n")) :] for line in text.splitlines(keepends=True))


def fairseq_preprocess(directory, dictionary, workers):
    """fairseq-preprocess on the files of tokens; the first is "train", the others "valid", "valid1", ..."""
    train, *valid = sorted(directory.glob("*.tokens"))
    command = [COMMAND, "--only-source", "--srcdict", dictionary]
    command += ["--trainpref", train, "--validpref", ",".join(map(str, valid))]
    command += ["--destdir", directory / "theirs", "--workers", workers]
    subprocess.run([str(part) for part in command], check=True, capture_output=True, cwd=directory)


@pytest.mark.parametrize("workers", long_except([1, 3], 1))
def test_the_bytes_are_those_of_fairseq_preprocess(tmp_path, workers):
    tokenizer = write_tokenizer(tmp_path / "tokenizer")
    splits = {}
    for number, (split, text) in enumerate(zip(SPLITS, TEXTS.values(), strict=True)):
        splits[split] = [tmp_path / f"{number}.txt"]
        splits[split][0].write_bytes(text.encode())
        (tmp_path / f"{number}.tokens").write_bytes(token_lines(text).encode())
    binarize(tokenizer, splits, tmp_path / "ours", Engine(workers))
    fairseq_preprocess(tmp_path, tokenizer / "dict.txt", workers)
    for name in ["dict.txt", *(f"{split}.{suffix}" for split in SPLITS for suffix in ("bin", "idx"))]:
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
