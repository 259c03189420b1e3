"""Which letters a campaign makes, and their files, those of LibreOffice among them."""

import csv
import random
import shutil
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pypdfium2
from letters.docx_files import write_docx
from letters.letter import CHANGES, LAYOUTS, Letter, draw_letter, without_running
from letters.odt_files import write_odt
from letters.office import convert
from letters.pdf_files import FAMILIES, write_pdf
from letters.rtf_files import write_rtf
from letters.txt_files import KINDS, write_txt

OFFICE = "LibreOffice from "  # and "DOCX" or "ODT"
# format: its producers, which take turns
PRODUCERS = {
    "pdf": (*["reportlab"] * 3, f"{OFFICE}ODT", f"{OFFICE}DOCX"),
    "docx": (*["python-docx"] * 3, f"{OFFICE}ODT"),
    "rtf": ("as Word", f"{OFFICE}DOCX", "as Word", f"{OFFICE}ODT"),
    "odt": (*["odfpy"] * 3, f"{OFFICE}DOCX"),
    "txt": (*KINDS,),
}
# what a letter of a producer may have; all of it on no letter, for each is drawn
FEATURES = {
    "reportlab": ("soft hyphens", "pages", "link"),
    "python-docx": ("soft hyphens", "pages", "link", "field", "note", "control", *CHANGES),
    "as Word": ("soft hyphens", "pages", "link", "field", *CHANGES),
    "odfpy": ("soft hyphens", "pages", "link", "header rows", *CHANGES),
    OFFICE: ("soft hyphens", "pages", "link", *CHANGES),
}
LINES = 10, 120
TABLE = "letters.tsv"


class Made(NamedTuple):
    """A letter of the campaign: the id of its document, who wrote its file, its layout, its pages (0: not PDF)."""

    id: str
    producer: str
    layout: str
    pages: int


class Maker:
    """Makes the letters of a seed in a folder: letters/FORMAT/NAME.FORMAT and truth/FORMAT/NAME.txt."""

    def __init__(self, folder: Path, seed: int):
        self.folder, self.seed = folder, seed
        self.made: list[Made] = []
        self.waiting: dict[tuple[str, str], list[tuple[Made, Letter]]] = defaultdict(list)

    def make(self, count: int) -> list[Made]:
        """So many letters, a fifth of them in each format; returns them in the order of their numbers."""
        for kind in PRODUCERS:
            (self.folder / "letters" / kind).mkdir(parents=True, exist_ok=True)
            (self.folder / "truth" / kind).mkdir(parents=True, exist_ok=True)
        formats = [*PRODUCERS]
        for number in range(count):
            self._letter(number, formats[number % len(formats)], number // len(formats))
        self._convert_all()
        self.made.sort(key=lambda made: made.id.partition("/")[2])
        with open(self.folder / TABLE, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows([Made._fields, *self.made])
        return self.made

    def _letter(self, number: int, kind: str, turn: int) -> None:
        """Draw a letter, and write its file now or leave it to LibreOffice."""
        seed = f"{self.seed}/{number}"
        draw = random.Random(f"{seed}/plan")
        producer = PRODUCERS[kind][turn % len(PRODUCERS[kind])]
        layout = draw.choice(LAYOUTS)
        family = draw.choice([*FAMILIES])
        known = FEATURES.get(producer, FEATURES[OFFICE] if producer.startswith(OFFICE) else ())
        if kind == "pdf":  # whose text is all that is seen
            known = [feature for feature in known if feature not in CHANGES]
        features = [feature for feature in known if draw.random() < 0.6]
        signs = "all" if kind != "txt" else "cp1252" if KINDS[producer][0] == "cp1252" else "all"
        signs = FAMILIES[family][1] if producer == "reportlab" else signs
        letter = draw_letter(seed, layout, draw.randint(*LINES), signs, features)
        made = Made(f"{kind}/letter-{number:05d}", producer, layout, 0)
        if producer.startswith(OFFICE):
            self.waiting[producer.removeprefix(OFFICE).lower(), kind].append((made, letter))
            return
        path = self._path(made)
        if producer == "reportlab":
            letter, pages = write_pdf(letter, path, family, seed)
            made = made._replace(pages=pages)
        elif kind == "txt":
            write_txt(letter, path, producer, seed)
        else:
            {"docx": write_docx, "odt": write_odt, "rtf": write_rtf}[kind](letter, path, seed)
        self._note(made, letter)

    def _path(self, made: Made) -> Path:
        kind = made.id.partition("/")[0]
        return self.folder / "letters" / f"{made.id}.{kind}"

    def _note(self, made: Made, letter: Letter) -> None:
        self.made.append(made)
        (self.folder / "truth" / f"{made.id}.txt").write_text(letter.truth(), encoding="utf-8")

    def _convert_all(self) -> None:
        for (source, kind), letters in self.waiting.items():
            self._convert(source, kind, letters)
            if kind != "pdf":
                continue
            pages = {made: _pages(self._path(made)) for made, _ in letters}
            # One that takes one page gets no header and footer.
            short = [(made, without_running(letter)) for made, letter in letters if pages[made] == 1 and letter.running]
            self._convert(source, kind, short)
            for made, _ in letters:
                self.made[self.made.index(made)] = made._replace(pages=pages[made])
        shutil.rmtree(self.folder / "sources", ignore_errors=True)

    def _convert(self, source: str, kind: str, letters: Iterable[tuple[Made, Letter]]) -> None:
        folder, files = self.folder / "sources" / source, list[Path]()
        folder.mkdir(parents=True, exist_ok=True)
        for made, letter in letters:
            files.append(folder / f"{Path(made.id).name}.{source}")
            (write_odt if source == "odt" else write_docx)(letter, files[-1], f"{self.seed}/{made.id}")
            if made not in self.made:
                self._note(made, letter)
        convert(files, kind, self.folder / "letters" / kind, self.folder / "sources" / "profile")


def _pages(path: Path) -> int:
    with pypdfium2.PdfDocument(path) as document:
        return len(document)
