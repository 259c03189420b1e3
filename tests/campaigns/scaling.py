"""What a second process brings, what the exchange of gradients and a checkpoint cost, and a model of many GPUs.

    python tests/campaigns/scaling.py measure DATA_BIN --output DIR
    python tests/campaigns/scaling.py model

`measure` trains on one core, on two cores with one process each, and, to tell the exchange from what two cores take
from each other (memory, clock), twice on one core at the same time, without a word between the two; each at several
batches a process. Then it times the exchange alone, and a checkpoint. `model` prints the table of the results page.
An idle machine with two cores is needed; every run is pinned (taskset), with one thread. Prints JSON.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# 6 layers of 256: 8 M parameters with a vocabulary of 3,000 and 32 MB of gradients, so that exchange is no trifle here.
ENCODER = "--arch alibert_small --encoder-layers 6 --tokens-per-sample 128 --dropout 0.1".split()
BATCHES = {512: 4, 2048: 16, 8192: 64}  # tokens a process and update: sequences of 128
UPDATES, WARM = {512: 60, 2048: 30, 8192: 12}, 3  # of which the first are not counted
GLOO = "--cpu --distributed-backend gloo --ddp-backend legacy_ddp".split()
EXCHANGE = """
import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo"); torch.set_num_threads(1)
gradient = torch.randn(int(sys.argv[1])); times = []
for n in range(12):
    dist.barrier(); began = time.perf_counter(); dist.all_reduce(gradient); times.append(time.perf_counter() - began)
if dist.get_rank() == 0: print(sorted(times)[len(times) // 2])
dist.destroy_process_group()
"""


def start(core: int, command: list[str], **variables: str) -> subprocess.Popen:
    """A process pinned to a core."""
    own = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)} | variables
    pinned = ["taskset", "--cpu-list", str(core), *command]
    return subprocess.Popen(pinned, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def together(commands: list[list[str]], world_size: int) -> list[str]:
    """What each prints, on a core of its own; the processes of one training if `world_size` is above 1."""
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29617", "WORLD_SIZE": str(world_size)}
    running = [
        start(core, command, **(meeting | {"RANK": str(core), "LOCAL_RANK": str(core)} if world_size > 1 else {}))
        for core, command in enumerate(commands)
    ]
    said = [process.communicate()[0] for process in running]
    for process, text in zip(running, said, strict=True):
        assert process.returncode == 0, text[-3000:]
    return said


def train(data_bin: Path, save: Path, tokens: int, *more: str) -> list[str]:
    """A training of some updates of so many tokens a process."""
    command = ["fairseq-train", str(data_bin), "--save-dir", str(save), "--user-dir", str(ROOT / "alibert_fairseq")]
    command += "--task alibert_mlm --criterion alibert_mlm --optimizer alibert_adam --lr 1e-3 --seed 1".split()
    command += [*ENCODER, "--batch-size", str(BATCHES[tokens]), "--max-update", str(UPDATES[tokens]), *GLOO]
    command += "--disable-validation --no-epoch-checkpoints --num-workers 0 --log-interval 1000".split()
    return [*command, *more]


def rate(save: Path) -> float:
    """Tokens a second after the warm-up, by the times at which metrics.jsonl grew."""
    times, tokens = [], []
    for line in (save / "metrics.jsonl").read_text().splitlines():
        found = json.loads(line)
        times.append(found["seconds"])
        tokens.append(found["tokens"])
    return sum(tokens[WARM:]) / (times[-1] - times[WARM - 1])


def throughputs(data_bin: Path, output: Path, repeats: int) -> list[dict]:
    """Medians over the repeats, the three ways in turn."""
    rows = []
    for tokens in BATCHES:
        found: dict[str, list[float]] = {"one": [], "two": [], "two_apart": []}
        for repeat in range(repeats):
            saves = {name: output / f"{tokens}-{repeat}-{name}" for name in ("one", "two", "apart0", "apart1")}
            together([train(data_bin, saves["one"], tokens)], 1)
            together([train(data_bin, saves["two"], tokens)] * 2, 2)
            together([train(data_bin, saves[name], tokens) for name in ("apart0", "apart1")], 1)
            found["one"].append(rate(saves["one"]))
            found["two"].append(rate(saves["two"]))
            found["two_apart"].append(rate(saves["apart0"]) + rate(saves["apart1"]))
        one, two, apart = (statistics.median(found[name]) for name in found)
        rows.append({"tokens_a_process": tokens, "one": round(one), "two": round(two), "two_apart": round(apart)})
        rows[-1] |= {"two_to_one": round(two / one, 2), "apart_to_one": round(apart / one, 2)}
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def exchange(parameters: int) -> float:
    """Seconds of one all-reduce of the gradients between two processes, the median of 12."""
    command = [sys.executable, "-c", EXCHANGE, str(parameters)]
    return float(together([command, command], 2)[0].split()[-1])


def checkpoint(data_bin: Path, output: Path) -> dict:
    """Seconds to save one, written whole and digested, and its size; the disk has to have it when this ends."""
    said = together([train(data_bin, output / "saving", 512, "--save-interval-updates", "5")], 1)[0]
    seconds = [float(found) for found in re.findall(r"writing took ([\d.]+) seconds", said)]
    size = (output / "saving" / "checkpoint_last.pt").stat().st_size
    return {"saves": len(seconds), "seconds": round(statistics.median(seconds), 3), "megabytes": round(size / 1e6, 1)}


def measure(options: argparse.Namespace) -> dict:
    """All of it."""
    options.output.mkdir(parents=True)
    rows = throughputs(options.data_bin, options.output, options.repeats)
    saved = checkpoint(options.data_bin, options.output)
    log = together([train(options.data_bin, options.output / "size", 512, "--max-update", "1")], 1)[0]
    parameters = int(re.search(r"num\. shared model params: ([\d,]+)", log)[1].replace(",", ""))
    return {"parameters": parameters, "throughput": rows, "exchange_seconds": exchange(parameters), "checkpoint": saved}


class Cluster:
    """Nodes of GPUs, and what was published of them: sustained TFLOP/s of a GPU, GB/s of NCCL's all-reduce (bus
    bandwidth), seconds of an empty one. docs/results/scaling.md has the sources."""

    def __init__(self, name: str, gpus: int, teraflops: float, bandwidth: float, latency: float):
        self.name, self.gpus, self.flops = name, gpus, teraflops * 1e12
        self.bandwidth, self.latency = bandwidth * 1e9, latency

    def update(self, flop: float, gradient_bytes: float) -> tuple[float, float]:
        """(seconds of computing, seconds of exchange) of an update in which each GPU does so many operations."""
        factor = 2 * (self.gpus - 1) / self.gpus  # NCCL's bus bandwidth is that of a ring
        return flop / self.flops, factor * gradient_bytes / self.bandwidth + self.latency


CLUSTERS = [
    Cluster("12 x 4 V100, 1 x 100 Gb/s a node", 48, 50, 12.2, 0.6e-3),
    Cluster("12 x 4 V100, 4 x 100 Gb/s a node", 48, 50, 48, 0.6e-3),
    Cluster("6 x 8 A100, 4 x 200 Gb/s a node", 48, 100, 85, 0.6e-3),
    Cluster("6 x 8 H100, 8 x 400 Gb/s a node", 48, 250, 230, 0.6e-3),
    Cluster("128 x 8 A100, 4 x 200 Gb/s a node", 1024, 100, 85, 1e-3),
    Cluster("128 x 8 H100, 8 x 400 Gb/s a node", 1024, 250, 230, 1e-3),
]
BASE_PARAMETERS = 117e6  # alibert_base with 40,000 pieces
FLOP_A_SEQUENCE = 0.27e12  # of 512 tokens: launch --dry-run counts 5.22 TFLOP for 20, and the vocabulary's head 0.3
LOADS = [(20, 1), (20, 4), (4, 1)]  # sequences a GPU, --update-freq


def model() -> str:
    """The table: each cluster with each load."""
    lines = ["| cluster | sequences a GPU x --update-freq | an update | computing | exchange | efficiency |"]
    lines.append("|---|---|---|---|---|---|")
    for cluster in CLUSTERS:
        for batch, freq in LOADS:
            computing, exchanging = cluster.update(batch * freq * FLOP_A_SEQUENCE, 4 * BASE_PARAMETERS)
            share = computing / (computing + exchanging)
            whole = f"{cluster.gpus * batch * freq:,} sequences"
            load = f"{batch} x {freq}"
            times = f"{1000 * computing:.0f} ms | {1000 * exchanging:.0f} ms"
            lines.append(f"| {cluster.name} | {load} | {whole} | {times} | {100 * share:.0f} % |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    measuring = kinds.add_parser("measure")
    measuring.add_argument("data_bin", type=Path, metavar="DATA_BIN")
    measuring.add_argument("--output", type=Path, required=True, help="a folder that is not there yet")
    measuring.add_argument("--repeats", type=int, default=3, help="of each, in turn (3)")
    kinds.add_parser("model")
    options = parser.parse_args()
    if options.kind == "model":
        print(model())
        return
    began = time.time()
    found = measure(options)
    print(json.dumps(found | {"seconds": round(time.time() - began)}, indent=2))


if __name__ == "__main__":
    main()
