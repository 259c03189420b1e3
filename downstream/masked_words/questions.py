"""What is asked: words masked in sentences, drawn from raw text or given; and the candidates that every model ranks."""

import random
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from alibert_common.errors import InputError
from alibert_common.files import read_text

MASK = "[MASK]"  # how a sentences file marks the place, whatever the model's own mask is called
MIN_LETTERS = 4  # leaves out most articles and prepositions, which are half of the words and which every model guesses


class Question(NamedTuple):
    """A sentence with one word masked: the text before and after it; `place` is its file and line."""

    source: str
    before: str
    word: str
    after: str
    place: str

    @property
    def sentence(self) -> str:
        return f"{self.before}{MASK}{self.after}"

    def words_around(self) -> int:
        """Words on that side of the mask that has more of them."""
        return max(map(len, self._sides()[1:3]))

    def within(self, radius: int) -> "Question":
        """The same question with at most `radius` words on either side; what touches the mask always stays."""
        glued_before, before, after, glued_after = self._sides()
        before, after = before[max(0, len(before) - radius) :], after[:radius]
        return self._replace(before="".join([*before, glued_before]), after="".join([glued_after, *after]))

    def _sides(self) -> tuple[str, list[str], list[str], str]:
        glued_before, glued_after = re.findall(r"\S*$", self.before)[0], re.findall(r"^\S*", self.after)[0]
        before = re.findall(r"\S+\s+", self.before[: len(self.before) - len(glued_before)])
        return glued_before, before, re.findall(r"\s+\S+", self.after[len(glued_after) :]), glued_after


class QuestionSource(NamedTuple):
    """Questions of one text, the words it offers as candidates with their numbers, and what was counted in drawing."""

    name: str
    questions: list[Question]
    words: Counter
    counts: dict[str, int]


class Candidates(NamedTuple):
    """The words that are ranked, the same for every model.

    A word is one whatever its case, since a model may know lower case only; `forms` are its spellings in the texts and
    `numbers` the word that each of them is. `words` are as most often spelt, with their `counts`, most frequent first.
    """

    words: list[str]
    counts: list[int]
    forms: list[str]
    numbers: list[int]

    def number_of(self) -> dict[str, int]:
        return {form.casefold(): number for form, number in zip(self.forms, self.numbers, strict=True)}


def maskable(line: str) -> list[tuple[int, int]]:
    """(start, end) of the words that may be masked: MIN_LETTERS letters or more, nothing else, a space on both sides.

    Such a word is apart from its neighbours in every vocabulary, whatever a tokenizer does with apostrophes and signs.
    """
    found = re.finditer(rf"(?<= )\S{{{MIN_LETTERS},}}(?= )", line)
    return [word.span() for word in found if word[0].isalpha()]


def draw(name: str, file: Path, count: int, seed: int) -> QuestionSource:
    """Mask a word in each of `count` sentences of a text with one sentence a line, in the order of the text.

    Sentences are all alike probable, those that occur again counted once, and so are the words of a sentence. None is
    asked twice, so that answers are independent, as their interval supposes. If there are fewer, all are asked.
    Raises InputError if there is none with a word to mask.
    """
    lines: dict[str, int] = {}
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").split("\n"), 1):
        lines.setdefault(line.strip(), number)
    lines.pop("", None)
    places = {line: found for line in lines if (found := maskable(line))}
    if not places:
        raise InputError(
            f"{file}: no sentence with a word to mask; give raw text, one sentence a line, words apart by spaces."
        )
    random_of = random.Random(seed)
    chosen = random_of.sample(list(places), min(count, len(places)))
    questions = []
    for line in sorted(chosen, key=lines.__getitem__):
        start, end = random_of.choice(places[line])
        questions.append(Question(name, line[:start], line[start:end], line[end:], f"{file}, line {lines[line]}"))
    words = Counter(line[start:end] for line, found in places.items() for start, end in found)
    counts = {"sentences": len(lines), "without_a_word_to_mask": len(lines) - len(places), "masked": len(questions)}
    return QuestionSource(name, questions, words, counts)


def read_sentences(file: Path) -> QuestionSource:
    """One sentence a line: text with one [MASK], a tab, the expected word. Blank lines and # lines are passed over."""
    questions = []
    for number, line in enumerate(read_text(file).removeprefix("\ufeff").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        text, _, word = (part.strip() for part in line.partition("\t"))
        if text.count(MASK) != 1 or not word:
            raise InputError(f"{file}, line {number}: write a sentence with one {MASK}, a tab, and the expected word.")
        before, _, after = text.partition(MASK)
        questions.append(Question(file.name, before, word, after, f"{file}, line {number}"))
    if not questions:
        raise InputError(f"{file}: no sentence in it; write one a line, with one {MASK}, a tab, and the expected word.")
    words = Counter(question.word for question in questions)
    for question in questions:
        words.update(question.sentence[start:end] for start, end in maskable(question.sentence))
    return QuestionSource(file.name, questions, words, {"sentences": len(questions), "masked": len(questions)})


def candidates_of(words: Counter) -> Candidates:
    """The candidates that a count of spellings makes, most frequent first, of equals in the order of the alphabet."""
    spellings: dict[str, list[str]] = {}
    for form in sorted(words, key=lambda form: (-words[form], form)):
        spellings.setdefault(form.casefold(), []).append(form)
    total = {word: sum(words[form] for form in forms) for word, forms in spellings.items()}
    order = sorted(spellings, key=lambda word: (-total[word], word))
    forms = [(form, number) for number, word in enumerate(order) for form in spellings[word]]
    return Candidates(
        words=[spellings[word][0] for word in order],
        counts=[total[word] for word in order],
        forms=[form for form, _ in forms],
        numbers=[number for _, number in forms],
    )
