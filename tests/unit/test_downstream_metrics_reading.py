"""Answers: SQuAD's rules case by case, against its script where transformers has it, and BioASQ's measures."""

import random
import re
import string
from types import SimpleNamespace

import pytest

from downstream.metrics.reading import exact_match, factoids, list_rates, lists, normalise, reading, token_f1


@pytest.mark.parametrize(
    "text, normal",
    [
        ("The Heart", "heart"),
        ("an  apple\tor\na\u00a0pear ", "apple or pear"),
        ("U.S.", "us"),  # punctuation goes without a trace
        ("beta-blocker", "betablocker"),
        ("the-end", "theend"),  # before articles do
        ("theory of another", "theory of another"),
        ("x–a–b", "x– –b"),  # no dash of ASCII: it stays, and parts words
        ("«le cœur»", "«le cœur»"),
        ("The a an.", ""),
    ],
)
def test_normalisation_is_squads(text, normal):
    assert normalise(text) == normal


@pytest.mark.parametrize(
    "text, normal",
    [
        ("L’hôpital", "hôpital"),
        ("l'hôpital", "hôpital"),
        ("« La douleur du bras »", "douleur bras"),
        ("un des patients, les autres", "patients autres"),
        ("5 L", "5 l"),  # litres
        ("aujourd'hui", "aujourdhui"),
        ("lard, unité, the", "lard unité the"),
    ],
)
def test_french_articles(text, normal):
    assert normalise(text, "fr") == normal


@pytest.mark.parametrize(
    "forms, answer, match, f1",
    [
        (["Denver Broncos"], "the Denver Broncos!", 1, 1),
        (["Denver Broncos"], "Denver", 0, 2 / 3),
        (["Denver", "Denver Broncos of the west"], "Denver Broncos", 0, 2 / 3),  # the best form counts
        (["in the lung", "lung"], "lung", 1, 1),
        (["very very bad"], "very very good", 0, 2 / 3),  # a word counts as often as both have it
        (["very bad"], "very very bad", 0, 4 / 5),
        (["lung"], "heart", 0, 0),
        (["lung"], "", 0, 0),
        ([], "", 1, 1),  # SQuAD 2.0
        ([], "lung", 0, 0),
        ([], "the", 1, 1),
        (["the", "lung"], "a", 0, 0),  # a form of which nothing is left is no form
        (["the", "lung"], "", 0, 0),
        (["the lung", "."], "lung", 1, 1),
        (["the", "a."], "an", 1, 1),  # unless nothing is left of any
        (["the", ""], "lung", 0, 0),
    ],
)
def test_squad_by_hand(forms, answer, match, f1):
    assert exact_match(forms, answer) == match and token_f1(forms, answer) == pytest.approx(f1)


def test_means_with_and_without_an_answer():
    report = reading([["lung"], ["left lung"], []], ["lung", "lung", ""])
    assert report["exact_match"] == pytest.approx(2 / 3) and report["f1"] == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert report["answerable"] == {"exact_match": 0.5, "f1": pytest.approx(5 / 6), "support": 2}
    assert report["unanswerable"] == {"exact_match": 1.0, "f1": 1.0, "support": 1}
    assert reading([["a b"]], ["b"])["unanswerable"] == {"exact_match": None, "f1": None, "support": 0}
    french = reading([["l'os"]], ["os"], "fr")
    assert french["f1"] == french["exact_match"] == 1.0 and reading([["l'os"]], ["os"])["f1"] == 0.0


def random_text(draw):
    return "".join(draw.choice([" ", " ", "a", "the", "an", "lung", "Os", "x", ".", "-", "'", "\n"]) for _ in range(9))


def random_case(draw):
    """Accepted forms and an answer; nothing is left of some of either."""
    forms = [draw.choice(["the.", random_text(draw), random_text(draw)]) for _ in range(draw.randint(1, 3))]
    return forms, draw.choice(["a", random_text(draw), *forms])


def by_hand(text):
    kept = "".join(
        letter for letter in text if letter.isalnum() or letter.isspace() or letter not in string.punctuation
    )
    return [word for word in re.findall(r"\S+", kept.casefold()) if word not in ("a", "an", "the")]


def test_generated_answers():
    draw = random.Random(1)
    for _ in range(300):
        forms, answer = random_case(draw)
        words = by_hand(answer)
        accepted = [form for form in map(by_hand, forms) if form] or [[]]
        f1s = []
        for theirs in accepted:
            rest = list(theirs)
            shared = sum(word in rest and not rest.remove(word) for word in words)
            f1s.append(2 * shared / (len(words) + len(theirs)) if words or theirs else 1.0)
        assert token_f1(forms, answer) == pytest.approx(max(f1s))
        assert exact_match(forms, answer) == (words in accepted)


def test_generated_answers_by_the_official_script():
    """transformers 4 has SQuAD 2.0's; 5 has dropped it."""
    official = pytest.importorskip("transformers.data.metrics.squad_metrics")
    draw = random.Random(2)
    for _ in range(300):
        forms, answer = random_case(draw)
        example = SimpleNamespace(qas_id="q", answers=[{"text": form} for form in forms])
        matches, f1s = official.get_raw_scores([example], {"q": answer})
        assert (exact_match(forms, answer), token_f1(forms, answer)) == (matches["q"], pytest.approx(f1s["q"]))


def test_factoids_by_hand():
    gold = [["TP53", "p53"], ["INSulin"], ["aspirin"], ["renin"], ["IL-6"]]
    predicted = [["P53", "mdm2"], ["glucagon", "Insulin"], ["a", "b", "c", "d", "e", "aspirin"], [], ["IL6"]]
    assert factoids(gold, predicted) == {
        "strict_accuracy": 0.2,
        "lenient_accuracy": 0.4,
        "mean_reciprocal_rank": pytest.approx(0.3),
        "support": 5,
    }
    assert factoids([["x"]], [["a", "b", "c", "d", "x"]])["mean_reciprocal_rank"] == 0.2


def test_lists_by_hand():
    gold = [[["TP53", "p53"], ["BRCA1"]], [["a"], ["b"], ["c"]], [["a"]]]
    predicted = [["p53", "tp53", "brca2"], ["A", "B"], []]
    rates = [(1 / 3, 1 / 2, 2 / 5), (1, 2 / 3, 4 / 5), (0, 0, 0)]
    assert [list_rates(*pair) for pair in zip(gold, predicted, strict=True)] == [pytest.approx(one) for one in rates]
    report = lists(gold, predicted)
    assert report["precision"] == pytest.approx(4 / 9) and report["recall"] == pytest.approx((1 / 2 + 2 / 3) / 3)
    assert report["f1"] == pytest.approx(1.2 / 3) and report["support"] == 3  # the mean F1, not the F1 of the means


def test_generated_lists():
    draw = random.Random(3)
    for _ in range(200):
        answers = [[f"{number}{form}" for form in "xyz"[: draw.randint(1, 3)]] for number in range(draw.randint(1, 4))]
        given = [f"{draw.randint(0, 5)}{draw.choice('XYZ')}" for _ in range(draw.randint(1, 6))]
        hit = sum(any(form.upper() in given for form in forms) for forms in answers)
        wanted = (hit / len(given), hit / len(answers), 2 * hit / (len(given) + len(answers)))
        assert list_rates(answers, given) == pytest.approx(wanted)
