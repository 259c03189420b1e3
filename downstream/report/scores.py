"""The scores of a group in the form of AliBERT's Table 4: a row a label, precision, recall and F1 of each model."""

from alibert_common.report.document import NONE, Table
from downstream.experiment.plots import alone_in, rows_of
from downstream.experiment.results import cell
from downstream.metrics.rows import FIGURES
from downstream.report.groups import Group
from downstream.report.read_runs import Run

MODELS = 3  # side by side, as in AliBERT's Table 4: with more, a row is wider than a printed page
SHORT = {"precision": "P", "recall": "R", "f1": "F1"}


def by_label(group: Group) -> list[Table]:
    """Labels, then averages, some models a table; a table apart for figures that stand for themselves, as accuracy."""
    rows = {run.name: rows_of(run.figures) for run in group.runs}
    alone = {run.name: alone_in(run.figures) for run in group.runs}
    tables = []
    names = _names(rows)
    parts = [list(rows)[start : start + MODELS] for start in range(0, len(rows), MODELS)] if names else []
    for number, part in enumerate(parts, start=1):
        head = ["label", *(f"{run}: {SHORT[figure]}" for run in part for figure in FIGURES), "in gold"]
        body = [[name, *_figures([rows[run] for run in part], name), str(_support(rows, name))] for name in names]
        which = f", {number} of {len(parts)}" if len(parts) > 1 else ""
        tables.append(Table(f"{group.title}: scores by label{which}", head, body))
    others = _names(alone)
    if others:
        body = [[name, *(cell(one[name]) if name in one else NONE for one in alone.values())] for name in others]
        tables.append(Table(f"{group.title}: other figures", ["figure", *alone], body))
    return tables


def conditions(run: Run) -> str:
    """How the figures were made, as the task says."""
    return "; ".join(f"{key.replace('_', ' ')}: {value}" for key, value in run.metrics.get("evaluation", {}).items())


def _names(columns: dict[str, dict]) -> list[str]:
    """Rows of all models, in their order; runs of a group have the same ones, but for a baseline's."""
    return list(dict.fromkeys(name for one in columns.values() for name in one))


def _figures(rows: list[dict], name: str) -> list[str]:
    return [cell(one[name][figure]) if name in one else NONE for one in rows for figure in FIGURES]


def _support(rows: dict[str, dict], name: str) -> int | str:
    return next((one[name].get("support", NONE) for one in rows.values() if name in one), NONE)
