"""The options of `audit`. Nothing slow is imported here, so that `--help` is quick."""

import argparse
from pathlib import Path

from alibert_common.cli import at_least, command_parser

AUDIT = """Measure what can be extracted from a pretrained model: canaries, membership, masked names, subwords.

    alibert audit checkpoints --output audit

The first call trains the reference model, with the recipe of the run on half of its patients. `--prepare` writes its
data only, for a training elsewhere. The output holds audit.json and the page in English and in French. If interrupted,
run the same command to resume."""
DOCUMENTS = 2000  # on each side: the interval of an AUC of 0.5 is then 0.04 wide


def audit_parser() -> argparse.ArgumentParser:
    """The options of `audit`."""
    parser = command_parser("alibert_fairseq.audit.command", AUDIT)
    add = parser.add_argument
    add("checkpoints", type=Path, metavar="SAVE_DIR", help="checkpoints and metrics.jsonl of your own training")
    add("--output", type=Path, required=True, help="the directory to write")
    add("--reference", type=Path, help="the directory of the reference model (default: OUTPUT-reference)")
    add("--data", help="place of the data-bin (default: the one in the checkpoint)")
    most = f"largest number of documents to test on each side (default: {DOCUMENTS:,})"
    add("--documents", type=at_least(1), default=DOCUMENTS, metavar="N", help=most)
    add("--seed", type=at_least(0), default=1, help="random seed of what is drawn (default: 1)")
    add(
        "--prepare",
        action="store_true",
        help="data of the reference only, for a launch elsewhere (default: train here)",
    )
    return parser
