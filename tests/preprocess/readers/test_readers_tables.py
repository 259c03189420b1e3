"""Tables of text and of Parquet: a document a row, and no row lost in silence."""

import datetime
import decimal
import sys

import pyarrow
import pyarrow.parquet
import pytest
from reader_helpers import FIXTURES, read

from alibert_common.errors import InputError
from preprocess.readers.records import table as table_module


def write(path, content, encoding="utf-8"):
    path.write_bytes(content.encode(encoding))
    return path


def test_a_table_as_french_spreadsheets_write_it():
    """A byte order mark, semicolons, quoted values with a line break, a semicolon and doubled quotation marks."""
    got = read(
        FIXTURES / "resumes.csv", text=["titre", "résumé"], id="pmid", metadata={"specialty": "spécialité"}
    )  # fmt: skip
    assert got.lines == [
        ["Fièvre; un cas", "Un homme tousse.", 'Il a "froid".'],
        ["Insuffisance cardiaque", "Une femme est essoufflée."],
        ["Doublon", "Même numéro."],
    ]
    assert [(d.id, d.date, d.metadata["specialty"]) for d in got.documents] == [
        ("101", "2023-02-14", "pneumologie"), ("102", "2021", "cardiologie"), ("101", "", "cardiologie"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.csv", "n,text\n1,a\n"),
        ("a.csv", '"n;o",text\n1,a\n'),
        ("a.tsv", "n,o\ttext\n1\ta\n"),
        ("a.csv", "text\na\n"),
        ("a.csv", "n|text\r\n1|a\r\n"),
    ],
)
def test_the_delimiter_is_the_one_of_which_there_is_no_doubt(tmp_path, name, content):
    assert read(write(tmp_path / name, content)).lines == [["a"]]


def test_the_format_tsv_has_tabs_whatever_the_name_of_the_file(tmp_path):
    assert read(write(tmp_path / "a.txt", "n,o\ttext\n1\ta\n"), format="tsv").lines == [["a"]]
    assert read(write(tmp_path / "b.tsv.csv", "n,text\n1,a\n")).lines == [["a"]]


def test_the_line_that_excel_writes_for_itself_names_the_delimiter(tmp_path):
    got = read(write(tmp_path / "a.csv", "sep=;\nid;text\n1;a, b\n"))
    assert got.ids == ["1"] and got.lines == [["a, b"]]
    assert not read(write(tmp_path / "b.csv", "sep=;\n")).documents


def test_a_delimiter_in_doubt_is_asked_for(tmp_path):
    path = write(tmp_path / "a.csv", "n,o;text\n1;a,b\n")
    with pytest.raises(InputError, match=r"line 1: ',' or ';' may divide the values; say which with --delimiter"):
        read(path)
    assert read(path, delimiter=";").lines == [["a,b"]]


def test_a_value_may_be_longer_than_the_modules_own_limit(tmp_path):
    assert read(write(tmp_path / "a.csv", f"text\n{'a' * 1_000_000}\n")).lines == [["a" * 1_000_000]]


def test_tables_in_other_encodings(tmp_path):
    path = write(tmp_path / "b.csv", "text;n\nl’été;1\n", "cp1252")
    assert read(path, encoding="windows-1252").lines == [["l’été"]]
    assert read(write(tmp_path / "c.csv", 'text;n\n"l’\nété";1\n', "utf-16"), encoding="utf-16").lines == [
        ["l’", "été"]
    ]


@pytest.mark.parametrize(
    "rows, places, reason",
    [
        ("1,a,b\n", ["line 3"], "another number of values than the header (3, not 2)"),
        ("seul\n", ["line 3"], "another number of values than the header (1, not 2)"),
        ('1,"a"b\n', ["line 3"], "quotation marks that do not fit"),
        ('1,"ouvert\n', ["line 3"], "quotation marks that do not fit"),
        ("1,\xe9\n", ["line 3"], "not UTF-8 (byte 3 is 0xe9)"),
        ('1,"a\n\xe9"\n', ["lines 3 to 4"], "not UTF-8 (byte 1 is 0xe9)"),
        ("1,a\rb\n", ["line 3"], "quotation marks that do not fit (new-line character seen"),
    ],
)
def test_a_row_that_cannot_be_read_takes_no_other_with_it(tmp_path, rows, places, reason):
    path = tmp_path / "a.csv"
    path.write_bytes(f"n,text\n0,avant\n{rows}2,après\n3,fin\n".encode("latin-1").replace("è".encode("latin-1"), b"e"))
    got = read(path, on_error="skip")
    assert got.lines == [["avant"], ["apres"], ["fin"]]
    assert [skipped.place for skipped in got.skipped] == places and got.skipped[0].reason.startswith(reason)
    with pytest.raises(InputError, match=f"a.csv, {places[0]}: {reason.partition(' (')[0]}"):
        read(path)


def test_a_quotation_mark_that_is_never_closed_is_looked_for_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr(table_module, "LONGEST", 100)
    got = read(write(tmp_path / "a.csv", 'text\n"ouvert\n' + "abcdefghi\n" * 50), on_error="skip")
    assert len(got.lines) == 50 and [skipped.place for skipped in got.skipped] == ["line 2"]
    assert "no end of the value" in got.skipped[0].reason


@pytest.mark.parametrize(
    "content, settings, words",
    [
        ("n,corps\n1,a\n", {}, r"line 1: no column 'text'; the columns are n, corps: name .*--text-field"),
        ("n,text\n1,a\n", {"id": "pmid"}, "no column 'pmid'"),
        ("n,text\n1,a\n", {"metadata": {"m": "mesh"}}, "no column 'mesh'"),
        ("text,text\na,b\n", {}, "two columns named 'text'"),
        ('"text\n', {}, "line 1: quotation marks that do not fit"),
    ],
)
def test_a_header_that_does_not_fit_stops_or_is_listed_as_a_whole_file(tmp_path, content, settings, words):
    path = write(tmp_path / "a.csv", content)
    with pytest.raises(InputError, match=words):
        read(path, **settings)
    got = read(path, **settings, on_error="skip")
    assert not got.documents and got.counts == {"skipped: a whole file": 1, "files without a document": 1}


def test_nul_characters_pass_through_the_csv_module_and_blank_lines_are_no_rows(tmp_path):
    got = read(write(tmp_path / "a.csv", 'n,text\n\n1,"a\0b"\n\n'))
    assert got.lines == [["a\0b"]] and got.counts == {}


def test_column_names_with_dots_are_names(tmp_path):
    """The table of theses of data.gouv.fr has `titres.fr`."""
    assert read(write(tmp_path / "a.csv", "nnt,titres.fr\n1,Un titre\n"), text="titres.fr").lines == [["Un titre"]]


@pytest.fixture
def parquet(tmp_path):
    table = pyarrow.table(
        {
            "id": [1, 2, 3, 4, 5],
            "titre": ["Un", "Deux", None, "Quatre", "Cinq"],
            "corps": [["a", "b\nc"], ["d"], [], None, ["e"]],
            "jour": [datetime.date(2023, 2, day) for day in range(1, 6)],
            "prix": [decimal.Decimal("1.5")] * 5,
            "info": [{"spécialité": "cardio"}] * 5,
            "grand": ["inutile"] * 5,
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    return tmp_path / "a.parquet"


SETTINGS = {"text": ["titre", "corps"], "date": "jour", "metadata": {"specialty": "info.spécialité", "price": "prix"}}


def test_parquet_gives_a_document_a_row_with_values_that_json_can_hold(parquet):
    got = read(parquet, **SETTINGS)
    assert got.lines == [["Un", "a", "b", "c"], ["Deux", "d"], ["Quatre"], ["Cinq", "e"]]
    assert [(d.id, d.date) for d in got.documents][:2] == [("1", "2023-02-01"), ("2", "2023-02-02")]
    assert got.documents[0].metadata == {"specialty": "cardio", "price": "1.5"}
    assert got.counts == {"records without text (parquet)": 1}
    assert got.log.manifest()[0]["bytes"] == parquet.stat().st_size


def test_only_the_columns_that_are_needed_are_read_row_group_by_row_group(parquet, monkeypatch):
    asked = []
    whole = pyarrow.parquet.ParquetFile

    class Spy(whole):
        def iter_batches(self, size, row_groups, columns):
            asked.append((row_groups, columns))
            return super().iter_batches(size, row_groups=row_groups, columns=columns)

    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", Spy)
    read(parquet, **SETTINGS)
    assert asked == [([group], ["id", "titre", "corps", "jour", "prix", "info"]) for group in range(3)]


def test_a_truncated_file_is_refused_and_a_damaged_row_group_costs_its_rows_only(parquet, tmp_path):
    data = parquet.read_bytes()
    (tmp_path / "half.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="half.parquet: damaged, or no Parquet file"):
        read(tmp_path / "half.parquet", **SETTINGS)
    for group in (0, 1):
        start = pyarrow.parquet.ParquetFile(parquet).metadata.row_group(group).column(1).dictionary_page_offset
        data = data[:start] + b"\xff" * 30 + data[start + 30 :]
    (tmp_path / "hole.parquet").write_bytes(data)
    got = read(tmp_path / "hole.parquet", **SETTINGS, on_error="skip")
    assert got.lines == [["Cinq", "e"]]
    assert [skipped.place for skipped in got.skipped] == ["records 1 to 2", "records 3 to 4"]
    assert got.counts == {"skipped: a damaged row group": 4}


def test_a_page_with_another_checksum_is_not_read_as_text(tmp_path):
    table = pyarrow.table({"text": ["une fièvre", "une toux"]})
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(
        table, path, row_group_size=1, compression="none", use_dictionary=False, write_statistics=False,
        write_page_checksum=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes().replace("fièvre".encode(), "lièvre".encode()))
    got = read(path, on_error="skip")
    assert got.lines == [["une toux"]] and [skipped.place for skipped in got.skipped] == ["records 1 to 1"]


def test_texts_as_bytes_are_decoded_or_refused_one_by_one(tmp_path):
    pyarrow.parquet.write_table(
        pyarrow.table({"text": [b"\xc3\xa9t\xc3\xa9", b"\xe9t\xe9", b"a"]}), tmp_path / "a.parquet"
    )
    got = read(tmp_path / "a.parquet", on_error="skip")
    assert got.lines == [["été"], ["a"]] and got.skipped[0].place == "record 2"


def test_without_pyarrow_one_sentence_says_what_to_install(parquet, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="install it with `pip install pyarrow`"):
        read(parquet, **SETTINGS, on_error="skip")
