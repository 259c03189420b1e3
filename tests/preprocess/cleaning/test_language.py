"""French or not: sentences of our own in four languages, and what becomes of a document's lines."""

import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocess.cleaning.language import (
    BEGINNING,
    ENOUGH_LETTERS,
    FRENCH_WORDS,
    _by_model,
    _has_enough_letters,
    _has_french_words,
    foreign_lines,
    is_french,
)

ABSTRACT = [
    "Background: severe malaria is a common cause of admission among children under five years of age.",
    "Results: overall survival was longer in the intervention group than in the control group.",
]
RESUME = [
    "Introduction : le paludisme grave est une cause fréquente d'hospitalisation des enfants de moins de cinq ans.",
    "Résultats : la survie globale était plus longue dans le groupe traité que dans le groupe témoin.",
]


@pytest.mark.parametrize("language", ["french", "english", "spanish", "italian"])
def test_sentences_of_four_languages(repository, language):
    file = repository / "tests" / "fixtures" / "languages" / f"{language}.txt"
    sentences = file.read_text(encoding="utf-8").splitlines()
    assert len(sentences) >= 40
    assert [line for line in sentences if is_french(line) is not (language == "french")] == []


def test_a_long_line_in_english_is_foreign_in_a_french_document():
    assert foreign_lines([RESUME[0], ABSTRACT[0], RESUME[1]]) == {1}


def test_short_lines_go_with_the_long_ones():
    headings = ["Abstract", "Case report", "Follow-up", "Discussion"]
    assert foreign_lines([*headings, *RESUME, ABSTRACT[0]]) == {6}
    assert foreign_lines([*headings, RESUME[0], *ABSTRACT]) == {0, 1, 2, 3, 5, 6}


def test_short_lines_alone_are_judged_together():
    letter = ["Motif : chute à domicile", "ATCD : HTA, FA, AVC en 2015", "Trt : Eliquis, Bisoprolol", "Pas de fièvre"]
    notes = ["Reason: fall at home", "History: stroke in 2015", "No fever, no headache", "Seen by the physician"]
    assert foreign_lines(letter) == set() and foreign_lines(notes) == {0, 1, 2, 3}
    assert foreign_lines(notes[:1]) == set(), "one short line cannot be told"


@pytest.mark.parametrize("line", ["Agent infectieux local", "Burn-out, fatigue, insomnie", "Cholangio-IRM normale"])
def test_a_short_line_that_the_model_takes_for_foreign_is_kept(line):
    assert not is_french(line) and foreign_lines([line]) == set() and foreign_lines([line, *RESUME]) == set()


@pytest.mark.parametrize(
    "line",
    [
        "AMOXICILLINE 500 mg, PARACETAMOL 1 g, OXYCODONE 5 mg, LEVOTHYROXINE 75 µg, BISOPROLOL 2,5 mg, ENOXAPARINE",
        "Hémoglobine 9,8 g/dL, leucocytes 12,4 G/L, plaquettes 145 G/L, CRP 87 mg/L, créatinine 112 µmol/L, Na 138",
        "TRAITEMENT DE SORTIE : KARDEGIC 75 MG, TAHOR 40 MG, BISOCE 2,5 MG, COVERSYL 5 MG, INEXIUM 20 MG, LASILIX 40",
        "Staphylococcus aureus méti-S, Escherichia coli BLSE, Pseudomonas aeruginosa, Candida albicans sur le LBA",
        "ANTÉCÉDENTS CHIRURGICAUX : APPENDICECTOMIE, CHOLÉCYSTECTOMIE, PROTHÈSE TOTALE DE HANCHE, CATARACTE",
    ],
)
def test_french_without_such_words_is_kept(line):
    assert sum(map(str.isalpha, line)) >= ENOUGH_LETTERS and foreign_lines([line]) == set()
    assert foreign_lines([line, *ABSTRACT]) == {1, 2}


def test_a_quoted_title_does_not_make_a_paragraph_french():
    quoted = " ".join([*ABSTRACT * 2, "It was first described in Les Annales des maladies dans la ville."])
    assert not is_french(quoted)


def test_nothing_is_downloaded():
    """The model that is used is the file in the wheel."""
    from preprocess.cleaning.language import _detector

    assert _detector().config.model == "lite" and is_french("Le patient va bien") is is_french("Le patient va bien")


WORDS = st.sampled_from(
    [*sorted(FRENCH_WORDS)[-12:], "PEUT", "Très", "patient", "Le", "dansant", "x" * 40, "œdème", "\u00a0", "½", "12"]
)


@given(st.lists(WORDS, max_size=150).map(" ".join))
def test_quick_tests_of_a_line_give_what_the_slow_ones_do(text):
    words = text.split()
    needed = max(2, min(5, len(words) // 10))
    assert _has_french_words(text) == (len(FRENCH_WORDS & {word.lower() for word in words}) >= needed)
    assert _has_enough_letters(text) == (sum(map(str.isalpha, text)) >= ENOUGH_LETTERS)


def test_a_heading_in_capitals_is_not_shown_to_the_model():
    """The model takes it for English."""
    heading = "COMMENT UTILISER CLOPIXOL A ACTION SEMI-PROLONGEE 50 mg/ml, solution injectable I.M. ?"
    assert not _by_model(heading) and foreign_lines([heading]) == set()


@pytest.mark.parametrize("letter", ["a", "é", "œ", "ж"])
@pytest.mark.parametrize("letters", [ENOUGH_LETTERS - 1, ENOUGH_LETTERS])
def test_letters_of_any_alphabet_are_enough(letter, letters):
    assert _has_enough_letters(f"12 «½» {letter * letters} 34") == (letters == ENOUGH_LETTERS)


def test_the_beginning_of_a_long_line_is_cut_after_a_word():
    """'dans' of 'dansant' is not one of the five words; the line has 60 words, so four are too few."""
    line = "au aux avec des " + "x" * (BEGINNING - 21) + " dansant" + " x" * 400
    assert line[:BEGINNING].endswith(" dans") and not _has_french_words(line)
    assert _has_french_words(line.replace("dansant", "dans"))


def test_the_campaign_counts_right_answers(repository, tmp_path):
    """tests/campaigns/language.py, on the sentences here, the English ones once said to be French."""
    for folder, language in (("fr", "french"), ("en", "english"), ("wrong", "english")):
        (tmp_path / folder).mkdir()
        shutil.copy(repository / "tests" / "fixtures" / "languages" / f"{language}.txt", tmp_path / folder)
    script = [sys.executable, str(repository / "tests" / "campaigns" / "language.py"), "--lines", "40"]
    folders = [f"fr={tmp_path}/fr", f"en={tmp_path}/en", f"es={tmp_path}/wrong"]
    shown = subprocess.run([*script, *folders], capture_output=True, text=True, cwd=repository)
    assert "is_french: 1.0000 (120) of 120" in shown.stdout, shown.stderr
    wrong = subprocess.run([*script, f"fr={tmp_path}/wrong"], capture_output=True, text=True, cwd=repository)
    assert "is_french: 0.0000 (40) of 40" in wrong.stdout and "alone, 0 by words, and drops 40" in wrong.stdout
    few = subprocess.run([*script[:2], *folders], capture_output=True, text=True, cwd=repository)
    assert few.returncode == 1 and "42 lines of 40 characters; 500 are needed" in few.stderr
