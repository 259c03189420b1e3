"""The files that hold a published model's weights. Nothing is unpickled: only safetensors are read."""

import os
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from alibert_common.errors import InputError, reason
from alibert_common.files import read_json

TO_SAFETENSORS = (
    'if you trust who made it, write model.safetensors once: P={folder} python -c "import os, pathlib, torch, '
    "safetensors.torch as s; p = pathlib.Path(os.environ['P']); w = {{k: v.clone() for f in p.glob('{pattern}') for k, "
    "v in torch.load(f, weights_only=True).items()}}; s.save_file(w, p / 'model.safetensors', {{'format': 'pt'}})\""
)
# In the order in which transformers takes the first that is there.
WEIGHT_FILES = (
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json",
)  # fmt: skip


def to_safetensors(folder: Path, pattern: str) -> str:
    """The command that makes model.safetensors of the pickles of this pattern, as a shell takes it."""
    return TO_SAFETENSORS.format(pattern=pattern, folder=shlex.quote(str(folder)))


def check_files(folder: Path) -> None:
    """Refuse pickles, an index that lists what is not there, and files that are no whole safetensors."""
    files = weight_files(folder)
    if files and files[0].name.startswith("pytorch_model.bin"):
        pattern = "pytorch_model-*.bin" if files[0].suffix == ".json" else files[0].name
        raise InputError(f"{files[0]}: a pickle, which is never opened; {to_safetensors(folder, pattern)}.")
    for file in files[files[0].suffix == ".json" :] if files else []:
        if file.suffix != ".safetensors" or file.parent != folder:
            raise InputError(
                f"{files[0]}: lists {file}, and only safetensors of its folder are read; copy the model's."
            )
        if not file.is_file():
            raise InputError(f"{file}: listed in {files[0].name} and not there; copy it too.")
        try:
            with safe_open(file, "pt"):
                pass
        except (SafetensorError, OSError) as error:
            why = reason(error) if os.access(file, os.R_OK) else "no permission to read it"
            raise InputError(
                f"{file}: not whole ({why}); copy it again. A file of some hundred bytes is a pointer of Git LFS."
            ) from None


def weight_files(folder: Path) -> list[Path]:
    """The file that transformers reads; of several parts the index first. Empty if the folder has none."""
    file = next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), None)
    if file is None or file.suffix != ".json":
        return [file] if file else []
    parts = read_json(file).get("weight_map")
    if not isinstance(parts, dict) or not parts or not all(isinstance(part, str) for part in parts.values()):
        raise InputError(f"{file}: lists no weights; copy it from the published model again.")
    return [file, *(folder / part for part in sorted(set(parts.values())))]


def _opened(folder: Path) -> Iterator[safe_open]:
    """The safetensors of the folder, one after the other."""
    for file in weight_files(folder):
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as weights:
                yield weights


def stored_names(folder: Path) -> list[str]:
    """The names of the tensors that the files hold."""
    return [name for weights in _opened(folder) for name in weights.keys()]


def stored_rows(folder: Path, wanted: Collection[str]) -> dict[str, int]:
    """The rows of those of the `wanted` tensors that the files hold."""
    return {
        name: weights.get_slice(name).get_shape()[0]
        for weights in _opened(folder)
        for name in weights.keys()
        if name in wanted
    }


def stored_tensors(folder: Path, wanted: Collection[str]) -> dict[str, Tensor]:
    """The `wanted` tensors that the files hold, in the precision of the file.

    transformers 4 ties tables while it reads them, so its model does not show whether the file had two.
    """
    return {name: weights.get_tensor(name) for weights in _opened(folder) for name in weights.keys() if name in wanted}
