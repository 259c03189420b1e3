"""What test_load.py runs in one process with the other major version of transformers: loading, and reading what either
version wrote.

    python -m other_transformers PUBLISHED LOADED OUTPUT FAMILY...
"""

import os
import shlex
import shutil
import sys
from pathlib import Path

from published_tokenizers import sentencepiece_model
from text_helpers import some_lines
from transformers import AutoTokenizer

from alibert_common.errors import InputError
from alibert_fairseq.hf.load import load
from alibert_fairseq.hf.published.read_tokenizer import make_file


def ids(folder: Path) -> list[list[int]]:
    """AutoTokenizer's, of lines of the sample."""
    return AutoTokenizer.from_pretrained(folder)(some_lines())["input_ids"]


def main(published: Path, loaded: Path, output: Path, families: list[str]) -> None:
    for family in families:
        load(published / family, output / family)
        assert ids(published / family) == ids(loaded / family) == ids(output / family), family
    for family in families[:2]:
        load(published / family, output / "more" / family, add_tokens=output / "words.txt")
    alone = _with_the_model_alone(published / "drbert", output / "published")
    load(alone, output / "drbert")
    variable, _, _, code = shlex.split(make_file(alone).partition(": ")[2])  # what transformers 5 tells a user to run
    os.environ["P"] = variable.removeprefix("P=")
    exec(code, {})
    try:
        load(published / "untied", output / "untied")
    except InputError as refused:
        assert "its tables of input and output words differ" in str(refused)
    else:
        raise AssertionError("a model whose words are not tied was loaded")


def _with_the_model_alone(folder: Path, copy: Path) -> Path:
    shutil.copytree(folder, copy)
    (copy / "tokenizer.json").unlink()
    (copy / "sentencepiece.bpe.model").write_bytes(sentencepiece_model("bpe"))
    return copy


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), sys.argv[4:])
