"""Which tokens binarize --min-patients lets a training learn, against a count of all patients in memory."""

import json

import numpy as np
import pytest
from anonymity_helpers import anonymous, bits, oracle, random_documents, write_documents
from binarize_helpers import contents
from corpus_helpers import one_sentence, run, write_tokenizer

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.anonymity import counting, token_text
from preprocess.anonymity.build import AnonymityRule
from preprocess.binarize import binarize
from preprocess.check_anonymity import Violation, check
from preprocess.databin.patients import patient_keys
from preprocess.documents.document import Document


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def with_text(lines):
    """The marks of the lines of text, those between documents left out."""
    return [line for line in lines if len(line) > 1]


@pytest.mark.parametrize("tokens, at_once", [(1 << 20, 1 << 20), (40, 7)])
@pytest.mark.parametrize("k, n", [(2, 1), (2, 2), (2, 3), (3, 3), (4, 2)])
def test_the_tokens_are_those_of_a_count_in_memory(tmp_path, tokenizer, k, n, tokens, at_once, monkeypatch):
    monkeypatch.setattr(token_text, "PART_TOKENS", tokens)
    monkeypatch.setattr(counting, "AT_ONCE", at_once)
    prefix = anonymous(tmp_path, tokenizer, random_documents(10 * k + n), k, n) / "train"
    expected = oracle([prefix], k, n)[prefix]
    assert with_text(bits(prefix)) == expected
    assert all(line == [1] for line in bits(prefix) if len(line) == 1)
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())["anonymity"]
    assert told["predictable_tokens"] == sum(sum(line[:-1]) for line in expected) > 0
    assert told["tokens"] == sum(len(line) - 1 for line in expected) > told["predictable_tokens"]
    assert check(tmp_path / "out") == f"each run of 1 to {n} words to learn is of {k} patients or more"


def test_all_splits_of_all_data_bins_are_one_text(tmp_path, tokenizer):
    first, second, third = (random_documents(seed, 10) for seed in (1, 2, 3))
    splits = {
        name: [write_documents(tmp_path / f"{name}.jsonl", text)]
        for name, text in (("train", first), ("train1", second), ("valid", third))
    }
    rule = AnonymityRule(3, 2)
    binarize(tokenizer, splits, tmp_path / "out", weights={"a": 1.0, "b": 2.0}, data_bins=2, anonymity=rule)
    prefixes = [tmp_path / "out" / place / split for place in "12" for split in ("train", "train1")]
    expected = oracle(prefixes, 3, 2)
    assert {prefix: with_text(bits(prefix)) for prefix in prefixes} == expected
    alone = oracle(prefixes[:1], 3, 2)
    assert alone[prefixes[0]] != expected[prefixes[0]]  # fewer patients have what is counted in one split
    assert not list((tmp_path / "out").rglob("valid.predictable"))
    assert check(tmp_path / "out") == check(tmp_path / "out", passes=3)
    assert json.loads((tmp_path / "out/2/anonymity.json").read_text())["counts"]["min_patients"] == 3
    with pytest.raises(Violation, match="is no proof; check the output of binarize"):
        check(tmp_path / "out/2")


def test_processes_change_nothing_and_without_the_option_nothing_is_new(tmp_path, tokenizer):
    text = random_documents(4, 30)
    one, two = (
        contents(anonymous(tmp_path / str(workers), tokenizer, text, engine=Engine(workers))) for workers in (1, 2)
    )
    differing = {name for name in one | two if one.get(name) != two.get(name)}
    assert differing == {"manifest.json"}  # the path of the text
    train = write_documents(tmp_path / "train.jsonl", text)
    binarize(tokenizer, {"train": [train]}, tmp_path / "plain")
    plain = contents(tmp_path / "plain")
    added = {"train.predictable", "anonymity.json"}
    assert one.keys() - plain.keys() == added and "anonymity" not in json.loads(plain["manifest.json"])
    assert [plain[name] for name in plain if name != "manifest.json"] == [
        one[name] for name in plain if name != "manifest.json"
    ]


def test_a_stopped_count_goes_on(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr(token_text, "PART_TOKENS", 40)
    find, done = counting.FindNgrams.__call__, []
    splits = {"train": [write_documents(tmp_path / "train.jsonl", random_documents(5))]}

    def counted(self, part):
        if len(done) == 6:
            done.append(None)
            raise InputError("no more")
        done.append((self.n, str(part)))
        find(self, part)

    monkeypatch.setattr(counting.FindNgrams, "__call__", counted)
    with pytest.raises(InputError, match="no more"):
        binarize(tokenizer, splits, tmp_path / "out", anonymity=AnonymityRule(2))
    assert not (tmp_path / "out").exists()
    binarize(tokenizer, splits, tmp_path / "out", anonymity=AnonymityRule(2))
    done.remove(None)
    assert len(done) == len(set(done)) and {n for n, _ in done} == {1, 2, 3}
    binarize(tokenizer, splits, tmp_path / "whole", anonymity=AnonymityRule(2))
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def of_patient(name, patient, line="le patient", source="s"):
    return Document(name, source, [line], metadata={"patient": patient} if patient else {})


def test_a_document_without_a_patient_is_one_where_no_document_of_its_source_has_one(tmp_path, tokenizer):
    text = [of_patient("a", ""), of_patient("a", "", source="v")]
    text += [of_patient("c", "x", source="t"), of_patient("d", "x", source="u")]
    out = anonymous(tmp_path, tokenizer, text)
    told = json.loads((out / "manifest.json").read_text())["anonymity"]
    assert (told["patients"], told["documents"], told["documents_as_patients"]) == (3, 4, 2)
    [keys] = patient_keys([out / "train"])
    assert keys.dtype == np.uint64 and len(set(keys.tolist())) == 3 and keys[2] == keys[3]
    mixed = [*text, of_patient("e7", "", source="t")]
    words = "1 of 2 documents of the source t have no patient, such as e7; ingest it again with --patient-field"
    with pytest.raises(InputError, match=words):
        anonymous(tmp_path / "mixed", tokenizer, mixed)
    assert not (tmp_path / "mixed" / "out").exists()


@pytest.mark.parametrize(
    "text, said",
    [
        ([of_patient("a", "x"), of_patient("b", "x")], "--min-patients 2: the text has only 1 patients"),
        ([of_patient("a", "x"), of_patient("b", "y", "la fièvre")], "no token is left to learn"),
        ([of_patient("a", "x"), of_patient("b", "y", "patient le")], "no token is left to learn"),
    ],
)
def test_a_text_that_leaves_nothing_to_learn_is_refused(tmp_path, tokenizer, text, said):
    with pytest.raises(InputError, match=said):
        anonymous(tmp_path, tokenizer, text)
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_that_marks_no_words_is_refused_before_the_work(tmp_path, tokenizer, monkeypatch):
    monkeypatch.setattr("preprocess.anonymity.build.read_symbols", lambda path: ["le", "la"])
    with pytest.raises(InputError, match="nothing shows where words start.*no --min-patients"):
        anonymous(tmp_path, tokenizer, random_documents(1))
    assert not (tmp_path / "out").exists()


def test_the_options_of_the_command(tmp_path, tokenizer):
    train = write_documents(tmp_path / "train.jsonl", random_documents(6))
    words = ["--tokenizer", tokenizer, "--train", train, "--output", tmp_path / "out", "--workers", 1]
    assert "--ngram-words is for --min-patients" in one_sentence(run("preprocess.binarize", *words, "--ngram-words", 2))
    printed = run("preprocess.binarize", *words, "--min-patients", 2, "--ngram-words", 2).stdout
    assert "whose words and runs of 2 words 2 of 5 patients have" in printed
