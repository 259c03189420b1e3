"""Dates, ids, conditions and settings."""

import argparse
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alibert_common.errors import InputError
from preprocess.documents.document import Document
from preprocess.documents.filters import MetadataFilter
from preprocess.readers import ReadOptions, UniqueIds, check
from preprocess.readers.arguments import add_arguments, read_options_of
from preprocess.readers.dates import iso_date
from preprocess.readers.ids import earlier_ids


@pytest.mark.parametrize(
    "text, date",
    [
        ("2021", "2021"), ("2021-03", "2021-03"), ("2021-03-14", "2021-03-14"), ("2021-3-4", "2021-03-04"),
        ("2021-03-14T08:30:00Z", "2021-03-14"), ("2021-03-14 08:30:00.000", "2021-03-14"), ("20210314", "2021-03-14"),
        ("2021/03/14", "2021-03-14"), ("14/02/2023", "2023-02-14"), ("4.2.2023", "2023-02-04"),
        ("2023 Mar", "2023-03"), ("2023 Mar 5", "2023-03-05"), ("2019 Nov-Dec", "2019-11"),
        ("2023 Mar 5-12", "2023-03-05"),
        ("14 février 2023", "2023-02-14"), ("1er août 2020", "2020-08-01"), ("déc. 2019", "2019-12"),
        ("  14\n février  2023 ", "2023-02-14"), ("March 2020", "2020-03"),
    ],
)  # fmt: skip
def test_dates_in_iso(text, date):
    assert iso_date(text) == date


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2019 Summer",
        "07/13/2025",
        "31/02/2020",
        "0000",
        "2021-00-01",
        "20211301",
        "hier",
        "12",
        "2020-2021",
        "s.d.",
    ],
)
def test_what_is_no_date_stays_as_it_is(text):
    assert iso_date(text) == text


@given(st.dates())
def test_every_day_is_read_in_each_order(day):
    iso = day.isoformat()
    for text in (iso, f"{day:%d/%m/}{iso[:4]}", iso.replace("-", ""), f"{iso[:4]} {day:%b} {day.day}"):
        assert iso_date(text) == iso


@given(st.text())
def test_no_text_is_too_odd_for_a_date(text):
    assert isinstance(iso_date(text), str)


def settled(*names, source="s"):
    ids = UniqueIds()
    documents = [Document(name, source, ["a"]) for name in names]
    changed = sum(ids.make_unique(document) for document in documents)
    return [document.id for document in documents], changed


def test_an_id_met_before_gets_a_number_that_no_other_has():
    assert settled("7", "7", "7-2", "7", "8") == (["7", "7-2", "7-2-2", "7-3", "8"], 3)
    ids = UniqueIds()
    assert not ids.make_unique(Document("7", "a", [])) and not ids.make_unique(Document("7", "b", []))


@given(st.lists(st.sampled_from(["a", "a-2", "a-2-2", "b", "\ud800"])))
def test_ids_are_unique_whatever_they_were(names):
    ids, changed = settled(*names)
    assert len(set(ids)) == len(names) and changed == sum(new != old for new, old in zip(ids, names, strict=True))


NAMES = st.lists(st.sampled_from(["a", "a-2", "a-2-2", "a-3", "b"]))


@settings(max_examples=40)
@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from([1, 3, 10**7]))
def test_ids_do_not_depend_on_how_files_are_grouped(tmp_path_factory, groups, at_once):
    """Groups read apart, then again as long as one has ids that it did not know of."""
    folder = tmp_path_factory.mktemp("ids")
    files = [folder / str(number) for number in range(len(groups))]
    before, known, names = [((), ())] * len(groups), None, []
    with mock.patch("preprocess.readers.ids.KEYS_AT_ONCE", at_once):
        while known is None or any(not np.array_equal(a, b) for a, b in zip(known, before, strict=True)):
            names = []
            for group, file, met in zip(groups, files, before, strict=True):
                ids = UniqueIds(met)
                documents = [Document(name, "s", ["a"]) for name in group]
                for document in documents:
                    ids.make_unique(document)
                ids.save(file)
                names += [document.id for document in documents]
            known, before = before, earlier_ids(files)
    assert names == settled(*(name for group in groups for name in group))[0]


DOCUMENT = Document(
    "7", "revue", ["a"], "CC0", "2020-01-02",
    {"mesh_tree": ["A01.2", "C04.588"], "specialty": "cardiologie", "year": 2020, "info": {"ville": "Nantes"}},
)  # fmt: skip


@pytest.mark.parametrize(
    "condition, holds",
    [
        ("mesh_tree~^C04", True), ("mesh_tree~^C14", False), ("mesh_tree~C04", True), ("mesh_tree=C04", False),
        ("specialty=cardiologie", True), ("specialty=cardio", False), ("specialty~(?i)CARDIO", True),
        ("year=2020", True),
        ("info=Nantes", True), ("absent=", False), ("absent~.*", False), ("date~^20(19|20)", True),
        ("source=revue", True),
        ("licence~CC", True), ("id=7", True), ("specialty=a.*", False), ("specialty~a=b", False),
    ],
)  # fmt: skip
def test_conditions(condition, holds):
    assert MetadataFilter.parse(condition).holds(DOCUMENT) is holds


@pytest.mark.parametrize(
    "condition, words", [("specialty", "give FIELD=VALUE or FIELD~REGEX"), ("a~(", "no regular expression")]
)
def test_conditions_that_are_none(condition, words):
    with pytest.raises(InputError, match=words):
        MetadataFilter.parse(condition)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"encodage": "utf-8"}, "setting 'encodage': not known; there are format, record"),
        ({"encoding": "klingon"}, "encoding 'klingon': not known; choose one of utf-8, windows-1252"),
        ({"on_error": "ignore"}, "on_error 'ignore': not known; choose one of stop, skip"),
        ({"delimiter": ";;"}, "give one character"),
        ({"time_limit": 99_999_999}, "time limit 99999999: give 1 to 86,400 seconds"),
        ({"metadata": {"text": "t"}}, "metadata 'text': a document has a field of that name"),
        ({"format": "doc"}, "format 'doc': not known; choose one of text, jsonl"),
        ({"text": ""}, "give it a path or a list of paths"),
        ({"text": None}, "setting 'text': None is not what it takes; give it a path or a list of paths"),
        ({"text": 3}, "setting 'text': 3 is not"),
        ({"text": ["a", 3]}, "is not what it takes; give it a path or a list"),
        ({"delimiter": 3}, "setting 'delimiter': 3 is not what it takes; give it a text, in quotes"),
        ({"id": ["x"]}, "setting 'id'"),
        ({"format": ["csv"]}, "setting 'format'"),
        ({"metadata": ["Service"]}, "setting 'metadata': .* give it `name: path` lines below it"),
        ({"metadata": {"année": 2}}, "setting 'metadata'"),
        ({"one_document_per_file": "yes"}, "give it true or false"),
        ({"format": "text", "delimiter": ";"}, "setting 'delimiter': means nothing for the format 'text'"),
        ({"format": "leaflet", "text": ["p"]}, "setting 'text': means nothing for the format 'leaflet'"),
    ],
)
def test_settings_that_no_reader_knows_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        check(ReadOptions.from_settings(settings))


@pytest.mark.parametrize("name", ["cp1252", "windows-1252", "CP1252", "1252"])
def test_an_encoding_has_several_names(name):
    assert (
        ReadOptions.from_settings({"encoding": name}).encoding == parsed("--encoding", name).encoding == "windows-1252"
    )
    assert (
        ReadOptions.from_settings({"encoding": "iso-8859-1"}).encoding == "latin-1"
        and ReadOptions.from_settings({"encoding": "auto"}).encoding == "auto"
    )


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return read_options_of(parser.parse_args(list(arguments)))


def test_settings_come_from_the_command_line_and_from_yaml(tmp_path):
    (tmp_path / "how.yaml").write_text(
        "format: csv\ntext: résumé\nid: pmid\nmetadata: {specialty: spécialité}\non_error: skip\n", encoding="utf-8"
    )
    read_options = parsed("--how", str(tmp_path / "how.yaml"))
    assert read_options == ReadOptions(
        "csv", text=("résumé",), id="pmid", metadata={"specialty": "spécialité"}, on_error="skip"
    )
    given = "--text-field titre --text-path corps --id-field n --metadata a=b=c --on-error stop"
    read_options = parsed("--how", str(tmp_path / "how.yaml"), *given.split())
    assert read_options == ReadOptions("csv", text=("titre", "corps"), id="n", metadata={"a": "b=c"})
    assert parsed() == ReadOptions() and parsed("--one-document-per-file").one_document_per_file is True
    assert read_options.changed_settings() == {
        "format": "csv",
        "text": ("titre", "corps"),
        "id": "n",
        "metadata": {"a": "b=c"},
    }


@pytest.mark.parametrize(
    "content, words",
    [
        ("a: 1\na: 2\n", "line 2: not YAML \\(the key 'a' stands there twice"),
        ("- a\n", "holds no `key: value` lines"),
        ("a: [\n", "not YAML"),
        ("a: 1\n", "setting 'a': not known"),
    ],
)
def test_a_yaml_file_that_holds_no_settings_is_refused(tmp_path, content, words):
    (tmp_path / "how.yaml").write_text(content)
    with pytest.raises(InputError, match=words):
        parsed("--how", str(tmp_path / "how.yaml"))


def test_metadata_needs_a_name_and_a_path():
    with pytest.raises(InputError, match="give NAME=PATH"):
        parsed("--metadata", "mesh")
