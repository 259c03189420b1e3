"""The tokenizers of a study: any tokenizer.json."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tokenizers import Tokenizer

from alibert_common.directories import Marker
from alibert_common.errors import InputError
from alibert_common.files import read_json
from preprocess.tokenizer.piece_text import Convention

TRAINED_HERE = Marker.of_command("train_tokenizer")
OTHER_FORMS = ("*.model", "vocab.txt", "vocab.json")  # sentencepiece's, BERT's, RoBERTa's


@dataclass
class Candidate:
    """One tokenizer for ordinary text; the text of a special token is not a special token."""

    name: str
    path: Path
    tokenizer: Tokenizer
    sha256: str = ""  # of tokenizer.json
    trained_on: frozenset[str] | None = None  # SHA-256 of the files; None if unknown
    convention: Convention = field(init=False)
    kind: str = field(init=False)
    unknown: int | None = field(init=False)  # the id of the unknown token
    lone: int | None = field(init=False)  # the id of ▁ alone

    def __post_init__(self):
        self.tokenizer.encode_special_tokens = True
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        model = json.loads(self.tokenizer.to_str())["model"]
        if model.get("end_of_word_suffix"):
            raise InputError(
                f"{self.path}: marks the ends of words ('{model['end_of_word_suffix']}') and cannot be compared "
                "with tokenizers that mark their starts; leave it out."
            )
        self.kind = model["type"]
        self.convention = Convention.of(self.tokenizer)
        unknown = model.get("unk_token")
        self.unknown = model["unk_id"] if "unk_id" in model else self.tokenizer.token_to_id(unknown or "")
        self.lone = self.tokenizer.token_to_id(self.convention.lone or "")

    def __reduce__(self):
        """A copy for another process is made anew: a pickled tokenizer forgets that its special tokens are text."""
        return Candidate, (self.name, self.path, self.tokenizer, self.sha256, self.trained_on)


def load_candidates(paths: Sequence[Path], names: Sequence[str] = ()) -> list[Candidate]:
    """The tokenizers with their names, by default those of their folders.

    Raises InputError for a folder without a tokenizer.json, and for a wrong number of names.
    """
    names = names or [path.resolve().name for path in paths]
    if len(names) != len(paths):
        raise InputError(
            f"--names: {len(names)} names for {len(paths)} tokenizers; give one name each, with commas between."
        )
    if len(set(names)) < len(names):
        raise InputError(f"{', '.join(names)}: two tokenizers have the same name; give other names with --names a,b,c.")
    return [_load(path, name) for path, name in zip(paths, names, strict=True)]


def _load(path: Path, name: str) -> Candidate:
    file = path / "tokenizer.json"
    if not file.is_file():
        raise InputError(f"{path}: no tokenizer.json in it; {_remedy(path)}.")
    data = file.read_bytes()
    try:
        tokenizer = Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises a bare Exception
        raise InputError(f"{file}: not a tokenizer ({error}); give folders that hold a tokenizer.json.") from None
    return Candidate(name, path, tokenizer, hashlib.sha256(data).hexdigest(), _trained_on(path))


def _remedy(path: Path) -> str:
    if not any(next(path.glob(form), None) for form in OTHER_FORMS):
        return "give folders that hold one"
    load = f"from transformers import AutoTokenizer; AutoTokenizer.from_pretrained('{path}')"
    return f"make one with `python -c \"{load}.save_pretrained('{path}-fast')\"`, then give {path}-fast"


def _trained_on(path: Path) -> frozenset[str] | None:
    if not TRAINED_HERE.is_in(path):
        return None
    manifest = read_json(path / TRAINED_HERE.file)
    return frozenset(file["sha256"] for file in manifest["inputs"])
