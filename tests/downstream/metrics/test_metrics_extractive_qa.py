"""Answers: SQuAD's rules case by case and against its script, and BioASQ's measures."""

import json
import os
import random
import re
import string
import subprocess
import sys

import pytest

from downstream.metrics.extractive_qa import exact_match, factoids, list_rates, lists, normalise, reading, token_f1


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


BY_HAND = [  # accepted forms, answer, exact match, F1
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
    # From here, forms of SQuAD's own questions.
    (["Denver Broncos", "Denver Broncos", "Denver Broncos"], "The Denver Broncos.", 1, 1),
    (["24–10"], "24-10", 0, 0),  # the dash of one is no ASCII: 24–10, 2410
    (["gold", "gold", "gold"], "golden", 0, 0),
    (["in the 10th and 11th centuries", "10th and 11th centuries"], "the 10th and 11th", 0, 6 / 7),
    (
        [
            "Santa Clara, California",
            "Levi's Stadium",
            "Levi's Stadium in the San Francisco Bay Area at Santa Clara, California.",
        ],
        "Levi's Stadium in Santa Clara",
        0,
        5 / 8,
    ),
]


@pytest.mark.parametrize("forms, answer, match, f1", BY_HAND)
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


# SQuAD 2.0's script is a module of transformers 4, which 5 has dropped. Prints, as JSON, the exact match and the F1 of
# each case, and its figures of all cases.
OFFICIAL = """
import json, sys
from types import SimpleNamespace
from transformers.data.metrics import squad_metrics
cases = json.load(sys.stdin)
examples = [
    SimpleNamespace(qas_id=number, answers=[{"text": form} for form in forms])
    for number, (forms, _) in enumerate(cases)
]
answers = {number: answer for number, (_, answer) in enumerate(cases)}
each = zip(*(scores.values() for scores in squad_metrics.get_raw_scores(examples, answers)))
print(json.dumps([list(each), squad_metrics.squad_evaluate(examples, answers)]))
"""


@pytest.mark.skipif(
    not os.environ.get("ALIBERT_TRANSFORMERS_4"), reason="no folder with transformers 4 (recipes/test.sh)"
)
def test_the_official_script_says_the_same(repository):
    """Of the cases by hand, of generated ones, and of all together, with and without an answer."""
    draw = random.Random(2)
    cases = [(forms, answer) for forms, answer, _, _ in BY_HAND] + [random_case(draw) for _ in range(300)]
    done = subprocess.run(
        [sys.executable, "-c", OFFICIAL],
        input=json.dumps(cases),
        env=os.environ | {"PYTHONPATH": os.environ["ALIBERT_TRANSFORMERS_4"]},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    each, theirs = json.loads(done.stdout.splitlines()[-1])
    assert each[: len(BY_HAND)] == [[match, pytest.approx(f1)] for _, _, match, f1 in BY_HAND]
    assert [[exact_match(*case), token_f1(*case)] for case in cases] == [
        [match, pytest.approx(f1)] for match, f1 in each
    ]
    ours = reading(*zip(*cases, strict=True))
    names = {"": ours, "HasAns_": ours["answerable"], "NoAns_": ours["unanswerable"]}
    for start, figures in names.items():
        assert figures["exact_match"] == pytest.approx(theirs[f"{start}exact"] / 100), start
        assert (
            figures["f1"] == pytest.approx(theirs[f"{start}f1"] / 100) and figures["support"] == theirs[f"{start}total"]
        )


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
