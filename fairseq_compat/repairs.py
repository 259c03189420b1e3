"""The repairs as data: what happens without it, why, for which release, and what is done about it."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import NamedTuple

from fairseq_compat import command_line
from fairseq_compat.checkpoints import loading, master_weights, position, recovery, resuming, saving
from fairseq_compat.imports import antlr_typing, dataclass_defaults, hydra_plugins, numpy_names, torchaudio_library
from fairseq_compat.processes import data_workers, distributed, peer_failure, reader_threads

ALWAYS = (3, 0)


class Repair(NamedTuple):
    """One repair, written for one `release` of a distribution, or for any if that is empty.

    `modules` are module names; one that ends in `.*` stands for a package and all below it.
    `around(module)` is a context manager entered before the module's code runs and left after it.
    """

    what: str
    why: str
    distribution: str
    release: str
    python: tuple[int, int]
    modules: tuple[str, ...]
    around: Callable[[ModuleType], AbstractContextManager]

    def covers(self, name: str) -> bool:
        """Whether this repair concerns the module of that name."""
        return any(name == module.removesuffix(".*") or _is_below(name, module) for module in self.modules)

    def state(self) -> str:
        """`repaired`; or why not: `not installed`, `not needed` on this Python, `cannot repair` another release."""
        found = installed(self.distribution)
        if found is None:
            return "not installed"
        if sys.version_info[:2] < self.python:
            return "not needed"
        return "repaired" if self.release in ("", found) else "cannot repair"


class Limit(NamedTuple):
    """What is left as it is, and what to do instead."""

    what: str
    instead: str


def installed(distribution: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _is_below(name: str, module: str) -> bool:
    return module.endswith(".*") and name.startswith(module[:-1])


REPAIRS = [
    Repair(
        "import fairseq: mutable default CommonConfig is not allowed",
        "Python 3.11 refuses dataclass defaults without a hash",
        "fairseq",
        "0.12.2",
        (3, 11),
        ("fairseq.*",),
        dataclass_defaults.hashable_while_imported,
    ),
    Repair(
        "import hydra: mutable default OverrideDirname is not allowed",
        "Python 3.11 refuses dataclass defaults without a hash",
        "hydra-core",
        "1.0.7",
        (3, 11),
        ("hydra.*",),
        dataclass_defaults.hashable_while_imported,
    ),
    Repair(
        "hydra's plugin scan: 'FileFinder' object has no attribute 'find_module'",
        "Python 3.12 removed find_module from its finders",
        "hydra-core",
        "1.0.7",
        (3, 12),
        ("hydra.core.plugins",),
        hydra_plugins.find_by_spec,
    ),
    Repair(
        "import antlr4: No module named 'typing.io'",
        "Python 3.13 removed typing.io",
        "antlr4-python3-runtime",
        "4.8",
        (3, 13),
        ("antlr4.*", "hydra.grammar.*"),
        antlr_typing.typing_io_while_imported,
    ),
    Repair(
        "import transformers: OSError, Could not load this library: torchaudio/lib/_torchaudio.abi3.so",
        "fairseq asks for torchaudio, whose newest release may be of another torch",
        "torchaudio",
        "",
        ALWAYS,
        ("torchaudio._extension.utils",),
        torchaudio_library.absent_if_it_cannot_be_loaded,
    ),
    Repair(
        "loading a checkpoint: Unsupported global argparse.Namespace, or, before torch 2.6, any code in it is run",
        "fairseq calls torch.load without saying what a checkpoint may hold",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.checkpoint_utils",),
        loading.load_only_what_fairseq_saves,
    ),
    Repair(
        "a checkpoint that cannot be written: a traceback, and files half written under final names",
        "fairseq tries again on the same handle, and copies checkpoint_last.pt in place",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.checkpoint_utils",),
        saving.whole_or_refused,
    ),
    Repair(
        "resuming from a checkpoint that was damaged on the disk: a complaint about the architecture of the model",
        "fairseq cannot tell that it was, and knows no other",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.checkpoint_utils",),
        recovery.gone_on_with_the_one_before,
    ),
    Repair(
        "resuming in an epoch on another number of processes, or with another --batch-size: at the wrong place",
        "fairseq saves how many batches each process had, and neither how many processes there were nor which batches",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.data.iterators",),
        position.counted_for_all_processes,
    ),
    Repair(
        "resuming from a checkpoint of another tokenizer, model, optimizer or criterion: nothing, or a traceback",
        "fairseq saves the state of the task and never gives it back, and compares names by assertions",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.trainer",),
        resuming.the_task_has_its_say,
    ),
    Repair(
        "a finished training that is started again: one more update each time, written over its checkpoint",
        "fairseq compares with --max-update after an update only",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq_cli.train",),
        resuming.finished_is_finished,
    ),
    Repair(
        "resuming with two processes: Unsupported global fairseq.distributed.utils._TensorPlaceholder",
        "fairseq sends the checkpoint from rank to rank as a pickle, which torch 2.6 no longer opens by default",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.distributed.utils",),
        loading.open_what_a_rank_sent,
    ),
    Repair(
        "resuming --bf16 or --fp16: the master weights come back rounded",
        "fairseq saves only the half-precision copy of them",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.optim.fp16_optimizer",),
        master_weights.saved_and_restored,
    ),
    Repair(
        "--bf16: 'NoneType' object has no attribute 'xla_device'; --fp16 --cpu: a failed assertion about CUDA",
        "fairseq takes bf16 for a sign of a TPU",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.options",),
        command_line.bf16_without_tpu,
    ),
    Repair(
        "--sample-break-mode eos and others: module 'numpy' has no attribute 'compat', 'int' or 'float'",
        "numpy 1.24 and 2.0 removed these names",
        "fairseq",
        "0.12.2",
        ALWAYS,
        (
            "fairseq.data.data_utils",
            "fairseq.data.token_block_dataset",
            "fairseq.data.language_pair_dataset",
            "fairseq.modules.dynamic_crf_layer",
        ),
        numpy_names.with_removed_names,
    ),
    Repair(
        "a process that Slurm shows its own GPU alone: invalid device ordinal",
        "fairseq takes the GPU with the number of the process on its node",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.distributed.utils",),
        distributed.gpus_that_are_seen,
    ),
    Repair(
        "--ddp-backend pytorch_ddp --cpu: device_ids of a module on the CPU",
        "fairseq names a GPU whether or not the model is on one",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.models.distributed_fairseq_model",),
        distributed.device_ids_only_on_gpu,
    ),
    Repair(
        "several processes of which one fails, or on a port that is in use: the others wait without an end",
        "torch asks whoever listens where they meet, and waits at the store and for nccl",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.distributed.utils",),
        peer_failure.not_waited_for,
    ),
    Repair(
        "--update-freq with several processes: too large a gradient in the last update of an epoch",
        "fairseq leaves a process out of the number of samples when the last of its batches is empty",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.trainer",),
        distributed.batches_count_beside_an_empty_one,
    ),
    Repair(
        "the end of a training: terminate called without an active exception; of a validation: five seconds a worker",
        "fairseq's reading thread is inside torch when the interpreter ends, and asks for no batch too many",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.data.iterators",),
        reader_threads.stopped_before_the_interpreter,
    ),
    Repair(
        "SIGTERM to all processes of a job, as Slurm's: the data loader's workers die, and the training with them",
        "torch's workers end on a SIGTERM of anybody, before a training that is asked to stop can save a checkpoint",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.data.iterators",),
        data_workers.outliving_a_signal_to_all,
    ),
    Repair(
        "a refused option or checkpoint, a killed worker, a process that is gone: tracebacks",
        "fairseq's commands catch nothing",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq_cli.*",),
        command_line.refusals_in_one_sentence,
    ),
    Repair(
        "fairseq-train without torchrun on several GPUs, of which one process is refused or fails: tracebacks",
        "torch hands on what a process that fairseq has started raises as the text of a traceback",
        "fairseq",
        "0.12.2",
        ALWAYS,
        ("fairseq.distributed.utils",),
        command_line.refusals_of_spawned_processes,
    ),
]

LIMITS = [
    Limit(
        "fairseq-hydra-train knows no task, model or criterion of a --user-dir",
        "it composes its configuration before it reads --user-dir; use fairseq-train",
    ),
    Limit(
        "stock RoBERTa layers save eight unused copies of their weights that go stale after a resume",
        "leave in_proj_*, out_proj_*, fc1_* and fc2_* beside the layer out of comparisons",
    ),
    Limit(
        "fairseq's speech and product-quantisation models load their own files with a bare torch.load",
        "since torch 2.6 they refuse what is not a tensor; use fairseq's own stack for them",
    ),
]
