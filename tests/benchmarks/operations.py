"""Where the time of a training step goes, by operation, on one core.

    python tests/benchmarks/operations.py [--size 6x384] [--body bert] [--objective mlm] [--rows 20] [--shapes]

It trains as training_step.py does, in this process: some updates by the clock, then as many in which each operation of
PyTorch is timed by itself. `between operations` is what is left of the clock's time: Python. torch's own profiler is
not used, because what it writes down keeps the allocator from using memory again, and page faults then take a quarter
of the time.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from interleaved import ROOT, pinned
from training_step import SIZES, WARM, make_text, options_of

UPDATES = {"6x384": 4, "4x128": 16}  # by the clock, and as many under the timer


def table(arguments: list[str], name: str, rows: int, shapes: bool) -> str:
    """Train in this process; a table in Markdown."""
    import torch
    from fairseq.trainer import Trainer
    from fairseq_cli.train import cli_main
    from torch.utils._python_dispatch import TorchDispatchMode

    spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
    seconds: list[float] = []
    step, active = Trainer.train_step, UPDATES[name]

    class Timer(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            key = str(function).removeprefix("aten.").removesuffix(".default")
            if shapes:
                key += f" {[tuple(one.shape) for one in args if isinstance(one, torch.Tensor)]}"
            began = time.perf_counter()
            found = function(*args, **(kwargs or {}))
            entry = spent[key]
            entry[0] += time.perf_counter() - began
            entry[1] += 1
            return found

    def train_step(trainer, *args, **options):
        if len(seconds) >= WARM[name] + active:
            with Timer():
                return step(trainer, *args, **options)
        began = time.perf_counter()
        found = step(trainer, *args, **options)
        seconds.append(time.perf_counter() - began)
        return found

    torch.set_num_threads(1)
    Trainer.train_step = train_step
    sys.argv = ["fairseq-train", *arguments, "--max-update", str(WARM[name] + 2 * active)]
    cli_main()
    whole = 1e3 * statistics.median(seconds[WARM[name] :])
    found = {key: (1e3 * time / active, count / active) for key, (time, count) in spent.items()}
    found["between operations"] = (whole - sum(time for time, _ in found.values()), 0)
    lines = [f"| operation | ms of {whole:.0f} | calls |", "|---|---|---|"]
    for key, (milliseconds, calls) in sorted(found.items(), key=lambda item: -item[1][0])[:rows]:
        lines.append(f"| {key} | {milliseconds:.1f} ({milliseconds / whole:.0%}) | {calls:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """The command line. The measuring process is a second one, pinned to a core."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="6x384", help="size of the encoder (default: 6x384)")
    parser.add_argument(
        "--body", choices=["bert", "modern"], default="bert", help="body of the encoder (default: bert)"
    )
    parser.add_argument("--objective", choices=["mlm", "electra"], default="mlm", help="objective (default: mlm)")
    parser.add_argument("--rows", type=int, default=20, help="number of operations to show (default: 20)")
    parser.add_argument("--shapes", action="store_true", help="a row for each shape of the operands (default: off)")
    parser.add_argument("--core", default="0", help="core of the process (default: 0)")
    options = parser.parse_args()
    if os.environ.get("BENCHMARK_PINNED"):
        with tempfile.TemporaryDirectory() as folder:
            text = make_text(Path(folder, "text"), SIZES[options.size]["vocabulary"])
            os.chdir(folder)
            arguments = options_of(text, options.size, options.objective, options.body == "modern")
            print("\n" + table(list(map(str, arguments)), options.size, options.rows, options.shapes))
        return
    process = pinned([sys.executable, *sys.argv], options.core, ROOT, BENCHMARK_PINNED="1")
    said = process.communicate()[0]
    print(said[said.rfind("\n| operation") + 1 :] if not process.returncode else said[-3000:])
    sys.exit(process.returncode)


if __name__ == "__main__":
    main()
