"""`python recorded_training.py FILE OPTIONS...`: fairseq-train that notes the tokens of every update, masks undone.

FILE gets a line for each update: `{"update": 1, "tokens": [...]}`, of all batches that this process was given for it.
"""

import json
import sys

import torch
from fairseq_cli import train

import alibert_fairseq  # noqa: F401
from alibert_fairseq.trainer import AlibertTrainer

RECORD = sys.argv[1]
train_step = AlibertTrainer.train_step


def recorded(self, samples, *arguments, **options):
    pad = self.task.dictionary.pad()
    tokens = set[int]()
    for sample in filter(None, samples):
        text = torch.where(sample["target"].ne(pad), sample["target"], sample["net_input"]["src_tokens"])
        tokens |= set(text.flatten().tolist())
    found = train_step(self, samples, *arguments, **options)
    with open(RECORD, "a") as handle:
        print(json.dumps({"update": self.get_num_updates(), "tokens": sorted(tokens)}), file=handle)
    return found


AlibertTrainer.train_step = recorded
sys.argv = ["fairseq-train", *sys.argv[2:]]
train.cli_main()
