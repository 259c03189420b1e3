"""Pieces come from words that so many patients have, and check-anonymity verifies it for a data-bin."""

import json
from collections import defaultdict

import numpy as np
import pytest
from anonymity_helpers import write_documents
from corpus_helpers import one_sentence, run
from text_helpers import CLINICAL, PAPER, normalizer_of, sample_lines

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.anonymity.build import AnonymityRule
from preprocess.binarize import binarize
from preprocess.check_anonymity import Violation, check
from preprocess.documents.document import Document
from preprocess.mixing.reader import Corpus
from preprocess.tokenizer.special_tokens import read_symbols
from preprocess.tokenizer.training_sample import SmallestKeys, draw_lines
from preprocess.tokenizer.word_counts import count_sample
from preprocess.train_tokenizer import train_tokenizer

SECRET = "Wxqzkjðu"  # of one patient, with a letter that no other has


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Documents of 40 patients in three files, two of them about one: the sample, and a name that is met 60 times."""
    lines, place = sample_lines()[:600], tmp_path_factory.mktemp("text")
    documents = [
        Document(f"d{number}", "s", lines[12 * number : 12 * number + 12], metadata={"patient": f"p{number % 40}"})
        for number in range(50)
    ]
    for number in (7, 47):
        documents[number].lines = [*documents[number].lines, *[f"M. {SECRET} a mal."] * 30]
    documents[1].lines = [*documents[1].lines, "le ŵ"]  # a word of two patients, beside one that will be unknown
    documents[2].lines = [*documents[2].lines, "le ŵ þ"]
    return [write_documents(place / f"{part}.jsonl", documents[part::3]) for part in range(3)], documents


def words_of_patients(documents, options):
    """{word: patients}, counted line by line."""
    found = defaultdict(set)
    for document in documents:
        for line in document.lines:
            for word in normalizer_of(options).bare_words(line):
                found[word].add(document.metadata["patient"])
    return found


@pytest.mark.parametrize("options", [PAPER, CLINICAL])
@pytest.mark.parametrize("k, workers", [(2, 1), (5, 2)])
def test_words_are_those_of_so_many_patients(tmp_path, text, options, k, workers):
    files, documents = text
    sample = draw_lines([Corpus("text", files)], 10_000, 1, Engine(workers), tmp_path / "drawn", patients=True)
    counts = count_sample(sample, options, Engine(workers), tmp_path / "jobs", k)
    expected = words_of_patients(documents, options)
    assert counts.words.keys() == expected.keys()
    assert counts.of_patients(k) == {word: n for word, n in counts.words.items() if len(expected[word]) >= k}
    assert max(map(len, counts.patients.values())) == k


def test_patients_follow_their_lines_when_not_all_are_drawn(tmp_path, text):
    files, documents = text
    sample = draw_lines([Corpus("text", files, 1.5)], 200, 1, Engine(), tmp_path / "drawn", patients=True)
    of_line = defaultdict(set)
    for document in documents:
        for line in document.lines:
            of_line[line].add(document.metadata["patient"])
    keys = defaultdict(set)
    for file in sample.files:
        for line, key in zip(file.read(), file.patients().tolist(), strict=True):
            if len(of_line[line]) == 1:
                keys[next(iter(of_line[line]))].add(key)
    assert len(keys) > 20 and all(len(some) == 1 for some in keys.values())
    assert len(set.union(*keys.values())) == len(keys)


def test_patients_stay_with_the_smallest_keys():
    smallest, generator = SmallestKeys(5, 1.0), np.random.default_rng(1)
    for first in range(0, 60, 10):
        numbers = np.arange(first, first + 10)
        smallest.add([str(number) for number in numbers], generator.random((10, 2)), numbers.astype(np.uint64))
    smallest.leave_out()
    assert len(smallest.lines) == 5 and smallest.patients.tolist() == [int(line) for line in smallest.lines]


@pytest.mark.parametrize("model", ["unigram", "wordpiece", "bpe"])
def test_no_piece_comes_from_the_word_of_one_patient(tmp_path, text, model):
    files, _ = text
    arguments = {"model": model, "vocab_size": 300}
    train_tokenizer(files, tmp_path / "plain", **arguments)
    manifest = train_tokenizer(files, tmp_path / "tokenizer", min_patients=2, **arguments)
    plain, ours = ("".join(read_symbols(tmp_path / name / "dict.txt")) for name in ("plain", "tokenizer"))
    assert "ð" in plain and "ð" not in ours
    assert manifest["min_patients"] == 2 and "ð" in manifest["patients"]["lost"]
    assert manifest["patients"]["lost_characters"] == len(manifest["patients"]["lost"])
    binarize(tmp_path / "tokenizer", {"train": files}, tmp_path / "out", anonymity=AnonymityRule(2, 2))
    assert check(tmp_path / "out").startswith("each piece of the vocabulary, and each run of 1 to 2 words")
    binarize(tmp_path / "tokenizer", {"train": files}, tmp_path / "three", anonymity=AnonymityRule(3, 1))
    assert check(tmp_path / "three").startswith("each run of 1 to 1 words")  # the pieces are of 2 patients only
    claim = tmp_path / "plain" / "manifest.json"
    claim.write_text(json.dumps(json.loads(claim.read_text()) | {"min_patients": 2}))
    binarize(tmp_path / "plain", {"train": files}, tmp_path / "false", anonymity=AnonymityRule(2, 1))
    with pytest.raises(Violation, match="is in no word of 2 patients"):
        check(tmp_path / "false")


def test_what_cannot_be_counted_is_refused(tmp_path, text):
    files, _ = text
    one = write_documents(tmp_path / "one.jsonl", [Document("a", "s", ["le patient"], metadata={"patient": "x"})])
    with pytest.raises(InputError, match="no word is common to 2 patients"):
        train_tokenizer([one], tmp_path / "out", vocab_size=20, min_patients=2)
    nameless = write_documents(tmp_path / "nameless.jsonl", [Document("b9", "s", ["le patient"])])
    with pytest.raises(InputError, match="of the source s have no patient, such as b9"):
        train_tokenizer([*files, nameless], tmp_path / "out", vocab_size=300, min_patients=2)
    words = [files[0], "--output", tmp_path / "out", "--punctuation", "after", "--min-patients", 2]
    assert "do not show where a word ends" in one_sentence(run("preprocess.train_tokenizer", *words))
