"""A task that a tiny model learns, as files: an organ in each line of text."""

import json
from pathlib import Path

ORGANS = ["foie", "rein", "cuisse"]
RECIPE = """
task: tiny
format: jsonl
data: data
splits: {train: train.jsonl, dev: dev.jsonl, test: test.jsonl}
types: [anatomy]
"""


def text(number: int) -> str:
    return f"le patient {number} traite {'la' if number % 2 else 'du'} {ORGANS[number % len(ORGANS)]} et fièvre"


def with_its_organ(number: int) -> str:
    """A line of a jsonl file."""
    organ = ORGANS[number % len(ORGANS)]
    start = text(number).index(organ)
    entity = {"start": start, "end": start + len(organ), "label": "anatomy"}
    return json.dumps({"text": text(number), "entities": [entity]}, ensure_ascii=False)


def write_task(root: Path, protocols: dict[str, str], train: range) -> None:
    """tiny.yaml, protocols by name beside it, and the splits; dev and test have six lines each."""
    for folder in ("protocols", "data"):
        (root / folder).mkdir()
    (root / "tiny.yaml").write_text(RECIPE)
    for name, protocol in protocols.items():
        (root / "protocols" / f"{name}.yaml").write_text(protocol)
    for split, numbers in {"train": train, "dev": range(30, 36), "test": range(40, 46)}.items():
        write_lines(root / "data" / f"{split}.jsonl", map(with_its_organ, numbers))


def write_lines(file: Path, lines) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
