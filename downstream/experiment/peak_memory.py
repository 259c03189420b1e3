"""The most memory that a piece of work took."""

from pathlib import Path

import torch

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def reset_peak() -> None:
    """Count from now on, where the system can."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        CLEAR.write_text("5")
    except OSError:
        pass  # the peak is then that of the process so far


def peak(device: str) -> int:
    """Bytes: of the GPU where that is the device, otherwise of the process."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
