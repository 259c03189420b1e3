"""Masked words, AliBERT's Table 5: what downstream.masked_words found, and the paper's figures."""

from alibert_common.report.document import Table, Text
from downstream.report import published

LIMITS = (1, 3, 5)


def tables(contents: dict[str, dict]) -> list[Table | Text]:
    """For each output a row a model and source, with the paper's below, and how words were asked for."""
    blocks: list[Table | Text] = []
    for folder, content in contents.items():
        rows = []
        for model, sources in content["scores"].items():
            note = content["models"].get(model, {}).get("note", "")
            name = f"{model} ({note})" if note else model
            rows += [[name, source, *(_share(row[f"top_{limit}"]) for limit in LIMITS), f"{row['words']:,}"]
                     for source, row in sources.items()]  # fmt: skip
        head = ["model", "source", *(f"top {limit}" for limit in LIMITS), "words"]
        blocks.append(Table(f"Masked words ({folder}): share among the first, with 95% intervals", head, rows))
        told = f"{content['candidates']['number']:,} candidates, seed {content['seed']}"
        blocks.append(Text(f"{content['measure']} ({told})"))
    return [*blocks, *_of_the_paper()] if blocks else []


def _share(one: dict) -> str:
    return f"{one['share']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"


def _of_the_paper() -> list[Table | Text]:
    theirs = published.of("masked_words")
    rows: dict[str, list[str]] = {}
    for one in theirs:
        rows.setdefault(one.model, [one.model]).append(f"{one.value:.2f}")
    head = [theirs[0].source, *(f"top {limit}" for limit in LIMITS)]
    return [Table("Masked words, published", head, list(rows.values())), published.conditions(theirs)]
