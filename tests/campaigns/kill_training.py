"""Does a training that is killed at some moments, and started again each time, end bit by bit as one in peace?

    python tests/campaigns/kill_training.py DATA_BIN --output killed [--kills 50] [--seed 1] [--objective mlm ...]

For masked language modelling with Adam, replaced token detection with LAMB and the modern form with Muon, with 0 and
with 2 data loader workers, a small model is trained over three epochs in peace. Elsewhere the same training is killed
up to five times, started again with the same command after each, left to end, and compared (helpers/same_training.py);
and so on, until each objective has met so many kills. A kill is SIGKILL to the training and its workers, at a moment
that is drawn:

    update   some time after some update, up to what an update takes
    bytes    with some of a checkpoint's bytes written
    names    before some file of a save is linked, renamed or removed, or the names are flushed
    again    in the start after a kill, at any time of it, or before one of its files is opened or renamed

For `bytes` and `names` the training stops before the call, as at a debugger's breakpoint (training_child.py), and for
`bytes` it goes on in steps of half a millisecond. Whether a kill fell into a save is seen in the folder afterwards:
a file without its last name, a checkpoint that is not yet checkpoint_last.pt, one too many. Prints a line a kill, and
JSON; exits with 1 for a difference.
"""

import argparse
import json
import random
import shutil
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch

import alibert_fairseq

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from killing import KEPT, KINDS, Peace, Training, in_peace, signs_of_a_save
from same_training import differences
from training_child import updates_in

PLUGIN = Path(alibert_fairseq.__file__).parent
OBJECTIVES = {
    "mlm": "--task alibert_mlm --criterion alibert_mlm --arch alibert_tiny --optimizer alibert_adam --clip-norm 1.0",
    "electra": "--task electra --criterion electra --arch electra_tiny --optimizer lamb",
    "modern": "--task alibert_mlm --criterion alibert_mlm --arch alibert_modern_tiny --optimizer muon --clip-norm 1.0 "
    "--dropout 0.1 --mask-prob 0.3 --mask-prob-end 0.15 --length-schedule 0.2:32 --max-update 200",
}
OBJECTIVES["compiled"] = f"{OBJECTIVES['mlm']} --compile"  # each start compiles, some 20 seconds with torch's cache
OPTIONS = f"""--encoder-layers 2 --encoder-embed-dim 64 --encoder-ffn-embed-dim 128 --encoder-attention-heads 2
    --embedding-dim 64 --tokens-per-sample 64 --max-positions 64 --batch-size 32 --lr 0.005 --seed 7 --max-epoch 3
    --lr-scheduler polynomial_decay --warmup-updates 10 --total-num-update 200 --log-format simple --log-interval 10
    --no-epoch-checkpoints --save-interval-updates 4 --keep-interval-updates {KEPT}"""  # dropout is on
WORKERS = {0: "--num-workers 0", 2: "--num-workers 2"}
PEACE: dict[Path, Peace] = {}  # what was trained in peace, by folder
KILLS_OF_RUN = ["update", "update", "bytes", "names", "again"]  # in some order


@dataclass
class Found:
    """What came of all runs of an objective."""

    kills: int = 0
    in_save: int = 0
    twice_in_a_row: int = 0
    kinds: Counter = field(default_factory=Counter)
    epochs: Counter = field(default_factory=Counter)
    workers: Counter = field(default_factory=Counter)
    runs: int = 0
    equal_runs: int = 0
    updates_done_again: int = 0
    differences: list[str] = field(default_factory=list)


def kinds_of_run(kills: int, draw: random.Random) -> list[str]:
    """So many, in a drawn order; nothing goes on before the first."""
    kinds = draw.sample(KILLS_OF_RUN, len(KILLS_OF_RUN))
    return kinds[:kills] if kinds[0] != "again" else kinds_of_run(kills, draw)


def kill(kind: str, due: int, training: Training, peace: Peace, draw: random.Random) -> dict | None:
    """Start, and kill at the next moment of the kind after `due` updates: what was seen. None if it had ended."""
    resumed, before = training.saved(), signs_of_a_save(training.folder)
    child = KINDS[kind](training, max(due, resumed + 1), peace, draw)
    if not child.kill():
        training.end(child)
        return None
    done = updates_in(training.folder)
    signs = signs_of_a_save(training.folder)
    return {
        "update": done,
        "epoch": peace.epochs[min(done, len(peace.epochs) - 1)],  # of the update it was at
        "made": done - resumed if training.has_made(child, 0) else 0,
        "in_save": [words for key, words in signs.items() if key not in before],
    }


def one_run(name: str, workers: int, training: Training, peace: Peace, found: Found, kills: int, draw) -> None:
    """Kill up to so many times, let it end, compare."""
    shutil.rmtree(training.folder, ignore_errors=True)
    dues, made = sorted(draw.randrange(len(peace.epochs)) for _ in range(kills)), 0
    for number, (kind, due) in enumerate(zip(kinds_of_run(kills, draw), dues, strict=True)):
        seen = kill(kind, due, training, peace, draw)
        if seen is None:
            break
        again = number > 0 and seen["made"] == 0
        signs = f", in a save: {', '.join(seen['in_save'])}" if seen["in_save"] else ""
        after = f"after update {seen['update']}, {seen['made']} since the start{' again' * again}"
        print(f"{name}, kill {number + 1}, {kind}: {after}{signs}", flush=True)
        found.kills, made = found.kills + 1, made + seen["made"]
        found.in_save, found.twice_in_a_row = found.in_save + bool(seen["in_save"]), found.twice_in_a_row + again
        for counter, key in ((found.kinds, kind), (found.epochs, seen["epoch"]), (found.workers, workers)):
            counter[key] += 1
    found.updates_done_again += made - training.saved()
    training.end(training.start())
    unequal = differences(training.folder, peace.folder)
    found.runs, found.equal_runs = found.runs + 1, found.equal_runs + (not unequal)
    found.differences += [f"{name}: {what}" for what in unequal]
    print(f"{name}: {'; '.join(unequal[:5]) or 'the same'}", flush=True)


def campaign(data_bin: Path, output: Path, kills: int, seed: int, objectives: list[str]) -> dict[str, Found]:
    """What came of each objective."""
    everything = {}
    for first, (objective, words) in enumerate(OBJECTIVES.items()):
        if objective not in objectives:
            continue
        found = everything[objective] = Found()
        while found.kills < kills:
            workers = list(WORKERS)[(first + found.runs) % len(WORKERS)]
            options = f"{words} {OPTIONS} {WORKERS[workers]}".split()
            command = [str(data_bin.absolute()), "--user-dir", str(PLUGIN), *options]
            place, name = (
                (output / f"{objective}-{workers}").absolute(),
                f"{objective}, {workers} workers, run {found.runs + 1}",
            )
            if place not in PEACE:
                shutil.rmtree(place, ignore_errors=True)
                PEACE[place] = in_peace(Training(command, place))
            training = Training(command, place.with_name(f"{place.name}-run{found.runs + 1}"))
            draw = random.Random(f"{seed}/{objective}/{found.runs}")
            one_run(name, workers, training, PEACE[place], found, min(len(KILLS_OF_RUN), kills - found.kills), draw)
    return everything


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_bin", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="a folder for all runs")
    parser.add_argument("--kills", type=int, default=50, help="of each objective")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--objective", nargs="+", choices=OBJECTIVES, default=["mlm", "electra", "modern"],
                        help="(default: %(default)s)")  # fmt: skip
    options = parser.parse_args()
    torch.set_num_threads(1)  # sums in one order, here and in what is forked from here
    everything = campaign(options.data_bin, options.output, options.kills, options.seed, options.objective)
    print(json.dumps({objective: vars(found) for objective, found in everything.items()}, indent=2))
    return int(any(found.differences for found in everything.values()))


if __name__ == "__main__":
    sys.exit(main())
