"""The options of `lineage` and `retrain`. Nothing slow is imported here, so that `--help` is quick."""

import argparse
from pathlib import Path

from alibert_common.cli import command_parser

LINEAGE = """Find the update of a training that first saw a document, or a patient, and the last checkpoint before it.

    alibert lineage checkpoints --document letter-17 --patient 0042

The order of the data is computed again from the data-bin and the configuration in the checkpoint. It is compared with
the number of tokens that metrics.jsonl has noted for each update."""
RETRAIN = """Train again without some documents, from the last checkpoint that has seen none of them.

    alibert retrain checkpoints --without ids.txt --output again

The output holds the data-bin without the documents, and the checkpoints of the new training. The new training equals,
bit for bit, one that never had the documents: padding stands at their places in its data-bin from the first update on.
Their number and length still show in the order of the data. The tokenizer stays as it is."""

KEY = "key of `alibert pseudonymise`, for patients as they were named before it (default: as in the data-bin)"


def lineage_parser() -> argparse.ArgumentParser:
    """The options of `lineage`."""
    parser = command_parser("alibert_fairseq.lineage.find", LINEAGE)
    add = parser.add_argument
    add("checkpoints", type=Path, metavar="SAVE_DIR", help="checkpoints and metrics.jsonl of your own training")
    add("--document", action="append", default=[], metavar="ID", help="id of a document; repeatable")
    add("--patient", action="append", default=[], metavar="ID", help="patient as ingest named it; repeatable")
    add("--key", type=Path, metavar="FILE", help=KEY)
    add("--data", help="place of the data-bin (default: the one in the checkpoint)")
    add("--json", action="store_true", help="JSON, one line for each name (default: sentences)")
    return parser


def retrain_parser() -> argparse.ArgumentParser:
    """The options of `retrain`."""
    parser = command_parser("alibert_fairseq.lineage.retrain", RETRAIN)
    add = parser.add_argument
    add("checkpoints", type=Path, metavar="SAVE_DIR", help="checkpoints and metrics.jsonl of your own training")
    add("--without", type=Path, metavar="FILE", help="ids of documents, one a line")
    add("--without-patients", type=Path, metavar="FILE", help="patients as ingest named them, one a line")
    add("--key", type=Path, metavar="FILE", help=KEY)
    add("--output", type=Path, required=True, help="the directory to write")
    add("--data", help="place of the data-bin (default: the one in the checkpoint)")
    add("--prepare", action="store_true", help="data and checkpoint only, for a launch elsewhere (default: train here)")
    return parser
