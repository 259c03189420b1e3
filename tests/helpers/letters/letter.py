"""A letter as a list of blocks in reading order, and how letters are drawn."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from letters.grammar import LISTED
from letters.prose import Prose
from letters.syllables import SOFT_HYPHEN, hyphenated

LAYOUTS = ("centred head", "side column", "two columns", "head in a table", "form")
CHANGES = ("inserted", "deleted", "hidden")  # which may be in the middle of a word
WIDTH = 90  # characters of a line, to reckon the length of a letter


class Run(NamedTuple):
    """A piece of text in one style; "\\t" is a tab and "\\n" a line break.

    `style` holds "b" and "i". `kind` is "", "link", "field", "inserted", "deleted", "hidden" or "note"; the last three
    are not in the running text, and a note is at the end of the letter.
    """

    text: str
    style: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Paragraph:
    """`kind` is "text", "heading", "item" (with a bullet) or "number" (a numbered item)."""

    runs: tuple[Run, ...]
    kind: str = "text"
    align: str = "left"  # or right, center, justify

    def truth(self) -> str:
        """Its text in one line; that of an item behind "- "."""
        shown = "".join(run.text for run in self.runs if run.kind not in ("deleted", "hidden", "note"))
        text = " ".join(shown.replace(SOFT_HYPHEN, "").split())
        return f"- {text}" if self.kind in ("item", "number") else text


@dataclass(frozen=True)
class Table:
    """Rows of cells, whose paragraphs "\\n" divides; a row of one cell goes across. Without `lines` it only places."""

    rows: tuple[tuple[str, ...], ...]
    lines: bool = True

    def truth(self) -> str:
        """A line a row, its cells divided by " | "."""
        return "\n".join(" | ".join(" ".join(cell.split()) for cell in row) for row in self.rows)

    @cached_property
    def columns(self) -> int:
        """Cells of its longest row."""
        return max(map(len, self.rows))


Block = Paragraph | Table


@dataclass(frozen=True)
class Letter:
    """The blocks in the order head, side, body, end. `running` are header and footer of every page, if any."""

    layout: str
    head: tuple[Block, ...]
    side: tuple[Block, ...]
    body: tuple[Block, ...]
    end: tuple[Block, ...]
    running: tuple[str, str] | None
    features: frozenset[str] = field(default_factory=frozenset)

    @property
    def blocks(self) -> Iterable[Block]:
        """All blocks."""
        return chain(self.head, self.side, self.body, self.end)

    def truth(self) -> str:
        """A line a block, and a line a note below them."""
        notes = [
            run.text
            for block in self.blocks
            if isinstance(block, Paragraph)
            for run in block.runs
            if run.kind == "note"
        ]
        return "\n".join([*(block.truth() for block in self.blocks), *notes]) + "\n"


def draw_letter(seed: str, layout: str, lines: int, signs: str = "all", features: Sequence[str] = ()) -> Letter:
    """A letter of about so many lines. `features` are kinds of runs that it has, and "soft hyphens", "pages"."""
    draw = random.Random(seed)
    return Composer(draw, Prose(draw, signs), frozenset(features)).letter(layout, lines)


class Composer:
    """Draws the parts of a letter."""

    def __init__(self, draw: random.Random, prose: Prose, features: frozenset[str]):
        self.draw, self.prose, self.features = draw, prose, features

    def letter(self, layout: str, lines: int) -> Letter:
        """A letter in one layout."""
        hospital, service = self.prose.text("hospital"), self.prose.text("service")
        head, side = getattr(self, f"_head_{layout.replace(' ', '_')}")(hospital, service)
        end = [self.plain(self.prose.text("closing")), self.plain(self.prose.text("doctor"), align="right")]
        end.append(self.plain(self.prose.text("role"), align="right"))
        taken = len(head) + len(side) / 2 + len(end)
        body = self._body(max(4, lines - taken), layout)
        running = None
        if "pages" in self.features:
            written, number = self.prose.written, self.draw.randint(10_000, 99_999)
            running = written(f"{hospital} – {service}"), written(f"Dossier n° {number} – Page ")
        return Letter(layout, tuple(head), tuple(side), tuple(body), tuple(end), running, features=self.features)

    def plain(self, text: str, kind: str = "text", align: str = "left", style: str = "") -> Paragraph:
        """A paragraph of one run."""
        return Paragraph((Run(text, style),), kind, align)

    def _head_centred_head(self, hospital: str, service: str) -> tuple[list[Block], list[Block]]:
        text = self.prose.text
        head = [self.plain(hospital, align="center", style="b"), self.plain(service, align="center", style="i")]
        head.append(self.plain(f"Tél. {text('phone')} – {text('mail')}", align="center"))
        head += [self.plain(line, align="right") for line in self._recipient()]
        return [*head, *self._subject()], []

    def _head_side_column(self, hospital: str, service: str) -> tuple[list[Block], list[Block]]:
        text = self.prose.text
        side = [self.plain(service, style="b")]
        for _ in range(self.draw.randint(3, 7)):
            side += [self.plain(text("doctor"), style="b"), self.plain(text("role"), style="i")]
        side.append(self.plain(f"Tél. {text('phone')}"))
        return [self.plain(hospital, "heading", "center")], side

    def _head_two_columns(self, hospital: str, service: str) -> tuple[list[Block], list[Block]]:
        head, _ = self._head_centred_head(hospital, service)
        return head, []

    def _head_head_in_a_table(self, hospital: str, service: str) -> tuple[list[Block], list[Block]]:
        text = self.prose.text
        left = "\n".join([hospital, service, text("street"), f"Tél. {text('phone')}"])
        head: list[Block] = [Table(((left, "\n".join(self._recipient())),), lines=False)]
        rows = (("Nom", text("person")), ("Né(e) le", text("date")), ("NIP", str(self.draw.randint(10**8, 10**9))))
        return [*head, Table(rows), *self._subject()], []

    def _head_form(self, hospital: str, service: str) -> tuple[list[Block], list[Block]]:
        text = self.prose.text
        head = [self.plain(hospital, align="center"), self.plain("COMPTE RENDU D'HOSPITALISATION", "heading", "center")]
        head.append(self.plain(f"Service\u00a0:\t{service}"))
        head.append(self.plain(f"Patient\u00a0:\t{text('person')}\tSexe\u00a0:\t{self.draw.choice('FM')}"))
        head.append(self.plain(f"Entrée\u00a0:\t{text('date')}\tSortie\u00a0:\t{text('date')}"))
        return [*head, self.plain(f"Rédigé par\u00a0:\t{text('doctor')}")], []

    def _recipient(self) -> list[str]:
        text = self.prose.text
        return [text("doctor"), text("street"), text("postal")]

    def _subject(self) -> list[Block]:
        place = self.prose.written(f"{self.prose.of('town')}, {self.prose.of('date')}")
        about = self.prose.written(f"Objet : {self.prose.of('patient')}, {self.prose.of('service').lower()}")
        return [self.plain(place, align="right"), Paragraph((Run(about[:7], "b"), Run(about[7:])))]

    def _body(self, lines: float, layout: str) -> list[Block]:
        body: list[Block] = []
        if layout != "form":
            body += [self.plain(self.prose.text("opening")), self.paragraph(self.prose.sentence("thanks"))]
        width = WIDTH / (2 if layout == "two columns" else 1.3 if layout == "side column" else 1)
        tables = layout != "two columns"
        while sum(_lines(block, width) for block in body) < lines:
            body += self._section(tables)
        return body

    def _section(self, tables: bool) -> list[Block]:
        drawn = self.draw.random()
        if drawn < 0.15 and tables:
            rows = self.prose.results() if self.draw.random() < 0.6 else self.prose.doses()
            return [self.plain("Biologie" if len(rows[0]) == 4 else "Ordonnance", "heading"), Table(_tuples(rows))]
        if drawn < 0.35:
            title, rule = self.draw.choice([*LISTED.items()])
            kind = self.draw.choice(("item", "number"))
            items = [self.prose.text(rule) for _ in range(self.draw.randint(2, 6))]
            return [self.plain(title, "heading"), *(self.paragraph(item, kind) for item in items)]
        title, rule = self.prose.heading()
        texts = [self.prose.paragraph(rule) for _ in range(self.draw.randint(1, 2))]
        return [self.plain(self.prose.written(title), "heading"), *(self.paragraph(text) for text in texts)]

    def paragraph(self, text: str, kind: str = "text") -> Paragraph:
        """A paragraph with runs in bold and italics, some in the middle of a word, and runs of the other kinds."""
        if "soft hyphens" in self.features:
            text = hyphenated(text)
        runs = [*_styled(text, self.draw)]
        for feature in sorted(self.features & {"link", "field", "note", *CHANGES}):
            if self.draw.random() < 0.3:
                place = self.draw.randint(1, len(runs)) if feature in CHANGES else len(runs)
                runs.insert(place, self._special(feature))
        align = "justify" if kind == "text" and self.draw.random() < 0.6 else "left"
        return Paragraph(tuple(runs), kind, align)

    def _special(self, kind: str) -> Run:
        rules = {"link": "mail", "field": "date", "note": "conclusion", "hidden": "doctor"}
        text = self.prose.text(rules.get(kind, "drug"))
        return Run(text if kind == "note" else f" ({text}) ", "", kind)


def _tuples(rows: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, rows))


def _lines(block: Block, width: float) -> float:
    if isinstance(block, Table):
        return len(block.rows) * 1.3
    return len(block.truth()) // width + 1 + (block.kind in ("heading", "text")) * 0.5


def _styled(text: str, draw: random.Random) -> Iterable[Run]:
    """The text in one to four runs, cut anywhere."""
    places = sorted(draw.sample(range(1, len(text)), min(len(text) - 1, draw.choice((0, 0, 1, 2, 3)))))
    styles = ["", *draw.choices(("b", "i", "bi", ""), k=len(places))]
    for start, end, style in zip([0, *places], [*places, len(text)], styles, strict=True):
        yield Run(text[start:end], style)


def without_running(letter: Letter) -> Letter:
    """The letter without header and footer."""
    return replace(letter, running=None)
