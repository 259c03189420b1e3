"""Samples depend on what was dropped only, not on its order nor on how it was divided."""

import json
import random
from dataclasses import asdict

from preprocess.documents.samples import LONGEST, Samples, difference, shorten

LINES = [("a rule", f"document-{n % 7}", f"line {n // 2}") for n in range(300)]  # each line in two documents
LINES += [("another rule", "document", f"line {n}") for n in range(3)]


def of(lines, most=20):
    samples = Samples(most)
    for line in lines:
        samples.add(*line)
    return samples


def test_the_order_does_not_matter():
    shuffled = random.Random(1).sample(LINES, len(LINES))
    assert of(shuffled) == of(LINES) and list(map(len, of(LINES).kept.values())) == [20, 3]


def test_shards_merge_to_the_whole_in_any_order_and_through_json():
    for division in ([0, 100, 303], [0, 1, 2, 302, 303], [0, 0, 303]):
        shards = [of(LINES[start:end]) for start, end in zip(division, division[1:], strict=False)]
        for order in (shards, shards[::-1]):
            merged = Samples(20)
            for shard in order:
                merged.merge(Samples(**json.loads(json.dumps(asdict(shard)))))
            assert merged == of(LINES)


def test_a_sample_is_not_just_the_first_ones():
    """Of 150 texts the first 20, or the last, hold 2.7 of 20 drawn ones: more than 9 has odds below 1 in 1,000."""
    numbers = [int(text.split()[1]) for _, text in of(LINES).kept["a rule"].values()]
    assert sum(n < 20 for n in numbers) < 10 and sum(n >= 130 for n in numbers) < 10


def test_none_are_kept_when_none_are_asked_for():
    assert of(LINES, most=0).kept == {}


def test_the_same_text_of_two_documents_is_shown_with_the_smaller_id():
    lines = [("a rule", document, "line") for document in ("b", "a", "c")]
    assert [document for document, _ in of(lines, most=1).kept["a rule"].values()] == ["a"]


def test_an_excerpt_is_made_only_of_what_is_kept():
    """Of 150 texts in order, 20 are kept, and some 60 were for a while."""
    samples, made = Samples(20), []
    for rule, document, text in LINES[:300]:
        samples.add(rule, document, text, lambda text=text: made.append(text) or f"[{text}]")
    kept = [[document, f"[{text}]"] for document, text in of(LINES[:300]).kept["a rule"].values()]
    assert sorted(samples.kept["a rule"].values()) == sorted(kept) and len(made) < 200


def test_the_page_says_the_rule_its_count_its_reason_and_the_lines():
    samples = of([("a rule", "letter-3", "Page 3"), ("a rule", "letter-1", "Page  3 \t of 4")])
    page = samples.page([("unused", "no reason"), ("a rule", "page numbers")], {"a rule": 1200, "unused": 0})
    header, reason, *lines = page.splitlines()
    assert header == "# a rule (1,200)" and reason == "# page numbers"
    assert sorted(lines) == ["letter-1\tPage 3 of 4", "letter-3\tPage 3"]


def test_excerpts_are_short_and_show_the_change():
    assert shorten("x" * 1000) == "x" * (LONGEST - 1) + "…"
    long = "mot " * 200
    shown = difference(long + "prÃ©cis " + long, long + "précis " + long)
    assert "prÃ©cis" in shown and "→" in shown and "précis" in shown and len(shown) <= LONGEST
