"""A small tokenizer directory, shards, and a way to run the stages as a user does, for tests of the corpus side."""

import subprocess
import sys
from pathlib import Path

from tokenizers import Tokenizer

from preprocess.documents.document import Document
from preprocess.documents.shards import written_shard
from preprocess.tokenizer.normalizer import TextOptions
from preprocess.tokenizer.vocabulary import Subwords, build_tokenizer

WORDS = "le la de un une patient patiente fièvre à sous paracétamol avec pas prenez médecin mg kg".split()
CHARACTERS = "abcdefghijklmnopqrstuvwxyzàâçéèêëîïôùûüœæμ0123456789.,;:()'\"%/+-°•<>^²³=_"
REPOSITORY = Path(__file__).resolve().parents[2]


def tiny_tokenizer(options: TextOptions | None = None) -> Tokenizer:
    """Unigram over whole words, letters inside and at the start of words, and punctuation."""
    pieces = {f"▁{word}": -4.0 for word in WORDS} | {"ment": -6.0, "▁": -7.0, "tion": -6.0}
    pieces |= {character: -9.0 for character in CHARACTERS} | {f"▁{character}": -8.0 for character in CHARACTERS}
    tokenizer = build_tokenizer(options or TextOptions(), Subwords("unigram", list(pieces), list(pieces.values())))
    tokenizer.encode_special_tokens = True
    return tokenizer


def write_tokenizer(directory: Path, options: TextOptions | None = None) -> Path:
    """tokenizer.json and dict.txt, as preprocess.train_tokenizer lays them out."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = tiny_tokenizer(options)
    tokenizer.save(str(directory / "tokenizer.json"))
    pieces = map(tokenizer.id_to_token, range(4, tokenizer.get_vocab_size() - 1))
    (directory / "dict.txt").write_text("".join(f"{piece} 1\n" for piece in pieces), encoding="utf-8")
    return directory


def write_shards(directory: Path, documents: list[Document], size: int) -> Path:
    """A directory of documents, `size` in each shard, in their order."""
    for start in range(0, len(documents), size):
        with written_shard(directory / f"{start:05d}.jsonl.zst") as shard:
            for document in documents[start : start + size]:
                shard.write(document)
    return directory


def run(module: str, *arguments: object, **options: object) -> subprocess.CompletedProcess:
    """`python -m module arguments`, from the repository, output captured."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, **options)


def one_sentence(result: subprocess.CompletedProcess) -> str:
    """The sentence a command refused its input with; fails unless there is one, and nothing but one."""
    beside = ("B/s]", "it/s]", ": made anew; changed since: ")
    lines = [line for line in result.stderr.splitlines() if line and not any(words in line for words in beside)]
    assert result.returncode == 2, result.stderr
    assert len(lines) == 1 and lines[0].startswith("error: ") and "Traceback" not in result.stderr, result.stderr
    return lines[0]
