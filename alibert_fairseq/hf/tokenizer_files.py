"""The tokenizer of an exported folder."""

import json
import shutil
from pathlib import Path

from tokenizers import Tokenizer, processors

from preprocess.tokenizer.special_tokens import read_layout

FILES = ("tokenizer.json", "tokenizer_config.json")


def write_tokenizer(tokenizer: Path, folder: Path, length: int, segments: int) -> None:
    """Copy the tokenizer's files, with the length that the model reads, and the segments of a pair if it has any.

    Copied, not saved by transformers: its version 5 would rename the class. A published model's tokenizer keeps its own
    way with pairs.
    """
    for name in FILES:
        shutil.copyfile(tokenizer / name, folder / name)
    config = json.loads((folder / FILES[1]).read_text(encoding="utf-8"))
    config["model_max_length"] = length
    if segments > 1 and not read_layout(tokenizer).published:
        config["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
        _give_pairs_segments(folder / FILES[0], config["bos_token"], config["eos_token"])
    (folder / FILES[1]).write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _give_pairs_segments(file: Path, begin: str, end: str) -> None:
    """A pair as BERT was trained on it: `<s> A </s> B </s>`, B and its end in segment 1. RoBERTa's has two `</s>`."""
    tokenizer = Tokenizer.from_file(str(file))
    if 1 in tokenizer.encode("a", "b").type_ids:  # so it does already
        return
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B:1 {end}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (begin, end)],
    )
    tokenizer.save(str(file))
