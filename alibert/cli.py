"""The command `alibert`: one verb for each step of the data flow. `python -m alibert` is the same.

A verb runs the command of that step, `python -m preprocess.ingest` for example. Nothing is imported before it is used,
so that every `--help` is quick.
"""

import difflib
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import NamedTuple

import alibert
import alibert_common.cli
from alibert.train import fairseq
from alibert_common.errors import InputError
from alibert_common.streams import readers_may_leave
from fairseq_compat.errors import Refusal

EPILOG = "`alibert VERB --help` shows the options of a verb. `alibert --version` prints the version."


class Verb(NamedTuple):
    """A verb. `runs` is a module to run as a command, or MODULE:FUNCTION that takes the arguments."""

    runs: str
    help: str


VERBS = {
    "ingest": Verb("preprocess.ingest", "read source files of any format into documents"),
    "clean": Verb("preprocess.clean", "repair text, drop lines and documents that are not French text"),
    "pseudonymise": Verb("preprocess.pseudonymise", "replace names, numbers, addresses and dates of patients"),
    "deduplicate": Verb("preprocess.deduplicate", "drop repeated documents, repeated lines and benchmark sentences"),
    "mix": Verb("preprocess.mix", "weight the sources, split training from validation"),
    "tokenizer": Verb("preprocess.train_tokenizer", "train a tokenizer: tokenizer.json and dict.txt"),
    "compare-tokenizers": Verb("preprocess.compare_tokenizers", "compare tokenizers on a held-out text"),
    "binarize": Verb("preprocess.binarize", "encode documents as a fairseq data-bin"),
    "check-anonymity": Verb("preprocess.check_anonymity:main", "verify the proof of binarize --min-patients"),
    "corpus": Verb("preprocess.corpus", "run all the steps above from one YAML file"),
    "train": Verb("alibert.train:main", "pretrain: fairseq-train with this plugin"),
    "launch": Verb(
        "alibert_fairseq.launch", "run a pretraining recipe on this machine or on Slurm; `launch status` lists the jobs"
    ),
    "audit": Verb("alibert_fairseq.audit.command", "measure what can be extracted from a pretrained model: one page"),
    "lineage": Verb("alibert_fairseq.lineage.find", "find the first update that saw a document or a patient"),
    "retrain": Verb("alibert_fairseq.lineage.retrain", "train again without some documents or patients"),
    "export": Verb("alibert_fairseq.hf.export", "convert a checkpoint to a Hugging Face folder"),
    "load": Verb("alibert_fairseq.hf.load", "convert a Hugging Face folder to a checkpoint, for continual pretraining"),
    "continue": Verb("alibert.continuations", "continue a published model in several ways, compared on dev"),
    "masked-words": Verb("downstream.masked_words", "predict masked words of given sentences"),
    "search": Verb("downstream.search", "search fine-tuning settings on the dev split"),
    "finetune": Verb("downstream.finetune", "fine-tune a model on a task and score it"),
    "curves": Verb("downstream.curves", "score checkpoints along a pretraining"),
    "evaluate": Verb("downstream.evaluate", "score models on every task whose data are there"),
    "report": Verb("downstream.report", "write one report of several scores"),
    "tag": Verb("downstream.tag", "find entities in raw text with a fine-tuned model"),
    "quickstart": Verb("alibert.paths:quickstart", "run every step on the shipped sample, in minutes on a CPU"),
    "recipes": Verb("alibert.paths:print_recipes", "print the folder of the shipped recipes and the sample"),
    "user-dir": Verb("alibert.paths:print_user_dir", "print the path for fairseq's option --user-dir"),
    "completion": Verb("alibert.completion:main", "print a script that completes verbs and options in a shell"),
    "doctor": Verb("alibert.doctor:main", "check the installation, with a remedy for each problem"),
}


def overview() -> str:
    """Return what `alibert --help` prints: the verbs in the order of the data flow."""
    lines = ["usage: alibert VERB [options]", "", alibert.__doc__.splitlines()[0], ""]
    width = max(map(len, VERBS))
    lines += [f"  {name:<{width}}  {verb.help}" for name, verb in VERBS.items()]
    return "\n".join([*lines, "", EPILOG])


@readers_may_leave()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; `arguments` replace those of the process."""
    name, *rest = arguments if arguments is not None else sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(overview())
    elif name == "--version":
        print(f"alibert {alibert.__version__}")
    elif name in VERBS:
        run(name, rest)
    else:
        close = difflib.get_close_matches(name, VERBS, 1)
        hint = f"did you mean {close[0]}?" if close else "`alibert --help` lists the verbs."
        print(f"error: {name}: no verb of alibert; {hint}", file=sys.stderr)
        sys.exit(2)


def run(name: str, arguments: list[str]) -> None:
    """Run a verb."""
    verb = VERBS[name]
    alibert_common.cli.started_as = f"alibert {name}"
    module, _, function = verb.runs.partition(":")
    if module.startswith("alibert_fairseq.") and printed_help(module, arguments):
        return
    sys.argv = [f"alibert {name}", *arguments]
    try:  # and no handlers of signals: a training has its own
        if module.startswith("alibert_fairseq."):
            fairseq("fairseq")
        if function:
            getattr(import_module(module), function)(arguments)
        else:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except (InputError, Refusal) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)


def printed_help(module: str, arguments: list[str]) -> bool:
    """Whether the help of a command of `alibert_fairseq` was asked for and printed, without its `__init__`."""
    package = module.partition(".")[0]
    if arguments[-1:] not in (["-h"], ["--help"]):
        return False
    if package not in sys.modules and (spec := PathFinder.find_spec(package)):
        sys.modules[package] = module_from_spec(spec)  # has its path, so that modules of it are found
    return import_module(f"{package}.command_help").print_help([module, *arguments])
