"""The files of a published folder's weights, and single tensors of them, as they were written.

transformers 4 ties tables while it reads them, so a model that it gives does not show whether the file had two. Nothing
is unpickled but by torch.load with weights_only.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

# In the order in which transformers takes the first that is there.
FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


def weight_files(folder: Path) -> list[Path]:
    """The file that transformers reads; of several parts the index first. Empty if the folder has none."""
    file = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if file is None or file.suffix != ".json":
        return [file] if file else []
    parts = json.loads(file.read_text(encoding="utf-8"))["weight_map"].values()
    return [file, *(folder / part for part in sorted(set(parts)))]


def stored_tensors(folder: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Those of `names` that the files hold, in the precision of the file."""
    names, found = set(names), {}
    for file in weight_files(folder):
        if file.suffix == ".safetensors":
            with safe_open(file, "pt") as weights:
                found |= {name: weights.get_tensor(name) for name in names & set(weights.keys())}
        elif file.suffix == ".bin":
            weights = torch.load(file, map_location="cpu", weights_only=True)
            found |= {name: weights[name] for name in names & weights.keys()}
    return found
