"""The table of all repairs: what happens without it, why, and which names of fairseq it replaces."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import NamedTuple

from fairseq_compat import command_line, moving_average
from fairseq_compat.checkpoints import loading, master_weights, position, recovery, resuming, saving
from fairseq_compat.imports import (
    configuration_copies,
    configuration_reads,
    dataclass_defaults,
    removed_names,
    torchaudio_library,
    user_dir,
)
from fairseq_compat.processes import data_workers, distributed, reader_threads


class Repair(NamedTuple):
    """One repair, written for one `release` of a distribution, or for any if that is empty.

    `modules` are module names; one that ends in `.*` stands for a package and all below it.
    `around(module)` is a context manager entered before the module's code runs and left after it. It replaces the names
    in `replaces`, and no other repair of the same module does. A repair without names acts while the module runs.
    """

    what: str
    why: str
    modules: tuple[str, ...]
    replaces: tuple[str, ...]
    around: Callable[[ModuleType], AbstractContextManager]
    distribution: str = "fairseq"
    release: str = "0.12.2"
    python: tuple[int, int] = (3, 0)  # the first that needs it

    def covers(self, name: str) -> bool:
        """Whether this repair concerns the module of that name."""
        return name in self.modules or any(
            f"{name}.".startswith(module[:-1]) for module in self.modules if module.endswith(".*")
        )

    def state(self) -> str:
        """`repaired`; or why not: `not installed`, `not needed` on this Python, `cannot repair` another release."""
        here = installed(self.distribution)
        if here is None:
            return "not installed"
        if sys.version_info[:2] < self.python:
            return "not needed"
        return "repaired" if self.release in ("", here) else "cannot repair"


def installed(distribution: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


# fmt: off
REPAIRS = [
    Repair(
        "import fairseq: mutable default CommonConfig is not allowed",
        "Python 3.11 refuses dataclass defaults without a hash",
        ("fairseq.*",), (), dataclass_defaults.hashable_while_imported, python=(3, 11)),
    Repair(
        "import hydra: mutable default OverrideDirname is not allowed",
        "Python 3.11 refuses dataclass defaults without a hash",
        ("hydra.*",), (), dataclass_defaults.hashable_while_imported, distribution="hydra-core", release="1.0.7",
        python=(3, 11)),
    Repair(
        "hydra's plugin scan: 'FileFinder' object has no attribute 'find_module'",
        "Python 3.12 removed find_module from its finders",
        ("hydra.core.plugins",), ("pkgutil",), removed_names.finders_with_find_module, distribution="hydra-core",
        release="1.0.7", python=(3, 12)),
    Repair(
        "import antlr4: No module named 'typing.io'",
        "Python 3.13 removed typing.io",
        ("antlr4.*", "hydra.grammar.*"), (), removed_names.typing_io_while_imported,
        distribution="antlr4-python3-runtime", release="4.8", python=(3, 13)),
    Repair(
        "the start of every training: half a second for copies of the configuration",
        "omegaconf 2.0.6 copies the parent of each part that is copied; 2.1 does not",
        ("omegaconf.omegaconf",),
        ("DictConfig.__deepcopy__", "ListConfig.__deepcopy__", "ValueNode._deepcopy_impl"),
        configuration_copies.without_parents, distribution="omegaconf", release="2.0.6"),
    Repair(
        "each update: ten milliseconds for reads of the configuration",
        "omegaconf 2.0.6 looks for interpolations in each value that is read",
        ("omegaconf.dictconfig",), ("DictConfig.__getattr__",), configuration_reads.without_interpolations,
        distribution="omegaconf", release="2.0.6"),
    Repair(
        "import transformers: OSError, Could not load this library: torchaudio/lib/_torchaudio.abi3.so",
        "fairseq asks for torchaudio, whose newest release may be of another torch",
        ("torchaudio._extension.utils",), ("_load_lib",), torchaudio_library.absent_if_it_cannot_be_loaded,
        distribution="torchaudio", release=""),
    Repair(
        "loading a checkpoint: Unsupported global argparse.Namespace, or, before torch 2.6, any code in it is run",
        "fairseq calls torch.load without saying what a checkpoint may hold",
        ("fairseq.checkpoint_utils",), ("torch",), loading.load_only_what_fairseq_saves),
    Repair(
        "a checkpoint that cannot be written: a traceback, and files half written under final names",
        "fairseq tries again on the same handle, and copies checkpoint_last.pt in place",
        ("fairseq.checkpoint_utils",),
        ("torch_persistent_save", "_torch_persistent_save", "PathManager", "verify_checkpoint_directory"),
        saving.whole_or_refused),
    Repair(
        "a checkpoint_last.pt that is damaged: a complaint about the model; one that is missing: a start at update 0",
        "fairseq knows no digest, and looks at no other checkpoint",
        ("fairseq.checkpoint_utils",), ("load_checkpoint",), recovery.resume_from_the_newest_whole),
    Repair(
        "resuming in an epoch on another number of processes, or with another --batch-size: at the wrong place",
        "fairseq saves how many batches each process had, and neither how many processes there were nor which batches",
        ("fairseq.data.iterators",), ("EpochBatchIterator.state_dict", "EpochBatchIterator.load_state_dict"),
        position.save_place_of_all_processes),
    Repair(
        "resuming from a checkpoint of another tokenizer, model, optimizer or criterion: nothing, or a traceback; with "
        "--store-ema from one without an average: KeyError, 'model'; from the end of an epoch: the scheduler does not "
        "know its loss",
        "fairseq saves the state of the task and never gives it back, compares names by assertions, deletes the "
        "weights before the average begins, and tells the scheduler the loss of an epoch after the checkpoint is saved",
        ("fairseq.trainer",), ("checkpoint_utils", "Trainer.load_checkpoint"), resuming.restore_the_task_first),
    Repair(
        "a finished training that is started again: one more update each time, written over its checkpoint",
        "fairseq compares with --max-update and --stop-time-hours after an update only",
        ("fairseq_cli.train",), ("train",), resuming.stop_at_the_end),
    Repair(
        "resuming with two processes: Unsupported global fairseq.distributed.utils._TensorPlaceholder",
        "fairseq sends the checkpoint from rank to rank as a pickle, which torch 2.6 no longer opens by default",
        ("fairseq.distributed.utils",), ("torch",), loading.trust_other_ranks),
    Repair(
        "resuming --bf16 or --fp16: the master weights come back rounded",
        "fairseq saves only the half-precision copy of them",
        ("fairseq.optim.fp16_optimizer",), ("_FP16OptimizerMixin.state_dict", "_FP16OptimizerMixin.load_state_dict"),
        master_weights.save_master_weights),
    Repair(
        "--store-ema: the average of a tied weight follows it faster than --ema-decay says",
        "fairseq averages in place, once for each name of a tensor",
        ("fairseq.models.ema.ema",), ("EMA._step_internal",), moving_average.average_a_tied_weight_once),
    Repair(
        "--bf16: 'NoneType' object has no attribute 'xla_device'; --fp16 --cpu: a failed assertion about CUDA; either "
        "with --store-ema: an average that stands still",
        "fairseq takes bf16 for a sign of a TPU, and averages in the precision of the weights",
        ("fairseq.options",), ("parse_args_and_arch",), command_line.bf16_without_tpu),
    Repair(
        "--sample-break-mode eos and others: module 'numpy' has no attribute 'compat', 'int' or 'float'",
        "numpy 1.24 and 2.0 removed these names",
        ("fairseq.data.data_utils", "fairseq.data.token_block_dataset", "fairseq.data.language_pair_dataset",
         "fairseq.modules.dynamic_crf_layer"),
        ("np",), removed_names.numpy_names),
    Repair(
        "--ddp-backend pytorch_ddp --cpu: device_ids of a module on the CPU",
        "fairseq names a GPU whether or not the model is on one",
        ("fairseq.models.distributed_fairseq_model",), ("DistributedDataParallel",),
        distributed.device_ids_only_on_gpu),
    Repair(
        "several processes: a wait without an end for one that failed, an invalid device ordinal, tracebacks of each",
        "fairseq waits at the store and for nccl, takes the GPU with its number on the node, and catches nothing",
        ("fairseq.distributed.utils",), ("call_main", "distributed_init", "distributed_main"),
        distributed.processes_start_and_end),
    Repair(
        "--update-freq with several processes: too large a gradient in the last update of an epoch",
        "fairseq leaves a process out of the number of samples when the last of its batches is empty",
        ("fairseq.trainer",), ("Trainer.train_step",), distributed.drop_empty_batches),
    Repair(
        "the end of a training: terminate called without an active exception; of a validation: five seconds a worker",
        "fairseq's reading thread is inside torch when the interpreter ends, and asks for no batch too many",
        ("fairseq.data.iterators",), ("BackgroundConsumer",), reader_threads.stopped_before_the_interpreter),
    Repair(
        "SIGTERM to all processes of a job, as Slurm's: the data loader's workers die, and the training with them",
        "torch's workers end on a SIGTERM of anybody, before a training that is asked to stop can save a checkpoint",
        ("fairseq.data.iterators",), ("torch",), data_workers.keep_workers_on_signals),
    Repair(
        "a refused option or checkpoint, a killed worker, a process that is gone: tracebacks",
        "fairseq's commands catch nothing",
        ("fairseq_cli.*",), ("cli_main",), command_line.refusals_in_one_sentence),
    Repair(
        "--user-dir NAME of an installed package: FileNotFoundError; field(default=SomeConfig()): mutable default",
        "fairseq takes --user-dir for a path, and Python 3.11 refuses dataclass defaults without a hash",
        ("fairseq.utils",), ("import_user_module",), user_dir.found_and_imported),
]

LIMITS = {  # what is left as it is, and what to do instead
    "fairseq-hydra-train knows no task, model or criterion of a --user-dir":
        "it composes its configuration before it reads --user-dir; use fairseq-train",
    "stock RoBERTa layers save eight unused copies of their weights that go stale after a resume":
        "leave in_proj_*, out_proj_*, fc1_* and fc2_* beside the layer out of comparisons",
    "fairseq's speech and product-quantisation models load their own files with a bare torch.load":
        "since torch 2.6 they refuse what is not a tensor; use fairseq's own stack for them",
}
