"""A training that goes on with two processes, then with one: is each sample seen once, and is the loss the same?

    python tests/campaigns/world_sizes.py DATA_BIN --output DIR

One process with --update-freq 2 trains two epochs. Elsewhere the same begins so, is stopped in the middle of the first
epoch, goes on with two processes and --update-freq 1, is stopped in the second epoch, and ends with one process again.
Every process notes which samples it has trained on in which update. Compared are these, the losses of every update
(metrics.jsonl), and the weights: without dropout, where only the order of sums differs, and with it, where two
processes draw other noise than one. Prints JSON; exits with 1 if a sample was missed or seen twice.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
OBJECTIVES = {
    "masked language modelling, Adam": "--task alibert_mlm --criterion alibert_mlm --arch alibert_tiny "
    "--optimizer alibert_adam --lr 0.002 --clip-norm 1.0",
    "replaced token detection, LAMB": "--task electra --criterion electra --arch electra_tiny "
    "--optimizer lamb --lr 0.01",
}
SHAPE = "--encoder-layers 2 --tokens-per-sample 64 --batch-size 4 --num-workers 0 --no-epoch-checkpoints --cpu"
SHAPE += " --distributed-backend gloo --ddp-backend legacy_ddp --disable-validation --log-interval 1000"


def child(notes: str, arguments: list[str]) -> None:
    """fairseq-train that notes the samples of each update in NOTES.<rank>."""
    from fairseq.trainer import Trainer
    from fairseq_cli import train

    original = Trainer.train_step

    def train_step(self, samples, *args, **options):
        update = self.get_num_updates() + 1
        found = original(self, samples, *args, **options)
        with open(f"{notes}.{self.data_parallel_rank}", "a") as handle:
            for sample in samples:
                print(update, *(sample["id"].tolist() if sample else []), file=handle)
        return found

    Trainer.train_step = train_step
    sys.argv = ["fairseq-train", *arguments]
    train.cli_main()


def train(data_bin: Path, save: Path, options: list[str], processes: int, until: int, port: int) -> None:
    """Go on to an update on so many processes, with two batches an update."""
    arguments = [str(data_bin), "--save-dir", str(save), "--user-dir", str(ROOT / "alibert_fairseq"), *options]
    arguments += ["--update-freq", str(2 // processes), "--max-update", str(until), "--seed", "1"]
    command = [sys.executable, __file__, "--child", str(save / "samples"), *arguments]
    save.mkdir(parents=True, exist_ok=True)
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(processes)}
    running = []
    for rank in range(processes):
        own = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
        own |= meeting | {"RANK": str(rank), "LOCAL_RANK": str(rank)} if processes > 1 else {}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        running.append(subprocess.Popen(command, env=own, **streams))
    said = [process.communicate()[0] for process in running]
    assert not any(process.returncode for process in running), said[0][-3000:]


def samples(save: Path) -> dict[int, Counter]:
    """{update: how often each sample was trained on in it}, on all processes."""
    found: dict[int, Counter] = {}
    for path in sorted(save.glob("samples.*")):
        for line in path.read_text().splitlines():
            update, *numbers = map(int, line.split())
            found.setdefault(update, Counter()).update(numbers)
    return found


def metrics(save: Path) -> list[dict]:
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (save / "metrics.jsonl").read_text().splitlines()]


def weights(save: Path) -> dict[str, torch.Tensor]:
    """Of the last checkpoint."""
    return torch.load(save / "checkpoint_last.pt", weights_only=False)["model"]  # made here a moment ago


def largest_difference(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> float:
    """Of any weight."""
    return max(float((left[name] - right[name]).abs().max()) for name in left if left[name].is_floating_point())


def compare(whole: Path, parts: Path, dropout: float) -> dict:
    """What is in the results page."""
    ours, theirs = metrics(parts), metrics(whole)
    seen, expected = samples(parts), samples(whole)
    epochs = Counter(line["epoch"] for line in theirs)
    of_an_epoch, once = Counter(set().union(*expected.values())), []
    for epoch in epochs:
        updates = [line["update"] for line in ours if line["epoch"] == epoch]
        total = sum((seen[update] for update in updates), Counter())
        once.append(total == of_an_epoch)
    losses = [abs(a["loss"] - b["loss"]) for a, b in zip(ours, theirs, strict=True)]
    return {
        "dropout": dropout,
        "processes": sorted({(line["epoch"], line["processes"]) for line in ours}),
        "updates": len(ours),
        "samples_an_epoch": sum(len(seen[line["update"]]) for line in ours if line["epoch"] == 1),
        "each_sample_once_in_each_epoch": all(once),
        "the_same_samples_in_every_update": seen == expected,
        "largest_difference_of_losses": max(losses),
        "mean_difference_of_losses": sum(losses) / len(losses),
        "mean_loss": sum(line["loss"] for line in theirs) / len(theirs),
        "largest_difference_of_weights": largest_difference(weights(parts), weights(whole)),
    }


def updates_an_epoch(data_bin: Path, output: Path, options: list[str]) -> int:
    """Of an epoch with two batches each."""
    train(data_bin, output, [*options, "--max-epoch", "1"], 1, 10**6, 29671)
    return len(metrics(output))


def campaign(data_bin: Path, output: Path) -> dict:
    """Both objectives, with and without dropout."""
    found = {}
    for number, (name, objective) in enumerate(OBJECTIVES.items()):
        options = [*objective.split(), *SHAPE.split()]
        length = updates_an_epoch(data_bin, output / f"{number}-epoch", [*options, "--dropout", "0"])
        stops = [length // 2, length + length // 3, 2 * length]
        for dropout in (0.0, 0.1):
            noise = ["--dropout", str(dropout), "--attention-dropout", str(dropout)]
            whole, parts = output / f"{number}-{dropout}-whole", output / f"{number}-{dropout}-parts"
            train(data_bin, whole, [*options, *noise], 1, stops[-1], 29671)
            for port, (processes, until) in enumerate(zip((1, 2, 1), stops, strict=True), 29672):
                train(data_bin, parts, [*options, *noise], processes, until, port)
            found[f"{name}, dropout {dropout}"] = compare(whole, parts, dropout)
            print(name, found[f"{name}, dropout {dropout}"], file=sys.stderr, flush=True)
    return found


def main() -> int:
    """The command line."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_bin", type=Path, metavar="DATA_BIN")
    parser.add_argument("--output", type=Path, required=True, help="a folder that is not there yet")
    options = parser.parse_args()
    options.output.mkdir(parents=True)
    found = campaign(options.data_bin, options.output)
    print(json.dumps(found, indent=2))
    return int(not all(each["each_sample_once_in_each_epoch"] for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
