"""Weights repeat training documents, validation never meets training, and the seed decides all of it."""

import json
from collections import Counter

import pytest
from corpus_helpers import one_sentence, run

from preprocess.documents import Document, read_documents, write_document
from preprocess.files import InputError
from preprocess.mix import Source, mix


def write(path, count, name):
    with open(path, "w", encoding="utf-8") as handle:
        for number in range(count):
            write_document(handle, Document(str(number), name, [f"Texte {number} de {name}.", "Fin."], "CC0"))
    return path


def mixed(tmp_path, weights, share=0.1, seed=1, count=400):
    sources = [Source(write(tmp_path / f"{name}.jsonl", count, name), weight) for name, weight in weights.items()]
    manifest = mix(sources, tmp_path / "out", share, seed)
    parts = [[d.text for d in read_documents([tmp_path / "out" / f"{part}.jsonl"])] for part in ("train", "valid")]
    return *parts, manifest


def test_every_document_is_written_as_often_as_its_weight_says(tmp_path):
    train, valid, manifest = mixed(tmp_path, {"noyau": 3, "satellite": 2.5, "roman": 0.25})
    for source, record in zip(("noyau", "satellite", "roman"), manifest["sources"], strict=True):
        copies = Counter(Counter(text for text in train if source in text).values())
        size, held_out = 400, sum(source in text for text in valid)
        assert record["read"]["documents"] == size and record["valid"]["documents"] == held_out
        assert record["train"]["documents"] == sum(count * number for number, count in copies.items())
        assert sum(copies.values()) + record["left_out"] + held_out == size
        expected = {"noyau": {3: size - held_out}, "satellite": {2: 180, 3: 180}, "roman": {1: 90}}[source]
        assert copies.keys() == expected.keys()
        assert all(abs(copies[number] - expected[number]) < 40 for number in expected)  # four deviations


def test_copies_lie_a_passage_apart(tmp_path):
    train, _, _ = mixed(tmp_path, {"noyau": 2, "satellite": 1}, count=50)
    first, last = {}, {}
    for place, text in enumerate(train):
        first.setdefault(text, place)
        last[text] = place
    assert all(last[text] - first[text] > 50 for text in first if "noyau" in text)


def test_no_text_is_on_both_sides_even_under_another_name(tmp_path):
    texts = [f"Texte {number}." for number in range(300)]
    for name in ("a", "b"):
        with open(tmp_path / f"{name}.jsonl", "w", encoding="utf-8") as handle:
            for text in texts[: 300 if name == "a" else 3]:  # b alone would have chosen its own document for validation
                write_document(handle, Document(name + text, name, [text]))
    for seed in range(5):
        mix([Source(tmp_path / "a.jsonl", 2.5), Source(tmp_path / "b.jsonl", 1)], tmp_path / "out", 0.05, seed)
        train, valid = ({d.text for d in read_documents([tmp_path / "out" / f"{p}.jsonl"])} for p in ("train", "valid"))
        assert not train & valid and len(train | valid) == 300 and 1 < len(valid) < 40


def test_the_seed_decides(tmp_path):
    outputs = {}
    for seed in (1, 1, 2):
        mixed(tmp_path, {"noyau": 1.5}, seed=seed)
        content = (tmp_path / "out" / "train.jsonl").read_bytes(), (tmp_path / "out" / "manifest.json").read_bytes()
        assert outputs.setdefault(seed, content) == content
    assert outputs[1][0] != outputs[2][0] and json.loads(outputs[2][1])["seed"] == 2


def test_a_small_file_still_gives_validation_a_document(tmp_path):
    train, valid, _ = mixed(tmp_path, {"petit": 1}, share=0.0001, count=5)
    assert len(train) == 4 and len(valid) == 1


def test_a_single_document_is_refused_unless_nothing_is_to_be_set_apart(tmp_path):
    single = write(tmp_path / "un.jsonl", 1, "un")
    with pytest.raises(InputError, match="a single document, and none can be set apart for validation"):
        mix([Source(single, 1)], tmp_path / "out", 0.0001, 1)
    assert not (tmp_path / "out").exists()
    assert mix([Source(single, 1)], tmp_path / "out", 0.0, 1)["sources"][0]["train"]["documents"] == 1


def test_no_share_sets_nothing_apart(tmp_path):
    manifest = mix([Source(write(tmp_path / "a.jsonl", 5, "a"), 1)], tmp_path / "out", 0.0, 1)
    assert manifest["sources"][0]["train"]["documents"] == 5 and (tmp_path / "out" / "valid.jsonl").read_text() == ""


def test_nothing_left_to_train_on_is_refused(tmp_path):
    with pytest.raises(InputError, match="no document is left to train on"):
        mix([Source(write(tmp_path / "a.jsonl", 2, "a"), 0.000001)], tmp_path / "out", 0.5, 1)
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path):
    core = write(tmp_path / "cœur=1.jsonl", 50, "cœur")
    result = run("preprocess.mix", f"{core}=2.5", "--output", tmp_path / "out", "--valid", "0.1", "--seed", "3")
    assert result.returncode == 0, result.stderr
    assert "read  50 documents, 100 lines" in result.stdout and "(seed 3)" in result.stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["seed"] == 3 and manifest["inputs"][0]["bytes"] == core.stat().st_size


@pytest.mark.parametrize("argument", ["corpus.jsonl", "corpus.jsonl=0", "corpus.jsonl=-1", "corpus.jsonl=inf", "=2"])
def test_a_weight_that_is_none_is_refused(argument, tmp_path):
    result = run("preprocess.mix", argument, "--output", tmp_path / "out")
    assert result.returncode == 2 and "write FILE=WEIGHT" in result.stderr


def test_an_input_inside_the_output_is_refused_and_kept(tmp_path):
    mixed(tmp_path, {"noyau": 1}, count=50)
    with pytest.raises(InputError, match="which would be replaced"):
        mix([Source(tmp_path / "out" / "train.jsonl", 1.0)], tmp_path / "out", 0.1, 1)
    assert (tmp_path / "out" / "train.jsonl").is_file()


def test_a_missing_file_is_one_sentence(tmp_path):
    assert "no such file" in one_sentence(run("preprocess.mix", "no.jsonl=1", "--output", tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []
