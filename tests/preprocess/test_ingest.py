"""Every source becomes documents that say where they come from; nothing disappears unseen; a core can be chosen."""

import hashlib
import json
import shutil
import sys
from contextlib import suppress

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from corpus_helpers import one_sentence, run
from reader_helpers import FIXTURES

from alibert_common.arrays import save
from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.clean import Cleaning, clean
from preprocess.documents.document import document_files, read_documents
from preprocess.documents.filters import MetadataFilter
from preprocess.ingest import ingest
from preprocess.readers import ReadOptions, parts


@pytest.fixture
def brat(tmp_path):
    folder = tmp_path / "cas"
    (folder / "dev").mkdir(parents=True)
    (folder / "b.txt").write_text("Motif :\n\nfièvre\n", encoding="utf-8")
    (folder / "a.txt").write_text("Toux.", encoding="utf-8")
    (folder / "dev" / "a.txt").write_text("Œdème.\r\n", encoding="utf-8")
    (folder / "a.ann").write_text("T1\tsymptom 0 4\tToux\n")
    return folder


def test_without_pyarrow_a_parquet_file_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="install it with `pip install pyarrow`"):
        ingest([tmp_path / "a.parquet"], tmp_path / "out")


def test_in_a_directory_every_file_is_one_document(brat, tmp_path):
    report = ingest([brat], tmp_path / "out", ReadOptions(licence="CC0"))
    documents = {document.id: document.lines for document in read_documents([tmp_path / "out"])}
    assert documents == {"a": ["Toux."], "b": ["Motif :", "fièvre"], "dev/a": ["Œdème."]}
    assert report["kept"]["cas"]["documents"] == 3 and report["kept"]["cas"]["lines"] == 4
    assert len(report["inputs"]) == 3 and report["formats"] == {"text": 3}
    assert report["dropped"] == {"files beside the texts (.ann)": 1}


def test_what_the_user_says_replaces_what_the_files_say(tmp_path):
    record = {"id": "1", "source": "ici", "licence": "CC0", "text": "a", "date": "2020", "n": 1}
    (tmp_path / "in.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "in.txt").write_text("b\n\nc\n")
    ingest([tmp_path / "in.jsonl", tmp_path / "in.txt"], tmp_path / "kept")
    ingest([tmp_path / "in.jsonl"], tmp_path / "said", ReadOptions(source="hôpital", licence="privée"))
    kept, said = list(read_documents([tmp_path / "kept"])), list(read_documents([tmp_path / "said"]))
    assert [(d.id, d.source, d.licence) for d in kept] == [("1", "ici", "CC0"), ("in-1", "in", ""), ("in-2", "in", "")]
    assert [(d.source, d.licence, d.date, d.metadata) for d in said] == [("hôpital", "privée", "2020", {"n": 1})]


def test_what_is_written_is_read_again_as_it_was(tmp_path):
    """Its own output, ingested again, is the same documents."""
    ingest([FIXTURES / "article.nxml", FIXTURES / "bdpm", FIXTURES / "page.html"], tmp_path / "a")
    ingest([*document_files([tmp_path / "a"])], tmp_path / "files")
    ingest([tmp_path / "a"], tmp_path / "directory")
    ingest([tmp_path / "a"], tmp_path / "in UTF-8", ReadOptions(encoding="windows-1252"))
    once = list(read_documents([tmp_path / "a"]))
    assert once == list(read_documents([tmp_path / "files"])) == list(read_documents([tmp_path / "directory"]))
    assert once == list(read_documents([tmp_path / "in UTF-8"])) and len(once) == 6
    assert ingest([tmp_path / "a"], tmp_path / "said", ReadOptions(source="autre"))["kept"].keys() == {"autre"}
    with pytest.raises(InputError, match="a: no text file"):
        ingest([tmp_path / "a"], tmp_path / "b", ReadOptions(format="text"))


def test_outputs_in_a_folder_are_their_documents(tmp_path):
    """Neither their manifests, nor the examples of what was dropped."""
    (tmp_path / "in.txt").write_text("Un texte de mots.\n---\n")
    ingest([tmp_path / "in.txt"], tmp_path / "made" / "documents")
    clean([tmp_path / "made" / "documents"], tmp_path / "made" / "clean", Cleaning())
    (tmp_path / "made" / "clean" / "notes.txt").write_text("de ma main")
    report = ingest([tmp_path / "made"], tmp_path / "out")
    texts = [document.lines for document in read_documents([tmp_path / "out"])]
    assert texts == [["Un texte de mots."], ["Un texte de mots.", "---"]]
    assert report["dropped"] == {"files beside the documents of a stage": 1}


def test_documents_without_an_id_and_a_source_are_named_by_their_folder(tmp_path):
    records = ({"id": "1", "source": "", "text": "Un texte de mots."} | one for one in ({}, {"pmid": "7"}))
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, records)))
    clean([tmp_path / "in.jsonl"], tmp_path / "sans nom", Cleaning())
    ingest([tmp_path / "sans nom"], tmp_path / "out", ReadOptions(id="pmid"))
    found = [(document.id, document.source) for document in read_documents([tmp_path / "out"])]
    assert found == [("00000-1", "sans_nom"), ("7", "sans_nom")]


def test_an_output_is_not_written_over_what_is_read(tmp_path):
    (tmp_path / "in.txt").write_text("Un texte.\n")
    ingest([tmp_path / "in.txt"], tmp_path / "out")
    before = shards(tmp_path / "out")
    with pytest.raises(InputError, match="out: lies in .*out, which is to be read as text"):
        ingest([tmp_path / "out"], tmp_path / "out", ReadOptions(source="autre"))
    assert shards(tmp_path / "out") == before


def test_an_output_that_holds_no_documents_is_refused(tmp_path):
    for command, sentence in (("mix", "give .*mixed/valid or a folder in"), ("binarize", "which writes no documents")):
        (tmp_path / "mixed").mkdir(exist_ok=True)
        manifest = {"command": command, "key": "", "made_from": {}}
        (tmp_path / "mixed" / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(InputError, match=f"mixed: made by preprocess.{command}.*{sentence}"):
            ingest([tmp_path / "mixed"], tmp_path / "out")


def shards(directory):
    return {path.name: path.read_bytes() for path in document_files([directory])}


@pytest.mark.parametrize("engine", [Engine(1), Engine(2)])
def test_small_files_are_read_together_and_a_large_one_becomes_several_shards(tmp_path, monkeypatch, engine):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 400)
    folder = tmp_path / "lettres"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02d}.txt").write_text(f"Lettre {number}." + " Le patient tousse." * 5)
    (tmp_path / "tout.txt").write_text("\n\n".join(f"Cas {number}, vu ce jour." for number in range(90)))
    ingest([folder, tmp_path / "tout.txt"], tmp_path / "out", engine=engine)
    names = list(shards(tmp_path / "out"))
    assert names == [f"{number:05d}-00000.jsonl.zst" for number in range(12)]  # 7 of letters, 5 parts of the other
    lines = [document.lines[0] for document in read_documents([tmp_path / "out"])]
    assert [line.split(".")[0] for line in lines[:20]] == [f"Lettre {number}" for number in range(20)]
    assert lines[20:] == [f"Cas {number}, vu ce jour." for number in range(90)]


def test_a_shard_that_is_full_is_followed_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.documents.shards.SHARD_BYTES", 400)
    (tmp_path / "tout.txt").write_text("\n\n".join(f"Cas {number}, vu ce jour." for number in range(90)))
    ingest([tmp_path / "tout.txt"], tmp_path / "out")
    assert list(shards(tmp_path / "out")) == [f"00000-{number:05d}.jsonl.zst" for number in range(5)]
    assert [d.id for d in read_documents([tmp_path / "out"])] == [f"tout-{number}" for number in range(1, 91)]


LINES = {
    "txt": "".join(f"Cas {number}.\n{chr(10) * (number % 3)}" for number in range(60)),
    "csv": "id,text\n" + "".join(f'{n % 7},"Cas ""{n}"".\n\n{"Vu." * (n % 3)}"\n' for n in range(60)),
    "jsonl": "".join(f'{{"text": "Cas {number}."}}\n' if number % 9 else "non\n" for number in range(60)),
}  # fmt: skip


def large_file(folder, name):
    """A file of 60 cases, some of which cannot be read or lack an id of their own."""
    path = folder / f"cas.{name}"
    if name == "parquet":
        texts = [f"Cas {number}.".encode() if number % 9 else b"\xff" for number in range(60)]
        pyarrow.parquet.write_table(pyarrow.table({"text": texts, "id": [7] * 60}), path, row_group_size=4)
        return path
    content = LINES[name.removesuffix(".zst")].encode() + b"\xe9,\n" + b"Fin,fin\n"
    frames = (content[start : start + 100] for start in range(0, len(content), 100))
    path.write_bytes(b"".join(map(zstandard.compress, frames)) if name.endswith(".zst") else content)
    return path


@pytest.mark.parametrize("name", ["txt", "csv", "jsonl", "parquet", "txt.zst", "csv.zst"])
def test_a_large_file_in_parts_gives_what_one_reading_gives(tmp_path, monkeypatch, name):
    path, found = large_file(tmp_path, name), []
    for size, engine in ((1 << 20, Engine(1)), (200, Engine(1)), (200, Engine(2))):
        monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", size)
        output = tmp_path / f"{size}-{engine.workers}"
        manifest = ingest([path, path], output, ReadOptions(on_error="skip"), engine=engine)
        counts = [manifest[key] for key in ("read", "kept", "dropped", "noted", "formats", "inputs", "settings")]
        found.append([list(read_documents([output])), (output / "skipped.tsv").read_text(), counts])
        assert len(shards(output)) > 4 or size > 200
    assert found[0] == found[1] == found[2]
    assert shards(tmp_path / "200-1") == shards(tmp_path / "200-2")
    assert found[0][2][5][0]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


class Backwards(Engine):
    """Starts with the last item, and can stop after some."""

    items: int = 1000

    def run(self, name, task, items, logs):
        for item in [item for item in reversed(items) if not task.done(item).exists()]:
            if not self.items:
                raise KeyboardInterrupt
            self.items -= 1
            task(item)


def test_of_several_faults_the_first_is_told_whichever_was_met_first(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 200)
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' * 30 + "non\n" + '{"text": "a"}\n' * 30 + "non\n" * 30)
    for engine in (Backwards(), Engine(2), Engine(1)):
        with pytest.raises(InputError, match="in.jsonl, line 31: not JSON"):
            ingest([tmp_path / "in.jsonl"], tmp_path / "out", engine=engine)


def test_parts_that_are_read_are_not_read_again_after_a_kill(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 200)
    path, runs = large_file(tmp_path, "csv.zst"), 0
    ingest([path], tmp_path / "whole", ReadOptions(on_error="skip"))
    while not (tmp_path / "out").exists():
        engine, runs = Backwards(), runs + 1
        engine.items = 5
        with suppress(KeyboardInterrupt):
            ingest([path], tmp_path / "out", ReadOptions(on_error="skip"), engine=engine)
    assert shards(tmp_path / "out") == shards(tmp_path / "whole")
    assert 3 < runs < 20


@pytest.mark.parametrize("damaged", [1, 2])  # in the first run, or when it resumes
def test_a_file_out_of_reach_for_a_moment_loses_no_document(damaged, tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 200)
    for name, records in (("a", 60), ("b", 5)):
        (tmp_path / f"{name}.jsonl").write_text("".join(f'{{"text": "{name} {n}"}}\n' for n in range(records)))
    paths, divide, run = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], parts.can_be_divided, 0

    def unsure(*given):
        if run == damaged:
            raise OSError(5, "Input/output error")
        return divide(*given)

    monkeypatch.setattr(parts, "can_be_divided", unsure)
    for run in (1, 2, 3):  # noqa: B007  read by `unsure`
        engine = Backwards()
        engine.items = {1: 1 if damaged == 1 else 8, 2: 3, 3: 1000}[run]
        with suppress(KeyboardInterrupt):
            report = ingest(paths, tmp_path / "out", engine=engine)
    texts = sorted(document.text for document in read_documents([tmp_path / "out"]))
    assert texts == sorted([f"a {n}" for n in range(60)] + [f"b {n}" for n in range(5)])
    assert report["kept"]["a"]["documents"] == 60 and report["kept"]["b"]["documents"] == 5


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 200)
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "un"}\n' * 60)

    class Shortens(Engine):
        def run(self, name, task, items, logs):
            super().run(name, task, items, logs)
            if name == "reading":
                path.write_text('{"text": "un"}\n' * 59)

    with pytest.raises(InputError, match="in.jsonl: changed while it was read; run the same command again"):
        ingest([path], tmp_path / "out", engine=Shortens(1))
    assert not (tmp_path / "out").exists()
    assert ingest([path], tmp_path / "out")["kept"]["in"]["documents"] == 59


def test_a_large_file_shares_no_group_with_its_neighbours(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 100)
    folder, count = tmp_path / "in", {"a": 20, "b": 1, "c": 0, "d": 1, "e": 20, "f": 1}
    folder.mkdir()
    for name, records in count.items():
        (folder / f"{name}.jsonl").write_text(f'{{"text": "{name}"}}\n' * records)
    report = ingest([folder], tmp_path / "out")
    texts = "".join(document.text for document in read_documents([tmp_path / "out"]))
    assert texts == "".join(name * records for name, records in count.items())
    assert len(shards(tmp_path / "out")) == 3 + 1 + 3 + 1
    assert [file["path"] for file in report["inputs"]] == [str(folder / f"{name}.jsonl") for name in count]


def test_a_large_file_without_a_document_is_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 50)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n')
    (tmp_path / "b.jsonl").write_text('{"text": ""}\n' * 20)
    report = ingest([tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out", ReadOptions(on_error="skip"))
    assert report["dropped"] == {"records without text (jsonl)": 20, "files without a document": 1}


def files_with_the_same_ids(folder):
    folder.mkdir()
    for name, ids in {"a": "718", "b": "9", "c": "787", "d": ["7", "7-2"]}.items():
        (folder / f"{name}.jsonl").write_text("".join(f'{{"id": "{n}", "text": "{name}{n}"}}\n' for n in ids))
    return folder


@pytest.mark.parametrize("engine", [Engine(1), Engine(2)])
def test_ids_are_unique_through_all_files_whoever_reads_them(tmp_path, monkeypatch, engine):
    folder = files_with_the_same_ids(tmp_path / "lettres")
    whole = ingest([folder], tmp_path / "whole")
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 100)  # each file by itself
    report = ingest([folder], tmp_path / "out", engine=engine)
    assert len(shards(tmp_path / "out")) == 4
    documents = list(read_documents([tmp_path / "out"]))
    assert [document.id for document in documents] == ["7", "1", "8", "9", "7-2", "8-2", "7-3", "7-4", "7-2-2"]
    assert documents == list(read_documents([tmp_path / "whole"]))
    for one in (whole, report):
        assert one["noted"] == {"ids met before, to which a number was added": 5} and not one["dropped"]
        assert one["read"]["lettres"]["documents"] == 9 and len(one["inputs"]) == 4


def test_ids_are_unique_after_a_kill_at_any_moment(tmp_path, monkeypatch):
    """Each time it ends one step later: before or after the ids of earlier files are written for a file."""
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 1)
    folder, output = files_with_the_same_ids(tmp_path / "lettres"), tmp_path / "out"

    class Killed(BaseException):
        pass

    for late in (False, True, False, True):

        def save_and_die(path, array, late=late):
            if late:
                save(path, array)
            raise Killed

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr("preprocess.ingestion.read_group.save", save_and_die)
            ingest([folder], output)
    ingest([folder], output)
    ids = [document.id for document in read_documents([output])]
    assert ids == ["7", "1", "8", "9", "7-2", "8-2", "7-3", "7-4", "7-2-2"]


def test_a_document_that_its_new_id_leaves_out_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr("preprocess.ingest.SHARD_BYTES", 1)
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text('{"id": "7", "source": "s", "text": "Un texte."}\n')
    manifest = ingest(
        [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "out", where=[MetadataFilter.parse("id=7")]
    )
    assert [document.id for document in read_documents([tmp_path / "out"])] == ["7"]
    assert manifest["kept"]["s"]["documents"] == 1


def test_files_that_are_read_beside_the_text_count_too(tmp_path):
    shutil.copytree(FIXTURES / "bdpm", tmp_path / "bdpm")
    (table,) = (tmp_path / "bdpm").glob("CIS_HAS_SMR*")
    before = ingest([table], tmp_path / "out")
    with open(tmp_path / "bdpm/CIS_bdpm.txt", "a") as drugs:
        drugs.write("\n")
    assert ingest([table], tmp_path / "out")["key"] != before["key"]


def test_the_output_may_not_lie_in_the_text(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("Un texte.\n")
    (tmp_path / "link").symlink_to(tmp_path / "texts")
    for output in ("texts/out", "texts/far/out", "link/out"):
        with pytest.raises(InputError, match="lies in .*texts, which is to be read as text"):
            ingest([tmp_path / "texts"], tmp_path / output)
    assert [path.name for path in (tmp_path / "texts").iterdir()] == ["a.txt"]


def test_the_same_again_is_not_read_again_and_a_changed_file_is(tmp_path):
    (tmp_path / "in.txt").write_text("Un.")
    ingest([tmp_path / "in.txt"], tmp_path / "out")
    before = (tmp_path / "out").stat().st_mtime_ns
    ingest([tmp_path / "in.txt"], tmp_path / "out")
    assert (tmp_path / "out").stat().st_mtime_ns == before
    (tmp_path / "in.txt").write_text("Deux.")
    ingest([tmp_path / "in.txt"], tmp_path / "out")
    assert [document.lines for document in read_documents([tmp_path / "out"])] == [["Deux."]]


def test_a_folder_and_its_file_of_the_same_name_are_not_the_same_input(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.txt").write_text("Un.\n\nDeux.\n")
    for path, lines in ((tmp_path / "a", [["Un.", "Deux."]]), (tmp_path / "a" / "a.txt", [["Un."], ["Deux."]])):
        ingest([path], tmp_path / "out")
        assert [document.lines for document in read_documents([tmp_path / "out"])] == lines


def test_where_nothing_is_in_the_language_the_language_is_named(tmp_path):
    with pytest.raises(InputError, match="no text in the language 'de' in its 1 records; say which with --language"):
        ingest([FIXTURES / "article.nxml"], tmp_path / "out", ReadOptions(language="de"))


def test_a_core_is_chosen_by_metadata_and_the_others_are_counted(tmp_path):
    read_options = ReadOptions("csv", text=("résumé",), id="pmid", metadata={"specialty": "spécialité"})
    conditions = [MetadataFilter.parse("specialty=cardiologie"), MetadataFilter.parse("date~^2021")]
    report = ingest([FIXTURES / "resumes.csv"], tmp_path / "out", read_options, conditions)
    assert [document.id for document in read_documents([tmp_path / "out"])] == ["102"]
    assert report["read"]["resumes"]["documents"] == 3 and report["kept"]["resumes"]["documents"] == 1
    assert report["dropped"] == {
        "documents not chosen (specialty=cardiologie)": 1,
        "documents not chosen (date~^2021)": 1,
    }
    assert report["noted"] == {"ids met before, to which a number was added": 1}


def test_oubioberts_way_to_choose_a_core_by_mesh_tree_numbers(tmp_path):
    read_options = ReadOptions("pubmed", language="en", mesh_descriptors=str(FIXTURES / "desc.xml"))
    for field, ids in (("mesh_tree~^C04", ["90000001"]), ("mesh_tree~^C0[18]", ["90000001", "90000002"])):
        ingest([FIXTURES / "pubmed.xml"], tmp_path / "out", read_options, [MetadataFilter.parse(field)])
        assert [document.id for document in read_documents([tmp_path / "out"])] == ids
    with pytest.raises(InputError, match="no document of 2 is chosen by --where"):
        ingest([FIXTURES / "pubmed.xml"], tmp_path / "out", read_options, [MetadataFilter.parse("mesh_tree~^E")])


def test_descriptors_are_known_by_their_file_however_its_path_is_spelled(tmp_path, monkeypatch):
    (tmp_path / "desc.xml").write_bytes((FIXTURES / "desc.xml").read_bytes())
    monkeypatch.chdir(tmp_path)
    made = []
    for path in ("desc.xml", str(tmp_path / "desc.xml")):
        ingest([FIXTURES / "pubmed.xml"], tmp_path / "out", ReadOptions("pubmed", language="en", mesh_descriptors=path))
        made.append((tmp_path / "out" / "manifest.json").stat().st_mtime_ns)
    assert made[0] == made[1]
    (tmp_path / "desc.xml").write_bytes((FIXTURES / "desc.xml").read_bytes() + b"\n")
    ingest([FIXTURES / "pubmed.xml"], tmp_path / "out", ReadOptions("pubmed", language="en", mesh_descriptors=path))
    assert (tmp_path / "out" / "manifest.json").stat().st_mtime_ns != made[1]
    ingest([FIXTURES / "pubmed.xml"], tmp_path / "out", ReadOptions("pubmed", language="en"))
    assert all("mesh_tree" not in document.metadata for document in read_documents([tmp_path / "out"]))


def test_an_id_met_again_in_a_source_gets_a_number_whatever_is_chosen(tmp_path):
    read_options = ReadOptions("csv", text=("résumé",), id="pmid", metadata={"specialty": "spécialité"})
    for conditions in ([], [MetadataFilter.parse("specialty=cardiologie")]):
        ingest([FIXTURES / "resumes.csv"], tmp_path / "out", read_options, conditions)
        assert [document.id for document in read_documents([tmp_path / "out"])][-2:] == ["102", "101-2"]


def test_what_is_skipped_is_listed_beside_the_output(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "a"}\nnon\n{"text": "d\xe9j\xe0"}\n')
    (tmp_path / "vide.txt").touch()
    output = tmp_path / "out"
    report = ingest([tmp_path / "in.jsonl", tmp_path / "vide.txt"], output, ReadOptions(on_error="skip"))
    listed = (output / "skipped.tsv").read_text(encoding="utf-8").splitlines()
    assert listed[0].split("\t") == ["file", "place", "reason"] and len(listed) == 3
    assert [line.split("\t")[1] for line in listed[1:]] == ["line 2", "line 3"]
    assert report["kept"]["in"]["documents"] == 1
    assert report["dropped"] == {"skipped: not JSON": 1, "skipped: not UTF-8": 1, "files without a document": 1}
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    ingest([tmp_path / "in.jsonl"], output, ReadOptions(on_error="skip"))
    assert not (output / "skipped.tsv").exists()  # the older list is none of this output


def test_names_and_reasons_with_tabs_and_line_breaks_stay_one_row(tmp_path):
    import csv

    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a\tb\nc.jsonl").write_text("non\n")
    (folder / "d.txt").write_text("texte")
    ingest([folder], tmp_path / "out", ReadOptions(on_error="skip"))
    with open(tmp_path / "out" / "skipped.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.reader(handle, delimiter="\t"))
    assert rows[1][:2] == [str(folder / "a\tb\nc.jsonl"), "line 1"] and len(rows) == 2


def test_a_refusal_in_the_middle_leaves_the_older_output(tmp_path):
    (tmp_path / "in.txt").write_text("avant")
    ingest([tmp_path / "in.txt"], tmp_path / "out")
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' * 5000 + "non\n")
    with pytest.raises(InputError, match="line 5001: not JSON"):
        ingest([tmp_path / "in.jsonl"], tmp_path / "out")
    assert [document.lines for document in read_documents([tmp_path / "out"])] == [["avant"]]


def test_the_command_prints_and_writes_what_it_read_and_kept(brat, tmp_path):
    result = run("preprocess.ingest", brat, "--output", tmp_path / "out", "--source", "sample")
    assert result.returncode == 0, result.stderr
    assert "kept  3 documents, 4 lines, 5 words" in result.stdout and "format  text: 3 documents" in result.stdout
    report = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert report["kept"]["sample"]["words"] == 5 and report["settings"] == {"source": "sample", "where": []}
    assert report["formats"] == {"text": 3}


def refused(*paths, read_options=None, where=()):
    with pytest.raises(InputError) as refusal:
        ingest(list(paths), paths[0].parent / "out", read_options, where)
    assert not (paths[0].parent / "out").exists()
    return str(refusal.value)


def test_a_setting_that_means_nothing_for_what_is_read_is_refused(tmp_path):
    for name in ("a.txt", "b.csv"):
        (tmp_path / name).write_text("text\nUne toux.\n")
    read_options = ReadOptions(text=("text",), encoding="windows-1252")
    sentence = refused(tmp_path / "a.txt", read_options=read_options)
    assert sentence.startswith("setting 'text': means nothing for the format 'text'; leave it out, or say with")
    ingest([tmp_path / "a.txt", tmp_path / "b.csv"], tmp_path / "both", read_options)  # for one of them it does


@pytest.mark.parametrize(
    "field, named, wrong, lack",
    [
        ("id", "pmid", "pmdi", 1),
        ("both", "pmid", "pmdi", 1),
        ("date", "jour", "jou", 2),
        ("metadata", {"n": "pmid"}, {"n": "pmdi"}, 1),
    ],
)
def test_a_field_that_no_record_has_is_refused(tmp_path, field, named, wrong, lack):
    named, wrong = ({"id": one, "metadata": {"n": one}} if field == "both" else {field: one} for one in (named, wrong))
    records = '{"text": "a", "pmid": 1, "jour": "2020"}', '{"text": "b"}', '{"pmid": 2, "text": ""}'
    (tmp_path / "in.jsonl").write_text("\n".join(records))
    found = ingest([tmp_path / "in.jsonl"], tmp_path / "out", ReadOptions(**named))
    assert [count for rule, count in found["noted"].items() if "lack" in rule] == [lack]
    shutil.rmtree(tmp_path / "out")
    sentence = refused(tmp_path / "in.jsonl", read_options=ReadOptions(**wrong))
    assert sentence.startswith("'jou'" if field == "date" else "'pmdi'") and "no record has it; check" in sentence


def test_a_field_that_only_a_table_beside_has_is_no_mistake(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("pmid,text\n7,Une toux.\n")
    (tmp_path / "in" / "b.jsonl").write_text('{"text": "Le foie."}\n')
    found = ingest([tmp_path / "in"], tmp_path / "out", ReadOptions(id="pmid"))
    assert found["noted"]["records that lack 'pmid'"] == 1


@pytest.mark.parametrize(
    "record, text, sentence",
    [
        ("r", "x", "in.xml: no text in its 2 records; say where it is with --text-field or --text-path."),
        ("s", "t", "in.xml: no element 's' in it; name the one that is a record with --record-path."),
    ],
)
def test_a_path_that_finds_nothing_is_named(tmp_path, record, text, sentence):
    (tmp_path / "in.xml").write_text("<x><r><t>a</t></r><r><t>b</t></r></x>")
    assert refused(tmp_path / "in.xml", read_options=ReadOptions("xml", record=record, text=(text,))).endswith(sentence)


def test_a_condition_that_chooses_nothing_is_told_with_what_to_look_at(tmp_path):
    (tmp_path / "in.csv").write_text("text,Service\na,ORL\n")
    sentence = refused(tmp_path / "in.csv", where=[MetadataFilter.parse("Service=ORL")])
    assert "no document of 1 is chosen by --where; " in sentence and "--metadata NAME=PATH keeps it" in sentence


def test_a_source_is_called_so_that_mix_can_name_it(tmp_path):
    (tmp_path / "Lettres de sortie, 2023.txt").write_text("Une toux.\n")
    (tmp_path / "mes données").mkdir()
    (tmp_path / "mes données" / "a.txt").write_text("Une toux.\n")
    (tmp_path / "in.jsonl").write_text('{"source": "les lettres", "text": "a"}\n')
    texts = [tmp_path / "Lettres de sortie, 2023.txt", tmp_path / "mes données"]
    assert list(ingest(texts, tmp_path / "out")["kept"]) == ["Lettres_de_sortie_2023", "mes_données"]
    shutil.rmtree(tmp_path / "out")
    assert "the source 'a b' cannot name a corpus" in refused(texts[0], read_options=ReadOptions(source="a b"))
    told = run("preprocess.ingest", tmp_path / "in.jsonl", "--output", tmp_path / "out")
    assert told.returncode == 0 and "warning: the source 'les lettres' cannot name a corpus" in told.stderr
    told = run("preprocess.ingest", tmp_path / "in.jsonl", "--source", "lettres", "--output", tmp_path / "out")
    assert "warning" not in told.stderr


def test_the_command_reads_a_table_and_chooses_from_it(tmp_path):
    result = run(
        "preprocess.ingest", FIXTURES / "resumes.csv", "--text-field", "titre", "--text-field", "résumé", "--id-field",
        "pmid", "--metadata", "specialty=spécialité", "--where", "specialty=pneumologie", "--licence", "CC0",
        "--output", tmp_path / "out",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    (document,) = read_documents([tmp_path / "out"])
    assert document.lines == ["Fièvre; un cas", "Un homme tousse.", 'Il a "froid".'] and document.licence == "CC0"
    assert "2 documents not chosen (specialty=pneumologie)" in result.stdout


def test_the_command_refuses_bad_input_in_one_sentence_and_leaves_the_older_output(tmp_path):
    output = tmp_path / "out"
    (tmp_path / "avant.txt").write_text("avant")
    ingest([tmp_path / "avant.txt"], output)
    (tmp_path / "latin.txt").write_bytes("déjà\n".encode("latin-1"))
    (tmp_path / "empty.txt").touch()
    (tmp_path / "x.xlsx").touch()
    faults = {
        "latin.txt": "line 1: not UTF-8 (byte 2 is 0xe9)", "empty.txt": "no document", "absent.txt": "no such file",
        "x.xlsx": "no reader for '.xlsx' files",
    }  # fmt: skip
    for name, words in faults.items():
        sentence = one_sentence(run("preprocess.ingest", tmp_path / name, "--output", output))
        assert name in sentence and words in sentence
    assert [document.lines for document in read_documents([output])] == [["avant"]]
