"""Tokens a second that one process loads: reading, packing, masking and collating batches, without a model.

    python tests/benchmarks/loader.py DATA_BIN --output FILE.json [--runs 5] [--core 0]

Batches have 16 rows of at most 256 tokens. Tokens of padding are not counted. Each measurement is a process of one
thread that is pinned to a core, and the median of the runs counts. An idle machine is needed.
"""

import argparse
import sys
import time
from pathlib import Path

from interleaved import in_turn, machine, medians, pinned, write
from training_step import options_of

SECONDS, WARM = 4.0, 10  # the first batches are not counted
PADDED = ["--sample-break-mode", "complete_doc"]  # a row never holds two documents
PACKED = [*PADDED, "--pack-sequences"]
WORDS = ["--mask-unit", "word"]
# {case: (objective, modern body, other options)}
CASES = {
    "mlm, blocks": ("mlm", False, []),
    "mlm, padded": ("mlm", False, PADDED),
    "mlm, modern body, blocks": ("mlm", True, []),
    "mlm, modern body, padded": ("mlm", True, PADDED),
    "mlm, modern body, packed": ("mlm", True, PACKED),
    "mlm, whole words": ("mlm", False, WORDS),
    "mlm, spans": ("mlm", False, ["--mask-unit", "span"]),
    "mlm, modern body, packed, whole words": ("mlm", True, [*PACKED, *WORDS]),
    "electra, blocks": ("electra", False, []),
    "electra, padded": ("electra", False, PADDED),
    "pairs, order of sentences": ("pairs", False, ["--sentence-objective", "sop"]),
}


def rate(arguments: list[str]) -> float:
    """Load batches for some seconds in this process; tokens a second."""
    import torch
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    torch.set_num_threads(1)
    parser = options.get_training_parser()
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, arguments))
    task = tasks.setup_task(cfg.task)
    task.load_dataset("train")
    data = cfg.dataset
    batches = task.get_batch_iterator(
        task.dataset("train"), data.max_tokens, data.batch_size, num_workers=0, seed=1, data_buffer_size=0
    )
    update = tokens = 0
    while True:
        for batch in batches.next_epoch_itr(shuffle=True):
            batch = task.prepared(batch, update)
            update += 1
            if update == WARM:
                began = time.perf_counter()
            elif update > WARM:
                tokens += batch["ntokens"]
                if (spent := time.perf_counter() - began) > SECONDS:
                    return tokens / spent


def measured(data_bin: Path, case: str, core: str) -> float:
    """The rate of a case, in a process of its own."""
    process = pinned([sys.executable, __file__, data_bin, "--of", case], core)
    said = process.communicate()[0]
    if process.returncode:
        raise SystemExit(said[-3000:])
    return float(said.split()[-1])


def arguments_of(data_bin: Path, case: str) -> list[str]:
    """The options of fairseq-train that make the batches of a case."""
    objective, modern, others = CASES[case]
    arguments = list(map(str, options_of(data_bin, "4x128", objective, modern)))
    if objective == "pairs":
        renamed = {"alibert_mlm": "segment_pairs", "alibert_tiny": "segment_bert_base"}
        arguments = [renamed.get(one, one) for one in arguments]
    return [*arguments, *others]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_bin", type=Path, help="folder of preprocess.binarize")
    parser.add_argument("--output", type=Path, help="file of the results (default: standard output)")
    parser.add_argument("--runs", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--core", default="0", help="core of the processes (default: 0)")
    parser.add_argument("--of", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of:
        return print(rate(arguments_of(options.data_bin, options.of)))
    systems = {case: lambda case=case: measured(options.data_bin, case, options.core) for case in CASES}
    write({"machine": machine(), "tokens a second": medians(in_turn(systems, options.runs))}, options.output)


if __name__ == "__main__":
    main()
