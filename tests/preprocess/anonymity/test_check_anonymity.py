"""check-anonymity finds what was planted: tokens, patients, pieces and files that do not fit the proof."""

import ast
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from anonymity_helpers import anonymous, random_documents
from binarize_helpers import items
from corpus_helpers import CHARACTERS, WORDS, run, write_tokenizer

from preprocess import check_anonymity
from preprocess.check_anonymity import Violation, check
from preprocess.databin.document_records import read_records, records_path, written_lines
from preprocess.documents.document import Document

K = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("made")
    return anonymous(place, write_tokenizer(place / "tokenizer"), random_documents(8, 20), K, 2)


@pytest.fixture
def data_bin(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "out"))


def signed(data_bin):
    """The data-bin with the digests of its files as they are now, as an attacker would write them."""
    proof = json.loads((data_bin / "anonymity.json").read_text())
    proof["sha256"] = {name: hashlib.sha256((data_bin / name).read_bytes()).hexdigest() for name in proof["sha256"]}
    (data_bin / "anonymity.json").write_text(json.dumps(proof))
    return data_bin


def test_it_imports_nothing_of_the_project():
    names = set()
    for node in ast.walk(ast.parse(Path(check_anonymity.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {node.module} if isinstance(node, ast.ImportFrom) else {alias.name for alias in node.names}
    assert not any(name.startswith(("alibert", "preprocess", "fairseq", "downstream")) for name in names)


@pytest.mark.parametrize(
    "name", ["train.bin", "train.idx", "train.predictable", "train.documents.jsonl.zst", "dict.txt"]
)
def test_a_file_that_was_changed_is_found(data_bin, name):
    with open(data_bin / name, "r+b") as file:
        file.seek(20)
        byte = file.read(1)
        file.seek(20)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(Violation, match=f"{name}: not the file that the proof is about"):
        check(data_bin)


def test_every_token_that_may_not_be_learned_is_missed_when_it_is_marked(data_bin):
    """Each bit that is 0 is set alone, for words and for ends of lines."""
    tokens = np.fromfile(data_bin / "train.bin", np.uint16)
    marks = np.unpackbits(np.fromfile(data_bin / "train.predictable", np.uint8))
    planted = np.flatnonzero(marks[: len(tokens)] == 0)
    assert len(planted) > 50 and (tokens[planted] == 2).any()
    for place in planted[:: len(planted) // 25].tolist():
        changed = marks.copy()
        changed[place] = 1
        np.packbits(changed).tofile(data_bin / "train.predictable")
        with pytest.raises(Violation, match=r"train.bin, document d\d+, from token \d+ on: \d n.* of [01] patients"):
            check(signed(data_bin))


def test_patients_who_were_one_are_found(data_bin):
    records = list(read_records(data_bin / "train"))
    with written_lines(records_path(data_bin / "train")) as lines:
        lines.writelines(record._replace(patient="p0").line + "\n" for record in records)
    with pytest.raises(Violation, match="1 neighbouring words of 1 patients are learned"):
        check(signed(data_bin))
    with written_lines(records_path(data_bin / "train")) as lines:
        lines.writelines(
            record._replace(patient="p" * (number > 0)).line + "\n" for number, record in enumerate(records)
        )
    with pytest.raises(Violation, match="or only some have a patient"):
        check(signed(data_bin))


def test_records_and_lines_that_are_fewer_or_more_are_found(data_bin):
    records = list(read_records(data_bin / "train"))
    for some in (records[:-1], [*records, records[0]]):
        with written_lines(records_path(data_bin / "train")) as lines:
            lines.writelines(record.line + "\n" for record in some)
        with pytest.raises(Violation, match="train: its (lines or )?documents do not fit their records"):
            check(signed(data_bin))


@pytest.mark.parametrize(
    "line, said", [("la ration", None), ("la t ion", "'tion' is in no word"), ("tion", "'tion' is")]
)
def test_pieces_are_of_words_that_patients_have(tmp_path, line, said):
    """The tokenizer's pieces `tion` and `ment` stand inside words. Two words that stand together are not one."""
    lines = [" ".join(WORDS), " ".join(CHARACTERS), "xment", line]
    documents = [Document(name, "s", lines, metadata={"patient": name}) for name in "ab"]
    data_bin = anonymous(tmp_path, write_tokenizer(tmp_path / "tokenizer"), documents)
    proof = json.loads((data_bin / "anonymity.json").read_text())
    proof["counts"]["counted_pieces"] = True
    (data_bin / "anonymity.json").write_text(json.dumps(proof))
    if not said:
        assert check(data_bin).startswith("each piece of the vocabulary")
    else:
        with pytest.raises(Violation, match=f"dict.txt: {said}"):
            check(data_bin)


def test_the_command(data_bin, tmp_path):
    good = run("preprocess.check_anonymity", data_bin)
    assert good.returncode == 0 and good.stdout == (
        f"{data_bin}: each run of 1 to 2 words to learn is of 2 patients or more\n"
    )
    (data_bin / "train.idx").write_bytes(b"")
    bad = run("preprocess.check_anonymity", data_bin, "--passes", 2)
    assert bad.returncode == 1 and bad.stderr.startswith(f"violation: {data_bin}: train.idx: not the file")
    none = run("preprocess.check_anonymity", tmp_path)
    assert none.returncode == 2 and "give a data-bin of binarize --min-patients" in none.stderr


@pytest.mark.parametrize("change", ["pointers", "sizes", "type", "end"])
def test_lines_that_a_training_would_read_otherwise_are_found(data_bin, change):
    index, lines = bytearray((data_bin / "train.idx").read_bytes()), len(items(data_bin / "train"))
    tokens = np.fromfile(data_bin / "train.bin", np.uint16)
    sizes = np.frombuffer(index, "<i4", lines, 26)
    if change == "pointers":
        np.frombuffer(index, "<i8", lines, 26 + 4 * lines)[:] = np.frombuffer(index, "<i8", lines, 26 + 4 * lines)[::-1]
    elif change == "sizes":
        sizes[:2] += np.array([1, -1], np.int32)
    elif change == "type":
        index[17] = 3
    else:
        tokens[sizes[0] - 1] = tokens[0]
        tokens.tofile(data_bin / "train.bin")
    (data_bin / "train.idx").write_bytes(index)
    with pytest.raises(Violation, match="train.idx: its lines are not those of train.bin"):
        check(signed(data_bin))


def test_a_split_that_the_proof_does_not_name_is_found(data_bin):
    for ending in ("bin", "idx", "predictable", "documents.jsonl.zst"):
        shutil.copy(data_bin / f"train.{ending}", data_bin / f"train1.{ending}")
    with pytest.raises(Violation, match="train1: a training would read this split"):
        check(data_bin)
