"""All studies of tokenizer_study.sh on one page: `python tests/campaigns/tokenizer_study.py STUDIES --output SUMMARY`.

STUDIES holds DRAW-SIZE/study.json, of preprocess.compare_tokenizers. SUMMARY gets study.html, study.md and study.json
with the main figures of every tokenizer at every size, sizes.png, and terms and sentences in pieces at the largest.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from alibert_common.directories import Marker, directory_written_whole
from alibert_common.report import html, markdown
from alibert_common.report.document import Picture, Section, Table
from alibert_common.report.plots import mark, plt, png
from preprocess.tokenizer_study.report import report as report_of

CORE = "pamj_cas_cliniques"
TITLE = "Tokenizer study: all sizes"
MARKER = Marker("study.json", '"command": "tokenizer_study"')
DRAWS = ("plain", "amplified")
Figures = dict[tuple[int, str], dict[str, dict[str, float]]]  # (size, draw): tokenizer: measure


class Measure(NamedTuple):
    """One figure of a tokenizer: its name in study.json, how it is written, and what it means."""

    name: str
    form: str
    meaning: str


MEASURES = (
    Measure("fertility", "{:.3f}", "tokens for each word between white space (fewer is shorter input)"),
    Measure("fertility on cases", "{:.3f}", "of the clinical cases alone, the core"),
    Measure("words whole", "{:.1%}", "share of the words of two letters or more with all their letters in one token"),
    Measure("pieces a term", "{:.2f}", "mean over the medical terms"),
    Measure("terms whole", "{:.0%}", "share of the terms of which no word is cut"),
    Measure("twice by boundary", "{:,}", "pieces that are there inside a word and at its start: AliBERT's (MOT, ▁MOT)"),
    Measure("twice by case", "{:,}", "pieces more than there would be if capitals were small letters"),
    Measure("unknown", "{:.3%}", "share of the tokens that stand for what the tokenizer has no piece for"),
    Measure("pieces used", "{:.1%}", "share of the pieces that this text uses"),
    Measure("speed", "{:.2f}", "MB/s on one thread, as a multiple of the first tokenizer's of that study"),
)
DRAWN = MEASURES[:4]


def read(studies: Path) -> dict[tuple[int, str], dict]:
    """{(size, draw): study.json}, in rising order."""
    found = {}
    for path in studies.glob("*-*/study.json"):
        drawn, size = path.parent.name.split("-")
        found[int(size), drawn] = json.loads(path.read_text(encoding="utf-8"))
    return dict(sorted(found.items(), key=lambda item: (item[0][0], DRAWS.index(item[0][1]))))


def figures_of(study: dict) -> dict[str, dict[str, float]]:
    """{tokenizer: {measure: figure}}"""
    rows = {}
    for (name, one), (pieces, whole) in zip(
        study["tokenizers"].items(), study["categories"]["(all)"]["means"], strict=True
    ):
        figures = (
            one["tokens_per_word"], one["tokens_per_word_of_sources"][CORE], one["whole_word_share"], pieces, whole,
            one["twice_by_boundary"], one["twice_by_case"], one["unknown_share"], one["pieces_used"] / one["pieces"],
            one["speed_ratio"],
        )  # fmt: skip
        rows[name] = {measure.name: figure for measure, figure in zip(MEASURES, figures, strict=True)}
    return rows


def names_of(figures: Figures) -> list[str]:
    """All tokenizers, in the order of the studies."""
    return list(dict.fromkeys(name for rows in figures.values() for name in rows))


def table_of(measure: Measure, figures: Figures) -> Table:
    """A row a tokenizer, a column a study."""
    rows = [
        [name, *(measure.form.format(rows[name][measure.name]) if name in rows else "" for rows in figures.values())]
        for name in names_of(figures)
    ]
    head = ["tokenizer", *(f"{size:,} {drawn}" for size, drawn in figures)]
    return Table(measure.name, head, rows, {measure.name: measure.meaning})


def draw(figures: Figures) -> bytes:
    """Measures against size: a mark a tokenizer, filled for plain, open for amplified."""
    figure, panels = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for axes, measure in zip(panels.flat, DRAWN, strict=True):
        for number, name in enumerate(names_of(figures)):
            for drawn, line, face in zip(DRAWS, ("-", "--"), ("", "white"), strict=True):
                points = {size: rows[name] for (size, some), rows in figures.items() if some == drawn and name in rows}
                style = mark(number) | {"linestyle": line} | ({"markerfacecolor": face} if face else {})
                axes.plot(
                    points.keys(), [one[measure.name] for one in points.values()], **style, color="black",
                    linewidth=0.6,
                    label=name if drawn == DRAWS[0] and measure == DRAWN[0] else None,
                )  # fmt: skip
        axes.set(xlabel="pieces", title=measure.name, xticks=sorted({size for size, _ in figures}))
        axes.grid(color="0.85")
    figure.legend(loc="outside right upper", title="filled: plain\nopen: amplified")
    return png(figure)


def report(studies: dict[tuple[int, str], dict], figures: Figures, picture: bytes) -> Section:
    """The page: the measures of all, then terms and sentences of the largest study."""
    seen = f"{', '.join(measure.name for measure in DRAWN)} by number of pieces. The values are in the first tables."
    drawn = (
        "plain: the lines that a tokenizer is trained on are drawn as they are; amplified: those of the clinical cases "
        "as often as all others together (ouBioBERT's amplified vocabulary)."
    )
    size, name = list(studies)[-1]
    largest = {section.title: section.blocks for section in report_of(studies[size, name]).blocks}
    sentences = [block for block in largest["Text"] if isinstance(block, str)]
    tables = [table_of(measure, figures) for measure in MEASURES]
    found = [
        Section("Text", [*sentences, drawn]),
        Section("Figures", [*tables, Picture(picture, seen, seen, "sizes.png")]),
    ]
    found += [Section(f"{title}: {size:,} pieces, {name}", largest[title])
              for title in ("Medical terms", "Sentences in pieces")]  # fmt: skip
    return Section(TITLE, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("studies", type=Path, help="the folder of studies")
    parser.add_argument("--output", type=Path, required=True, help="the folder to write")
    options = parser.parse_args()
    studies = read(options.studies)
    figures: Figures = {key: figures_of(study) for key, study in studies.items()}
    picture = draw(figures)
    page = report(studies, figures, picture)
    with directory_written_whole(options.output, MARKER) as directory:
        named = {f"{drawn}-{size}": rows for (size, drawn), rows in figures.items()}
        content = json.dumps({"command": "tokenizer_study", "studies": named}, ensure_ascii=False, indent=2)
        (directory / "study.json").write_text(content + "\n", encoding="utf-8")
        (directory / "sizes.png").write_bytes(picture)
        (directory / "study.md").write_text(markdown.render(page), encoding="utf-8")
        (directory / "study.html").write_text(html.render(page), encoding="utf-8")


if __name__ == "__main__":
    main()
