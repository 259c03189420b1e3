"""The rules of preprocess.clean as data: each with an example, a look-alike it leaves alone, and its reason.

CHARACTER_RULES change a line, LINE_RULES drop it; both are safe for any source, hospital letters above all. What suits
one kind of source is in optional_rules.py. docs/reference/cleaning.md says how often each rule acts on real corpora.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from html.entities import name2codepoint
from typing import NamedTuple

from preprocess.documents.words import longer_words


class LineTest(NamedTuple):
    """A test of a line that no regular expression can express; `search` is its function, as that of a pattern."""

    search: Callable[[str], bool]


@dataclass(frozen=True)
class Rule:
    """What `pattern` finds is replaced, or the line with it rewritten; with neither, lines with it are dropped.

    `possible` is a quicker test of a text: where it is False, the pattern finds nothing.
    """

    name: str
    pattern: re.Pattern | LineTest
    example: str
    unchanged: str
    reason: str
    replacement: str | Callable[[re.Match], str] | None = None
    rewrite: Callable[[str], str] | None = None
    possible: Callable[[str], object] | None = None

    def finds(self, lines: Sequence[str], text: str) -> list[int]:
        """The numbers, from 0, of the lines in which the pattern is found; `text` is the lines, one below the other.

        It is looked for in the whole text first, unless it asks for the ends of a line. What it finds in a line, it
        finds there too, or something that begins before and goes on into the line.
        """
        if self.possible and not self.possible(text):
            return []
        numbers: Iterable[int] = range(len(lines))
        if isinstance(self.pattern, re.Pattern) and r"\A" not in self.pattern.pattern:
            numbers = _lines_of_matches(self.pattern, text)
        search = self.pattern.search
        return [number for number in numbers if search(lines[number])]

    def change(self, line: str) -> tuple[str, int]:
        """The line after a rule that changes lines, and at how many places it changed."""
        if self.replacement is not None and isinstance(self.pattern, re.Pattern):
            return self.pattern.subn(self.replacement, line)
        if self.rewrite is None:
            return line, 0
        return (self.rewrite(line), 1) if self.pattern.search(line) else (line, 0)


def _lines_of_matches(pattern: re.Pattern, text: str) -> list[int]:
    """The numbers of the lines into which matches reach."""
    numbers: list[int] = []
    number = place = 0
    for match in pattern.finditer(text):
        number += text.count("\n", place, match.start())
        place = match.start()
        numbers += range(max(number, numbers[-1] + 1 if numbers else 0), number + match[0].count("\n") + 1)
    return numbers


def _decoded(entity: re.Match) -> str:
    return re.sub(r"[\r\n]", " ", unescape(entity[0]))  # &#10; must not make two lines of one


@lru_cache(1)  # four rules ask for the same text
def _has_signs(text: str) -> bool:
    return bool(text.encode("latin-1", "ignore").translate(None, NO_SIGNS))


def _fixed(line: str) -> str:
    from ftfy import fix_encoding  # here, for most corpora never need it

    return fix_encoding(line)


def _has_long_word(text: str) -> bool:
    """Whether a word of more than 100 characters is no web address."""
    return len(text) > 100 and any("://" not in word and "www." not in word for word in longer_words(text, 100))


# A byte from 80 to BF as Latin-1 and Windows-1252 show it.
SECOND_BYTE = "\x80-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
# Two signs that may be one of Latin-1, of Greek or of typography. A pattern that begins with a letter is found many
# times as fast as one that begins with a class.
PAIRS = tuple(re.compile(f"{first}[{SECOND_BYTE}]") for first in "ÂÃÄÅÎÏâ")
WEB_ADDRESS = r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.[\w.-]+"
# All of Latin-1 but what four rules on single characters find.
NO_SIGNS = bytes(code for code in range(256) if not re.match("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad]", chr(code)))

CHARACTER_RULES = (
    Rule(
        "HTML entities decoded",
        re.compile(rf"&(?:#\d{{1,7}}|#[xX][0-9a-fA-F]{{1,6}}|{'|'.join(name2codepoint)}|apos);"),
        example="&lt;&nbsp;5 mg/L, pr&eacute;l&#232;vement d&apos;urine",
        unchanged="Martin & Cie ; R&D; essai AT&T",
        reason="left by web pages: the word 'pr&eacute;l&#232;vement' would become five",
        replacement=_decoded,
    ),
    Rule(
        "lines of UTF-8 read as Latin-1 repaired",
        re.compile("|".join(pair.pattern for pair in PAIRS)),
        example="Ã‰volution d'un Å“dÃ¨me, Ã¢ge : 54 ans, 38 Â°C, Î±-bloquant",
        unchanged="SÃO PAULO, Âge : 54 ans, « LÂ » ou « LÀ »",
        reason="ftfy undoes the conversion, twice if need be, where the line reads better then; it changes no more",
        rewrite=_fixed,
        possible=lambda text: any(pair.search(text) for pair in PAIRS),
    ),
    Rule(
        "page and column breaks turned into spaces",
        re.compile(r"[\x0b\x0c\x1c-\x1f]"),
        example="fin de page\x0cdébut de page",
        unchanged="Poids :\t72 kg",
        reason="left by PDF and printer exports between two words, which must not grow together",
        replacement=" ",
        possible=_has_signs,
    ),
    Rule(
        "control characters removed",
        re.compile(r"[\x00-\x08\x0e-\x1b\x7f]"),
        example="para\x00cétamol",
        unchanged="Poids :\t72 kg",
        reason="left by terminal and database exports inside words",
        replacement="",
        possible=_has_signs,
    ),
    Rule(
        "Windows-1252 signs read as Latin-1 restored",
        re.compile(r"[\x80-\x9f]"),
        example="l\x92\x9cdème",
        unchanged="l’œdème",
        reason="Latin-1 has control characters where Windows-1252 has ’ and œ; no text uses them",
        replacement=lambda match: match[0].encode("latin-1").decode("windows-1252", "replace"),
        possible=_has_signs,
    ),
    Rule(
        "soft hyphens removed",
        re.compile("\u00ad"),
        example="hospi\u00adtalisation",
        unchanged="post-opératoire",
        reason="where a page may break a word; the normalizer of our tokenizers removes them too, others do not",
        replacement="",
        possible=_has_signs,
    ),
    Rule(
        "rows of dots and dashes shortened to three",
        re.compile(r"([.…_=*·–—~-])(?:[ \u00a0]?\1){4,}"),
        example="Paracétamol ................................ 500 mg",
        unchanged="Il hésite... puis — peut-être — accepte . . . 500 mg --> 750 mg",
        reason="they lead the eye to a column; each dot would be a token, 0.9 % of the characters of the leaflets",
        replacement=r"\1\1\1",
    ),
    Rule(
        "feet of web pages cut off",
        re.compile(r"Retour en haut de (?:la )?page(?:\s+Plan du site\b.*|\W*$)", re.MULTILINE),
        example="Conserver au frais. Retour en haut de la page Plan du site | Contact //Customisation var x = {};",
        unchanged="Le retour en haut de la page 3 du dossier est signé.",
        reason="links and a script at the end of the last line: 3,000 characters on each of 267 of 5,605 leaflets",
        replacement="",
    ),
)
LINE_RULES = (
    Rule(
        "lines without a letter",
        re.compile(r"\A[\W\d_]*\Z"),
        example="- 12 / 34 -",
        unchanged="T2N0M0",
        reason="page numbers, rules and empty table cells: no word to learn",
    ),
    Rule(
        "lines with lost characters",
        re.compile("\ufffd"),
        example="Le patient a \ufffdt\ufffd hospitalisé.",
        unchanged="Le patient a été hospitalisé.",
        reason="U+FFFD stands for a letter that an earlier conversion lost: the word cannot be known",
    ),
    Rule(
        "lines of UTF-8 read as Latin-1",
        # Ã and Å, then what a second byte is in Windows-1252, its signs restored above
        re.compile("Ã[\u00a0-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|Å[“’]|Â[\u00a0-\u00bf]|â€"),
        example="L’œdème du cÅ“ur",
        unchanged="SÃO PAULO, Âge : 54 ans",
        reason="what the repair above left: a second, wrong spelling of every accented word would fill the vocabulary",
        possible=lambda text: any(sign in text for sign in ("Ã", "Å", "Â", "â€")),
    ),
    Rule(
        "lines of words torn apart",
        # three lone letters that are neither a word, a unit nor an elision, each at most 20 characters after the last
        re.compile(r" [beéèêfikpqruvwzîôûïç](?<!\d .)(?= )(?:.{0,20}? [beéèêfikpqruvwzîôûïç](?<!\d .)(?= )){2}"),
        example="· p r en n ent ég a l e m ent des m éd i c a m ents",
        unchanged="Na 140, K 4,2 ; 2 x 2 x 2 cm ; vitamines A, D, E et K ; du 2 e au 5 e et au 7 e jour ; l ' un",
        reason="left by PDF exports: nobody can tell where a word ends, and the pieces would fill the vocabulary",
    ),
    Rule(
        "lines with a word of more than 100 characters",
        LineTest(_has_long_word),
        example="Image : " + "iVBORw0KGgo" * 10,
        unchanged="Voir https://exemple.fr/" + "surveillance-des-medicaments/" * 4,
        reason="files pasted as text, sequences, words glued together; web addresses stay in their sentence",
        possible=_has_long_word,
    ),
    Rule(
        "lines that are only an address",
        re.compile(
            rf"\A\W*(?:(?:site|web|internet|e-?mail|mail|courriel|mél|contact|url|doi|lien)\b\W*){{0,3}}(?:{WEB_ADDRESS})\W*\Z",
            re.IGNORECASE,
        ),
        example="Site internet : www.ansm.sante.fr.",
        unchanged="Déclarez les effets indésirables sur www.ansm.sante.fr.",
        reason="web and e-mail addresses: no word to learn",
    ),
    Rule(
        "lines that are only a page number",
        re.compile(r"\A\W*(?:page|pg|p\.)\W*\d+(?:\W*(?:sur|de|of|/)\W*\d+)?\W*\Z", re.IGNORECASE),
        example="- Page 3 sur 12 -",
        unchanged="Page 3 du dossier : cicatrice de 4 cm",
        reason="left by PDF exports on every page",
    ),
)
