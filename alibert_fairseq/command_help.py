"""`--help` of the commands of this package, without torch and fairseq, which take seconds to import."""

import sys
from collections.abc import Sequence
from importlib import import_module

HELP = ("-h", "--help")
# What a user types after `python -m`, and the MODULE:FUNCTION of its parser.
PARSERS = {
    "alibert_fairseq.audit.command": "alibert_fairseq.audit.options:audit_parser",
    "alibert_fairseq.lineage.find": "alibert_fairseq.lineage.options:lineage_parser",
    "alibert_fairseq.lineage.retrain": "alibert_fairseq.lineage.options:retrain_parser",
    "alibert_fairseq.launch": "alibert_fairseq.launch.options:parser",
    "alibert_fairseq.launch status": "alibert_fairseq.launch.status:parser",
    "alibert_fairseq.hf.export": "alibert_fairseq.hf.options:export_parser",
    "alibert_fairseq.hf.load": "alibert_fairseq.hf.options:load_parser",
}


def print_help(words: Sequence[str]) -> bool:
    """Print the help that the words ask for, a module and its arguments. Returns whether they ask for one."""
    parser = PARSERS.get(" ".join(words[:-1])) if words[-1:] and words[-1] in HELP else None
    if parser is None:
        return False
    module, _, function = parser.partition(":")
    getattr(import_module(module), function)().print_help()
    return True


def end_if_help_was_asked() -> None:
    """For `python -m MODULE --help`, which imports the package before the module."""
    words = sys.orig_argv
    if "-m" in words and print_help(words[words.index("-m") + 1 :]):
        sys.exit()
