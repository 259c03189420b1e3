"""torchaudio beside a torch that it was not built for. fairseq asks for it, and only its speech models need it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairseq_compat.module_proxy import in_place_in


@contextmanager
def absent_if_it_cannot_be_loaded(module: Any) -> Iterator[None]:
    """After `torchaudio._extension.utils` ran: a library of another torch or another CUDA counts as not built.

    torchaudio loads `_torchaudio`, then `libtorchaudio`, and then compares the versions of CUDA.
    """
    yield

    @in_place_in(module)
    def _load_lib(original, lib: str) -> bool:
        try:
            loaded = original(lib)
            if lib == "_torchaudio" and loaded and original("libtorchaudio"):
                module._check_cuda_version()
            return loaded
        except (OSError, RuntimeError):
            return False
