"""The shipped sample is what its README says: varied documents, offsets that fit, every type in every split."""

import re
from collections import Counter
from itertools import combinations

TYPES = {"anatomy", "pathology", "symptom", "substance", "value"}


def texts(repository, part: str) -> dict:
    """The documents of recipes/sample/brat or recipes/sample/text."""
    files = sorted((repository / "recipes" / "sample" / part).rglob("*.txt"))
    return {file: file.read_text(encoding="utf-8") for file in files}


def all_texts(repository) -> dict:
    return texts(repository, "brat") | texts(repository, "text")


def eight_grams(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + 8]) for i in range(len(words) - 7)}


def test_there_are_enough_documents_and_sentences(repository):
    documents = texts(repository, "brat")
    sentences = sum(
        line.rstrip().endswith((".", "?", "!")) for text in documents.values() for line in text.splitlines()
    )
    annotated = [file for file in documents if file.with_suffix(".ann").is_file()]
    assert len(texts(repository, "text")) >= 150
    assert len(documents) >= 60 and sentences >= 400 and len(annotated) >= 30


def test_no_two_documents_share_a_fifth_of_their_eight_grams(repository):
    grams = {file.name: eight_grams(text) for file, text in all_texts(repository).items()}
    alike = {
        (a, b): len(grams[a] & grams[b]) / min(len(grams[a]), len(grams[b]))
        for a, b in combinations(grams, 2)
        if len(grams[a] & grams[b]) > 0.2 * min(len(grams[a]), len(grams[b]))
    }
    assert alike == {}


def test_the_overlap_is_seen_when_there_is_one():
    text = "le patient a été hospitalisé pour une dyspnée aiguë avec fièvre et toux depuis trois jours"
    assert len(eight_grams(text) & eight_grams(text.replace("trois", "deux"))) > 0.2 * len(eight_grams(text))


def test_offsets_fit_and_every_type_is_in_every_split(repository):
    counts = {split: Counter() for split in ("train", "dev", "test")}
    for file, text in texts(repository, "brat").items():
        for line in file.with_suffix(".ann").read_text(encoding="utf-8").splitlines():
            _, place, surface = line.split("\t")
            kind, start, end = place.split(" ")
            assert text[int(start) : int(end)] == surface, f"{file.name}: {line}"
            counts[file.parent.name][kind] += 1
    assert all(set(found) == TYPES and min(found.values()) >= 30 for found in counts.values())
