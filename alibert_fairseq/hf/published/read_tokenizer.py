"""Reading the tokenizer of a published folder: AutoTokenizer's, and its tokenizer.json as it stands."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from alibert_common.errors import InputError, reason
from alibert_fairseq.hf.published.configuration import read_configuration

COPY_AGAIN = "; copy the published tokenizer's files again"
MAKE_FILE = (
    "in an environment with transformers 4, sentencepiece and protobuf, make its tokenizer.json and "
    'tokenizer_config.json once: P={} python -c "import os; from transformers import AutoTokenizer, '
    "PreTrainedTokenizerFast as Fast; p = os.environ['P']; t = AutoTokenizer.from_pretrained(p); "
    "Fast(tokenizer_object=t.backend_tokenizer, model_input_names=t.model_input_names, "
    '**t.special_tokens_map).save_pretrained(p)"'
)


def make_file(folder: Path) -> str:
    """The command that makes the tokenizer.json, as a shell takes it."""
    return MAKE_FILE.format(shlex.quote(str(folder)))


@contextmanager
def reading(complaint: str, remedy: str = COPY_AGAIN) -> Iterator[None]:
    """Raise InputError where the library fails: it raises a bare Exception, or panics, which is none."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise InputError(f"{complaint} ({reason(error)}){remedy}.") from None


def auto_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """AutoTokenizer's, or that of tokenizer.json where AutoTokenizer's class cannot hold its kind of subword model."""
    own, settings = folder / "tokenizer.json", folder / "tokenizer_config.json"
    if settings.is_file():
        read_configuration(settings, "tokenizer")
    remedy = f"; {make_file(folder)}" if any(folder.glob("*.model")) else COPY_AGAIN
    complaint = f"{folder}: AutoTokenizer cannot read its tokenizer"
    if not own.is_file():
        with reading(complaint, remedy):
            return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model = tokenizer_file(own).model
    with suppress(InputError), reading(complaint):  # a class that this version does not know, for example
        auto = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if auto.is_fast and type(auto.backend_tokenizer.model) is type(model):
            return auto
    with reading(f"{folder}: its tokenizer cannot be read"):
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def tokenizer_file(file: Path) -> Tokenizer:
    """A tokenizer.json, which neither truncates nor pads."""
    with reading(f"{file}: not a tokenizer"):
        tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
