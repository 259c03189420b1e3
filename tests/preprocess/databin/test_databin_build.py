"""Training text dealt out to several data-bins, document by document: each holds its part, and all that is shared."""

import errno
import os

import numpy as np
import pytest
from binarize_helpers import contents, expected, items
from corpus_helpers import one_sentence, run, write_tokenizer

from alibert_common.errors import InputError
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask
from preprocess.binarize import binarize
from preprocess.databin import encoded_shards
from preprocess.databin.document_records import DocumentRecord, read_records, records_path, written_lines
from preprocess.documents.document import Document, read_documents, write_document
from preprocess.mixing.mix_file import read_mix


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("tokenizer"))


def documents(count, name):
    return [f"Le patient {number} de {name}.\nPas de toux." + "\nFin." * (number % 3) for number in range(count)]


@pytest.fixture
def splits(tmp_path):
    """Two corpora, of three files and of one, and one to validate on; the first has a document without a token."""
    for split, name, texts in (
        ("train", "a", [documents(4, "un"), ["\u200b", *documents(2, "deux")], documents(5, "trois")]),
        ("train1", "b", [documents(7, "quatre")]),
        ("valid", "c", [documents(3, "cinq")]),
    ):
        (tmp_path / split).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / split / f"{name}{number}.txt").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return {split: sorted((tmp_path / split).iterdir()) for split in ("train", "train1", "valid")}


def texts_of(paths):
    """The documents of a split, those without a token left out."""
    whole = "\n\n".join(path.read_text(encoding="utf-8").strip("\n") for path in paths)
    return [text for text in whole.split("\n\n") if text != "\u200b"]


def names_of(paths):
    """The ids of the documents of a split, those without a token left out."""
    return [one.id for one in read_documents(paths) if one.text != "\u200b"]


DEFAULTS = (encoded_shards.LINES_AT_ONCE, encoded_shards.IDS_AT_ONCE)


@pytest.mark.parametrize("lines, ids", [DEFAULTS, (2, 1), (5, 20), (1, 1 << 22)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_data_bin_has_its_turn_of_every_corpus(tmp_path, tokenizer, splits, count, lines, ids, monkeypatch):
    monkeypatch.setattr(encoded_shards, "LINES_AT_ONCE", lines)
    monkeypatch.setattr(encoded_shards, "IDS_AT_ONCE", ids)
    weights = {"coeur": 2.0, "roman": 1.0}
    manifest = binarize(tokenizer, splits, tmp_path / "out", weights=weights, data_bins=count)
    places = [tmp_path / "out"] if count == 1 else [tmp_path / "out" / str(number + 1) for number in range(count)]
    for turn, place in enumerate(places):
        assert read_mix(place) == weights
        for split in ("train", "train1"):
            own = texts_of(splits[split])[turn::count]
            assert items(place / split) == expected("\n\n".join(own))
            assert [record.id for record in read_records(place / split)] == names_of(splits[split])[turn::count]
            if count > 1:
                held = manifest["data_bins"][place.name][split]
                assert held["documents"] == len(own) and held["lines"] == sum(text.count("\n") + 1 for text in own)
        assert items(place / "valid") == expected("\n\n".join(texts_of(splits["valid"])))
    assert manifest["splits"]["train"]["documents"] == 11 and manifest["splits"]["train"]["lines_without_token"] == 1


def test_a_record_says_id_source_and_patient(tmp_path, tokenizer):
    with open(tmp_path / "train.jsonl", "w", encoding="utf-8") as handle:
        for name, metadata in (("a", {"patient": " 7.0 "}), ("b\n2", {}), ("é", {"patient": "Zoé", "ward": "3"})):
            write_document(handle, Document(name, "lettres", ["Toux."], metadata=metadata))
    binarize(tokenizer, {"train": [tmp_path / "train.jsonl"]}, tmp_path / "out")
    ours = [("a", "lettres", "7"), ("b\n2", "lettres", ""), ("é", "lettres", "Zoé")]
    assert list(read_records(tmp_path / "out" / "train")) == [DocumentRecord(*record) for record in ours]


def test_a_data_bin_without_records_and_one_with_a_foreign_line_are_refused(tmp_path):
    with pytest.raises(InputError, match="train.documents.jsonl.zst: no such file, so no document has a name"):
        list(read_records(tmp_path / "train"))
    with written_lines(records_path(tmp_path / "train")) as lines:
        lines.write('{"id": "a", "source": "s", "patient": ""}\n["a"]\n')
    with pytest.raises(InputError, match="train.documents.jsonl.zst, line 2: is not a record"):
        list(read_records(tmp_path / "train"))
    with written_lines(records_path(tmp_path / "train")) as lines:
        lines.write('{"id": "a", "source": "s", "patient": ""}\n')
    whole = records_path(tmp_path / "train").read_bytes()
    records_path(tmp_path / "train").write_bytes(whole[:-3])
    with pytest.raises(InputError, match="damaged or cut short"):
        list(read_records(tmp_path / "train"))


def test_what_data_bins_share_is_on_the_disk_once(tmp_path, tokenizer, splits, monkeypatch):
    binarize(tokenizer, splits, tmp_path / "linked", data_bins=3)
    for name in ("valid.bin", "valid.idx", "valid.documents.jsonl.zst", "dict.txt", "tokenizer.json"):
        assert len({(tmp_path / "linked" / number / name).stat().st_ino for number in "123"}) == 1
    assert not os.path.samefile(tokenizer / "dict.txt", tmp_path / "linked" / "1" / "dict.txt")

    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    binarize(tokenizer, splits, tmp_path / "copied", data_bins=3)
    linked, copied = contents(tmp_path / "linked"), contents(tmp_path / "copied")
    assert (
        linked == copied and len({(tmp_path / "copied" / number / "valid.bin").stat().st_ino for number in "123"}) == 3
    )


@pytest.mark.parametrize("count, told", [(8, 7), (12, 11)])
def test_a_corpus_with_fewer_documents_than_data_bins_is_refused(tmp_path, tokenizer, splits, count, told, monkeypatch):
    monkeypatch.setattr("preprocess.databin.build._encode", None)  # refused before the work
    if told == 11:
        del splits["train1"]
        monkeypatch.undo()  # the text has twelve documents, one without a token: found on the way
    with pytest.raises(InputError, match=rf"{count} data-bins for {told} documents.*--data-bins {told} at most"):
        binarize(tokenizer, splits, tmp_path / "out", data_bins=count)
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="of every corpus; give --data-bins 7 at most" if told == 7 else "give"):
        binarize(tokenizer, splits, tmp_path / "out", data_bins=100)


def test_the_command_and_what_training_says_of_the_whole_output(tmp_path, tokenizer, splits):
    train, valid = splits["train"], splits["valid"]
    words = ["--tokenizer", tokenizer, "--train", *train, "--valid", *valid, "--output", tmp_path / "out"]
    printed = run("preprocess.binarize", *words, "--workers", 1, "--data-bins", 11).stdout
    data = ":".join(f"{tmp_path}/out/{number}" for number in range(1, 12))
    assert f"    data  {data} (for fairseq-train" in printed and "11/train  1 documents" in printed

    def task(data):
        config = AliBertMaskedLMConfig(data=data, tokens_per_sample=16, seed=1, train_subset="train")
        return AliBertMaskedLMTask.setup_task(config)

    with pytest.raises(SystemExit) as refused:
        task(f"{tmp_path}/out")
    assert str(refused.value) == f"error: {tmp_path}/out: holds 11 data-bins, one an epoch; give {data}"
    loaded, read = task(data), []
    for epoch in (1, 2, 12):
        loaded.load_dataset("train", epoch=epoch)
        read.append(np.concatenate([row.numpy() for row in loaded.dataset("train").sequences]).tolist())
    assert read[0] == read[2] != read[1]


def test_data_bins_need_a_number(tmp_path, tokenizer):
    words = ["--tokenizer", tokenizer, "--train", tmp_path, "--output", tmp_path / "out", "--data-bins", 0]
    assert "'0': give 1 or more" in run("preprocess.binarize", *words).stderr


def test_a_mix_that_is_none_is_refused(tmp_path, tokenizer):
    words = ["--tokenizer", tokenizer, "--mix", tmp_path, "--output", tmp_path / "out"]
    assert "no output of preprocess.mix" in one_sentence(run("preprocess.binarize", *words))
