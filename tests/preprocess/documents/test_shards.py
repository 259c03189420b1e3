"""A directory of shards is read in order; a shard without a document is not written."""

import json

import pytest

from alibert_common.errors import InputError
from preprocess.documents.document import Document, document_files, read_documents
from preprocess.documents.shards import shard_name, written_shard


def write(path, *texts):
    with written_shard(path) as target:
        for text in texts:
            target.write(Document(text, "s", [text]))


def test_shards_are_read_in_the_order_of_their_names_after_one_another(tmp_path):
    for number in (10, 2, 0):
        write(tmp_path / "d" / f"{shard_name(number)}.jsonl.zst", f"a{number}", f"b{number}")
    (tmp_path / "d" / "manifest.json").write_text("{}")
    (tmp_path / "e.txt").write_text("c\n")
    lines = [document.lines[0] for document in read_documents([tmp_path / "d", tmp_path / "e.txt"])]
    assert lines == ["a0", "b0", "a2", "b2", "a10", "b10", "c"]
    assert [path.name for path in document_files([tmp_path / "d"])] == [
        "00000.jsonl.zst", "00002.jsonl.zst", "00010.jsonl.zst",
    ]  # fmt: skip


def test_a_shard_without_a_document_is_not_there(tmp_path):
    write(tmp_path / "00000.jsonl.zst")
    assert list(tmp_path.iterdir()) == []


def test_the_same_documents_are_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write(tmp_path / name, *map(str, range(1000)))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_directory_without_shards_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("un\n")
    with pytest.raises(InputError, match="no documents in it; give what ingest, clean or deduplicate wrote"):
        document_files([tmp_path])


@pytest.mark.parametrize(
    "manifest, sentence",
    [
        (
            {"command": "mix"},
            "made by preprocess.mix, which writes no documents here; give .*/valid or a folder in .*/",
        ),
        (
            {"command": "train_tokenizer"},
            "made by preprocess.train_tokenizer, which writes no documents here; give what",
        ),
        ({"command": "clean", "files": {"00000.jsonl.zst": 9}}, "its shards are gone; make it again"),
        ({"command": "clean", "files": {"dropped.txt": 9}}, "nothing is left of the text; its manifest.json says what"),
    ],
)
def test_a_directory_that_another_stage_made_is_told_from_one_of_which_nothing_is_left(tmp_path, manifest, sentence):
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=sentence):
        document_files([tmp_path])
