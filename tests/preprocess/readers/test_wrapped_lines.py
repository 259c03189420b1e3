"""Hard-wrapped lines are told from lines that are sentences, counted, and joined where the user asks for it."""

import textwrap

import pytest
from reader_helpers import read

from alibert_common.errors import InputError
from preprocess.readers import ReadOptions, check
from preprocess.readers.text import joined, margin_of

PARAGRAPH = (
    "Madame T., âgée de 72 ans, est hospitalisée pour une dyspnée d'aggravation progressive depuis trois semaines, "
    "avec une toux sèche et une fièvre à 38,5 °C. L'auscultation trouve des crépitants aux deux bases. La radiographie "
    "du thorax montre un syndrome interstitiel bilatéral, et l'échographie cardiaque est normale. Un traitement par "
    "amoxicilline 1 g trois fois par jour est commencé le jour même, relayé par voie orale au troisième jour."
)
SENTENCES = [f"{sentence}." for sentence in PARAGRAPH.removesuffix(".").split(". ")]
WRAPPED = "documents with hard-wrapped lines (--join-wrapped-lines joins these)"


@pytest.mark.parametrize("width", [45, 60, 72, 80, 100])
def test_wrapped_lines_are_counted_and_joined_when_asked(tmp_path, width):
    wrapped = [textwrap.wrap(PARAGRAPH, width), textwrap.wrap(SENTENCES[0], width)]
    text = "\n\n".join("\n".join(lines) for lines in wrapped)
    (tmp_path / "cas.txt").write_text(text)
    as_they_are = read(tmp_path / "cas.txt", one_document_per_file=True)
    assert as_they_are.lines == [wrapped[0] + wrapped[1]] and as_they_are.notes == {WRAPPED: 1}
    put_together = read(tmp_path / "cas.txt", one_document_per_file=True, join_wrapped_lines=True)
    assert put_together.lines == [[PARAGRAPH, SENTENCES[0]]]
    assert put_together.notes == {"documents whose hard-wrapped lines were joined": 1}


@pytest.mark.parametrize(
    "lines",
    [
        SENTENCES,
        [PARAGRAPH] * 5,
        ["Antécédents", "hypertension artérielle", "diabète de type 2", "Traitement", "metformine", "ramipril"] * 4,
        [f"- {sentence}" for sentence in SENTENCES] * 3,
        ["patient revu ce jour pour le suivi de son traitement par méthotrexate, bien toléré dans l'ensemble."] * 6,
    ],
    ids=["sentences", "paragraphs", "short lines", "items", "lines of one length that end with a stop"],
)
def test_lines_that_are_sentences_are_left_alone(tmp_path, lines):
    (tmp_path / "cas.txt").write_text("\n".join(lines))
    got = read(tmp_path / "cas.txt", join_wrapped_lines=True)
    assert got.lines == [lines] and got.notes == {}


def test_items_begin_a_line_and_hyphens_stay():
    items = textwrap.wrap("On retient une pneumopathie interstitielle aiguë, sans argument pour une embolie.", 60)
    lines = [*textwrap.wrap(PARAGRAPH, 60), "- " + items[0], *items[1:], "2. arrêt du traitement en cours et contrôle"]
    margin = margin_of([lines])
    assert margin
    assert [line[:2] for line in joined([lines], margin)] == ["Ma", "- ", "2."]
    broken = ["la patiente reçoit une oxygénothérapie à haut débit et post-", "opératoire sans complication notable"]
    assert joined([broken], 60) == ["la patiente reçoit une oxygénothérapie à haut débit et post-" + broken[1]]


def test_the_setting_belongs_to_text():
    with pytest.raises(InputError, match="'join_wrapped_lines': means nothing for the format 'jsonl'"):
        check(ReadOptions(format="jsonl", join_wrapped_lines=True))
