"""Sentences, names and tables of results, drawn from the grammar with a seed."""

import random
import re
import unicodedata

from letters.grammar import RESULTS, RULES, SECTIONS

SLOT = re.compile(r"\{([^{}]+)\}")
NUMBER = re.compile(r"(\d+)(?:,(\d))?-(\d+)(?:,(\d))?")
IN_WORDS = {"⁹": "^9", "₂": "2", "≥": ">=", "≤": "<=", "≈": "env.", "γ": "gamma", "\u202f": "\u00a0"}
BARRED = str.maketrans("Łł", "Ll")
BEFORE_SIGN = re.compile(r" (?=[:;!?»%])|(?<=«) ")
# what the Liberation fonts lack
MISSING = {"⁹": "^9", "₂": "2", "ễ": "é", "\u202f": "\u00a0"}


class Prose:
    """A seeded source of text. `signs` says which characters it may hold: "all", "font" or "cp1252".

    All spaces are no-break ones before high punctuation in some letters, and all apostrophes are curly in some.
    """

    def __init__(self, draw: random.Random, signs: str):
        self.draw, self.signs = draw, signs
        self.curly = draw.random() < 0.5
        self.space = draw.choice((" ", "\u00a0", "\u00a0", "\u202f"))
        self.used: dict[str, list[str]] = {}

    def of(self, rule: str) -> str:
        """A text of a rule, its slots filled; a rule's texts come in turn, each once before any comes again."""
        left = self.used.setdefault(rule, [])
        if not left:
            left += self.draw.sample(RULES[rule], len(RULES[rule]))
        return SLOT.sub(lambda slot: self._slot(slot[1]), left.pop())

    def _slot(self, slot: str) -> str:
        if not (number := NUMBER.fullmatch(slot)):
            return self.of(slot)
        low, low_decimal, high, high_decimal = number.groups()
        whole = self.draw.randint(int(low), int(high))
        return f"{whole},{self.draw.randint(int(low_decimal), int(high_decimal))}" if low_decimal else str(whole)

    def text(self, rule: str) -> str:
        """A text of a rule as this letter writes it."""
        return self.written(self.of(rule))

    def sentence(self, rule: str) -> str:
        """The same with a capital."""
        text = self.text(rule)
        return text[:1].upper() + text[1:]

    def written(self, text: str) -> str:
        """The text with this letter's apostrophes, spaces and characters."""
        text = BEFORE_SIGN.sub(self.space, text)
        text = text.replace("'", "’") if self.curly else text
        for sign, instead in {"all": {}, "font": MISSING, "cp1252": IN_WORDS}[self.signs].items():
            text = text.replace(sign, instead)
        return "".join(map(_in_cp1252, text)) if self.signs == "cp1252" else text

    def paragraph(self, topic: str) -> str:
        """Two to six sentences."""
        return " ".join(self.sentence(topic) for _ in range(self.draw.randint(2, 6)))

    def heading(self) -> tuple[str, str]:
        """A heading and the rule of the text below it."""
        return self.draw.choice([*SECTIONS.items()])

    def results(self) -> list[list[str]]:
        """A table of laboratory results with its header, and maybe rows of one cell that name a group."""
        rows = [["Examen", "Résultat", "Unité", "Valeurs usuelles"]]
        grouped = self.draw.random() < 0.4
        for number, (name, unit, low, high, decimals) in enumerate(self.draw.sample(RESULTS, self.draw.randint(4, 10))):
            if grouped and number % 4 == 0:
                rows.append([f"Prélèvement du {self.of('date')}"])
            value = f"{self.draw.uniform(low, high):.{decimals}f}".replace(".", ",")
            sign = self.draw.choice(("", "", "", "< ", "> ", "≥ "))
            mark = self.draw.choice(("", "", "", " (H)", " *"))
            span = self.draw.choice((f"{low} – {high}", f"< {high}", f"[{low}-{high}]", f"≥ {low}"))
            rows.append([name, f"{sign}{value}{mark}", unit, span])
        return [[self.written(cell) for cell in row] for row in rows]

    def doses(self) -> list[list[str]]:
        """A table of drugs with what is taken when."""
        rows = [["Médicament", "Dose", "Matin", "Midi", "Soir", "Durée"]]
        for _ in range(self.draw.randint(2, 7)):
            times = [self.draw.choice(("0", "1", "½", "2", "1 si besoin")) for _ in range(3)]
            rows.append(
                [self.of("molecule").capitalize(), self.of("dose"), *times, f"{self.draw.randint(3, 90)} jours"]
            )
        return [[self.written(cell) for cell in row] for row in rows]


def _in_cp1252(sign: str) -> str:
    """The character, or its letter without accents where Windows-1252 lacks it."""
    try:
        sign.encode("cp1252")
        return sign
    except UnicodeEncodeError:
        return unicodedata.normalize("NFKD", sign.translate(BARRED)).encode("ascii", "ignore").decode()
