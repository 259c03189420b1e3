"""No sentence of a benchmark stays: found word by word, lines and documents go, counted and shown by benchmark."""

import json
import random
import re
from dataclasses import asdict

import pytest
from corpus_helpers import one_sentence, run, write_shards

from alibert_common.errors import InputError
from alibert_common.executors.base import ALONE, Engine
from alibert_common.files import write_json
from preprocess import deduplicate as command
from preprocess.deduplicate import Settings, deduplicate
from preprocess.deduplication.benchmarks import Benchmark, Index, index_of, read_benchmarks, words_of
from preprocess.deduplication.decontamination import Decontaminator
from preprocess.documents.document import Document, read_documents
from preprocess.ingest import ingest

SENTENCE = "La patiente, âgée de 67 ans, a été adressée au service d'oncologie."
OTHER = "Le scanner thoracique montrait un épanchement pleural droit."


def found_in(text, *sentences):
    """Which of the sentences a text holds."""
    words = [word for line in text.split("\n") for word in words_of(line)]
    return [found.text for _, found in Index([Benchmark("b", sentences, 0)]).find(words)]


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE,
        f"Motif. {SENTENCE} Elle tousse.",
        "LA PATIENTE ÂGÉE DE 67 ANS A ÉTÉ ADRESSÉE AU SERVICE D’ONCOLOGIE",
        "la patiente , âgée de 67 ans , a été adressée au service d' oncologie",
        "Vue hier. La patiente, âgée de\n67 ans, a été adressée\nau service d'oncologie. Depuis,",
        "La pati\xadente, a\u0302ge\u0301e de 67 ans, a été adressée au service d'oncologie.",
    ],
)
def test_a_sentence_is_found_however_it_is_set(text):
    assert found_in(text, SENTENCE) == [SENTENCE]


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE.replace("67", "68"),
        SENTENCE.replace("âgée", "agée"),
        SENTENCE.replace("adressée", "bien adressée"),
        SENTENCE.replace("oncologie", "oncologiepédiatrique"),
        SENTENCE.replace("La patiente", "Lapatiente"),
        SENTENCE.removesuffix("d'oncologie."),
        "",
    ],
)
def test_other_words_are_another_sentence(text):
    assert found_in(text, SENTENCE) == []


def test_sentences_that_begin_alike_repeat_or_lie_in_each_other_are_all_found():
    long = f"{SENTENCE} {OTHER}"
    found = found_in(f"{long} {SENTENCE} Fin.", long, SENTENCE, OTHER, "adressée au service", "Fin", "tousse")
    assert sorted(found) == sorted([long, SENTENCE, SENTENCE, OTHER, *["adressée au service"] * 2, "Fin"])


def test_what_is_found_is_what_comparing_every_place_finds():
    """Sentences of two benchmarks, some in both, of few words and so in each other; others have 60,000 words."""
    draw = random.Random(1)
    names = [" ".join(draw.choices("abc", k=draw.randrange(1, 6))) for _ in range(60)]
    many = [f"mot{number}" for number in range(60_000)]
    benchmarks = [Benchmark("x", (" ".join(many), *dict.fromkeys(names[:40])), 0), Benchmark("y", tuple(many[-9:]), 0)]
    benchmarks.append(Benchmark("z", tuple(dict.fromkeys(names[20:])), 0))
    words = draw.choices(["a", "b", "c", "autre", *many[-3:]], k=400)
    expected = []
    for one in benchmarks:
        for number, sentence in enumerate(one.sentences):
            sought = sentence.split()
            for start in range(len(words)):
                if words[start : start + len(sought)] == sought:
                    expected.append((start, start + len(sought), one.name, number))
    found = [(place.start, place.stop, one.benchmark, one.number) for place, one in Index(benchmarks).find(words)]
    assert sorted(found) == sorted(expected) and {"x", "y", "z"} == {name for *_, name, _ in found}


def brat(directory, *texts):
    """A benchmark as brat has it."""
    directory.mkdir()
    for number, text in enumerate(texts):
        (directory / f"{number}.txt").write_text(text, encoding="utf-8")
        (directory / f"{number}.ann").write_text("T1\tDISO 0 4\tToux\n")
    return directory


def test_sentences_end_with_lines_and_stops_and_short_ones_are_counted(tmp_path):
    folder = brat(tmp_path / "a", f"ANAMNÈSE\n{SENTENCE} Pas de toux ? {OTHER} Fin.\n", f"Suite.\n\n{OTHER.upper()}")
    (more,) = read_benchmarks([("mien", folder), ("mien", brat(tmp_path / "b", OTHER, SENTENCE[:-1] + " ici."))], 40)
    not_read = tuple(f"{tmp_path / name}: 2 files of no known format (.ann)" for name in "ab")
    assert more == Benchmark("mien", (SENTENCE, OTHER, SENTENCE[:-1] + " ici."), 4, not_read)
    (longer,) = read_benchmarks([("mien", brat(tmp_path / "c", "Fin", "« Fin. »", "Fin."))], 5)
    assert (longer.sentences, longer.shorter) == (("« Fin. »",), 0)
    ingest([folder], tmp_path / "documents")
    assert read_benchmarks([("mien", tmp_path / "documents")], 40) == read_benchmarks([("mien", folder)], 40)


def test_a_row_of_dots_makes_no_sentence_of_a_word(tmp_path):
    """A form's would take every line with that word."""
    forms = brat(tmp_path / "a", f"Nom : {'.' * 60}\nDate de naissance : {'_' * 40}\n{SENTENCE}\n")
    (found,) = read_benchmarks([("mien", forms)], 40)
    assert found == Benchmark("mien", (SENTENCE,), 2)


def decontaminated(tmp_path, text, **benchmarks):
    """The documents left of a text, the report and the page of examples."""
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    named = tuple((name, str(brat(tmp_path / name, *texts))) for name, texts in benchmarks.items())
    settings = Settings(0, near=None, benchmarks=named)
    report = deduplicate([tmp_path / "in.txt"], tmp_path / "out", settings, ALONE)
    page = (tmp_path / "out" / "dropped.txt").read_text(encoding="utf-8")
    return [document.lines for document in read_documents([tmp_path / "out"])], report, page


REST = "Le reste de la lettre parle de tout autre chose, et en bien plus de mots qu'il n'en faut ici pour cela. " * 4


def test_the_lines_that_hold_a_sentence_go_and_are_counted_by_benchmark(tmp_path):
    broken = OTHER.replace("montrait ", "montrait\n")
    text = f"Un.\n{REST}\nHier. {SENTENCE}\nDeux.\n{broken}\nTrois.\n\n{REST.upper()}\n{SENTENCE} {OTHER}\n"
    documents, report, page = decontaminated(tmp_path, text, quaero=[SENTENCE], fracco=[OTHER, "Jamais vue." * 9])
    assert documents == [["Un.", REST, "Deux.", "Trois."], [REST.upper()]]
    assert report.dropped == {
        "lines seen 0 times before": 0, "lines with a sentence of quaero": 2, "lines with a sentence of fracco": 3
    }  # fmt: skip
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    counts = {name: (of["sentences"], of["shorter"], of["found"]) for name, of in manifest["benchmarks"].items()}
    assert counts == {"quaero": (1, 0, 1), "fracco": (2, 0, 1)}
    assert "# lines with a sentence of quaero (2)\n" in page and "# lines with a sentence of fracco (3)\n" in page
    assert f"\n{tmp_path.name}/in.txt\tin-1\t{SENTENCE}\n" in page and f"\tin-1\t{OTHER}\n" in page


def test_a_document_a_quarter_of_which_is_a_benchmark_goes_whole(tmp_path):
    """13 words of 52, and of 53."""
    words = len(words_of(SENTENCE))
    text = "\n\n".join(f"{SENTENCE}\n" + " ".join(["mot"] * count) for count in (3 * words, 3 * words + 1))
    documents, report, page = decontaminated(tmp_path, text, mien=[SENTENCE], autre=[OTHER])
    assert documents == [[" ".join(["mot"] * (3 * words + 1))]]
    assert (
        report.dropped["documents a quarter of which is of benchmarks"] == 1
        and report.dropped["lines with a sentence of mien"] == 1
    )
    assert "documents left" not in page
    assert f"\tin-1\t{SENTENCE} mot mot" in page


def test_a_document_goes_once_whatever_benchmarks_make_the_quarter(tmp_path):
    """13 words of one and 8 of another, which are 0.16 and 0.10 of 81, together 0.26."""
    text = f"{SENTENCE}\n{OTHER}\n" + " ".join(["mot"] * (81 - len(words_of(f"{SENTENCE} {OTHER}"))))
    documents, report, page = decontaminated(tmp_path, f"{text}\n\n{REST}\n", mien=[SENTENCE], autre=[OTHER])
    assert documents == [[REST]]
    assert report.dropped == {"documents a quarter of which is of benchmarks": 1, "lines seen 0 times before": 0}
    assert page.startswith("# documents a quarter of which is of benchmarks (1)\n")


def test_lines_that_make_a_sentence_without_what_lay_between_go_too(tmp_path):
    first, second = SENTENCE.split(" a été ")
    text = f"{REST}\n{first}\n{OTHER}\na été {second}\nFin.\n"
    documents, report, _ = decontaminated(tmp_path, text, mien=[SENTENCE, OTHER])
    assert documents == [[REST, "Fin."]] and report.dropped["lines with a sentence of mien"] == 3


def letter(draw, count):
    return " ".join(f"mot{draw.randrange(5000)}" for _ in range(count))


def after(tmp_path, documents, **settings):
    """The ids of the documents that are left, and the report, of a benchmark of two sentences."""
    write_shards(tmp_path / "in", [Document(str(n), "s", text.split("\n")) for n, text in enumerate(documents)], 2)
    named = (("b", str(brat(tmp_path / "b", SENTENCE, OTHER))),)
    report = deduplicate([tmp_path / "in"], tmp_path / "out", Settings(benchmarks=named, **settings), ALONE)
    return {document.id: document.lines for document in read_documents([tmp_path / "out"])}, report


def test_a_clean_document_stays_whose_near_duplicate_goes_for_a_benchmark(tmp_path):
    """The first is a quarter benchmark, and nearly the same as the second, which holds no sentence of it."""
    common = letter(random.Random(1), 120)
    left, report = after(tmp_path, [f"{common}\n{SENTENCE}\n{OTHER}\n{SENTENCE}\n{OTHER}", f"{common}\nIl va bien."])
    assert list(left) == ["1"]
    assert report.dropped["documents a quarter of which is of benchmarks"] == 1
    assert "near-duplicates of an earlier document" not in report.dropped


def test_lines_that_go_for_a_benchmark_are_no_copies(tmp_path):
    """Neither those of a document that goes whole, nor the words by which documents are compared."""
    draw, phrase = random.Random(2), "Veuillez lire attentivement cette notice."
    texts = [letter(draw, 100) for _ in range(3)]
    whole = f"{phrase}\n{SENTENCE}\n{OTHER}"
    documents = [whole, f"{texts[0]}\n{phrase}", f"{texts[1]}\n{SENTENCE}", texts[1], f"{texts[2]}\n{phrase}"]
    left, report = after(tmp_path, documents, max_repeats=1, near=None)
    assert left == {"1": [texts[0], phrase], "2": [texts[1]], "4": [texts[2]]}
    assert report.dropped["lines seen 1 times before"] == report.dropped["documents seen before"] == 1


def test_lines_that_meet_when_a_repeated_one_goes_are_looked_for_too(tmp_path):
    draw, phrase = random.Random(3), "Veuillez lire attentivement cette notice."
    first, second = SENTENCE.split(" a été ")
    texts = [letter(draw, 100) for _ in range(2)]
    documents = [f"{texts[0]}\n{phrase}", f"{texts[1]}\n{first}\n{phrase}\na été {second}"]
    left, report = after(tmp_path, documents, max_repeats=1)
    assert left == {"0": [texts[0], phrase], "1": [texts[1]]} and report.dropped["lines with a sentence of b"] == 2
    counts = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["benchmarks"]
    assert counts["b"]["found"] == 1
    assert f"\nin/00000.jsonl.zst\t1\t{SENTENCE}\n" in (tmp_path / "out" / "dropped.txt").read_text(encoding="utf-8")


def corpus_of(tmp_path, name="b"):
    """Three shards of 2 documents, the second of which goes whole, copies, and the settings."""
    texts = [letter(random.Random(4), 60), letter(random.Random(5), 60)]
    texts = [texts[0], f"{texts[1]}\n{SENTENCE}", SENTENCE, f"{OTHER} Fin.", texts[1], f"{OTHER}\n{texts[0]} Suite."]
    write_shards(tmp_path / "in", [Document(str(n), "s", text.split("\n")) for n, text in enumerate(texts)], 2)
    return Settings(benchmarks=((name, str(brat(tmp_path / "b", SENTENCE, OTHER))),))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_shard_may_go_whole_and_examples_name_the_inputs(tmp_path, workers):
    report = deduplicate([tmp_path / "in"], tmp_path / "out", corpus_of(tmp_path), Engine(workers))
    assert [document.id for document in read_documents([tmp_path / "out"])] == ["0", "1"]
    assert {path.name for path in tmp_path.joinpath("out").iterdir()} == {
        "00000.jsonl.zst", "manifest.json", "dropped.txt"
    }  # fmt: skip
    assert report.read["s"].documents == 6 and report.kept["s"].documents == 2
    assert [entry["path"] for entry in report.inputs] == [str(tmp_path / f"in/0000{n}.jsonl.zst") for n in (0, 2, 4)]
    assert {rule: count for rule, count in report.dropped.items() if count} == {
        "lines with a sentence of b": 2, "documents a quarter of which is of benchmarks": 2,
        "documents seen before": 1, "near-duplicates of an earlier document": 1,
    }  # fmt: skip
    page = (tmp_path / "out" / "dropped.txt").read_text(encoding="utf-8")
    assert "\nin/00002.jsonl.zst\t2\t" in page and "\nin/00004.jsonl.zst\t4\tmot" in page


def test_nothing_is_left_of_a_corpus_that_is_the_benchmark(tmp_path):
    (tmp_path / "in.txt").write_text(f"{SENTENCE}\n\n{SENTENCE} Puis.\n", encoding="utf-8")
    settings = Settings(benchmarks=(("b", str(brat(tmp_path / "b", SENTENCE))),))
    report = deduplicate([tmp_path / "in.txt"], tmp_path / "out", settings, ALONE)
    assert report.kept == {} and report.dropped == {"documents a quarter of which is of benchmarks": 2}


def test_stopped_after_the_benchmarks_the_same_command_goes_on_there(tmp_path, monkeypatch):
    settings, calls, clean = corpus_of(tmp_path), [], Decontaminator.clean
    monkeypatch.setattr(Decontaminator, "clean", lambda *given: calls.append(1) or clean(*given))
    with monkeypatch.context() as patch:
        patch.setattr(command, "find_same", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deduplicate([tmp_path / "in"], tmp_path / "out", settings, ALONE)
    assert len(calls) == 6
    report = deduplicate([tmp_path / "in"], tmp_path / "out", settings, ALONE)
    assert len(calls) == 6 and report.kept["s"].documents == 2


def test_the_index_is_made_once_for_all_shards(tmp_path, monkeypatch):
    made, begin = [], Index.__init__
    monkeypatch.setattr(Index, "__init__", lambda *given: made.append(1) or begin(*given))
    deduplicate([tmp_path / "in"], tmp_path / "out", corpus_of(tmp_path, "met here only"), ALONE)
    assert len(made) == 1


def test_the_index_is_of_what_the_file_says_now(tmp_path):
    for sentence in (SENTENCE, OTHER):
        write_json(tmp_path / "benchmarks.json", [asdict(Benchmark("b", (sentence,), 0))])
        (found,) = index_of((tmp_path / "benchmarks.json").read_text(encoding="utf-8")).find(
            words_of(f"{SENTENCE} {OTHER}")
        )
        assert found[1].text == sentence


def test_a_document_of_one_line_that_goes_is_counted(tmp_path):
    """13 words of 60, less than a quarter; it has a shard of its own."""
    draw = random.Random(6)
    texts = [letter(draw, 47), letter(draw, 47)]
    left, report = after(tmp_path, [*texts, f"{SENTENCE} {letter(draw, 47)}"])
    assert left == {"0": [texts[0]], "1": [texts[1]]} and report.read["s"].documents == 3
    assert report.dropped["lines with a sentence of b"] == report.dropped["documents left without a line"] == 1


def test_the_same_benchmark_spelled_otherwise_is_the_same(tmp_path, monkeypatch):
    (tmp_path / "in.txt").write_text(f"{REST}\n{SENTENCE}\n", encoding="utf-8")
    brat(tmp_path / "b", SENTENCE)
    made = []
    for folder, path in ((tmp_path, "b"), (tmp_path / "b", "../b"), (tmp_path / "b", str(tmp_path / "b"))):
        monkeypatch.chdir(folder)
        deduplicate([tmp_path / "in.txt"], tmp_path / "out", Settings(benchmarks=(("b", path),)), ALONE)
        made.append((tmp_path / "out" / "manifest.json").stat().st_mtime_ns)
    assert len(set(made)) == 1
    deduplicate([tmp_path / "in.txt"], tmp_path / "out", Settings(benchmarks=(("other", path),)), ALONE)
    assert "lines with a sentence of other" in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_a_benchmark_that_changed_is_looked_for_again(tmp_path):
    (tmp_path / "in.txt").write_text(f"{REST}\n{SENTENCE}\n", encoding="utf-8")
    folder = brat(tmp_path / "b", OTHER)
    settings = Settings(benchmarks=(("b", str(folder)),))
    assert deduplicate([tmp_path / "in.txt"], tmp_path / "out", settings, ALONE).kept["in"].lines == 2
    (folder / "0.txt").write_text(SENTENCE, encoding="utf-8")
    assert deduplicate([tmp_path / "in.txt"], tmp_path / "out", settings, ALONE).kept["in"].lines == 1


@pytest.mark.parametrize("linked", [False, True])
def test_a_benchmark_is_known_by_the_files_that_are_read(tmp_path, linked):
    """Not by a manifest.json that somebody left beside them, and through links to folders."""
    (tmp_path / "in.txt").write_text(f"{REST}\n{SENTENCE}\n", encoding="utf-8")
    folder = brat(tmp_path / "b", OTHER)
    if linked:
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "b").symlink_to(folder, target_is_directory=True)
    else:
        (folder / "manifest.json").write_text(json.dumps({"text": "Des lettres."}))
    settings = Settings(benchmarks=(("b", str(tmp_path / "links" if linked else folder)),))
    assert deduplicate([tmp_path / "in.txt"], tmp_path / "out", settings, ALONE).kept["in"].lines == 2
    (folder / "0.txt").write_text(SENTENCE, encoding="utf-8")
    assert deduplicate([tmp_path / "in.txt"], tmp_path / "out", settings, ALONE).kept["in"].lines == 1


def test_the_command_names_benchmarks_and_refuses_what_is_none(tmp_path):
    (tmp_path / "in.txt").write_text(f"{REST}\n{SENTENCE}\n", encoding="utf-8")
    words = (
        "preprocess.deduplicate",
        tmp_path / "in.txt",
        "--output",
        tmp_path / "out",
        "--workers",
        "1",
        "--benchmark",
    )
    result = run(*words, f"b={brat(tmp_path / 'b', SENTENCE, 'Courte.')}")
    assert result.returncode == 0, result.stderr
    assert "1 lines with a sentence of b" in result.stdout
    assert "b  1 of 1 sentences were there; 1 shorter ones were not looked for" in result.stdout
    assert "give NAME=PATH" in run(*words, tmp_path / "b").stderr
    assert "no such file" in one_sentence(run(*words, f"b={tmp_path / 'absent'}"))
    assert "benchmark c: no sentence of 40 characters" in one_sentence(
        run(*words, f"c={brat(tmp_path / 'c', 'Toux.')}")
    )
    (tmp_path / "table.tsv").write_text("id\ttitle\n1\tToux\n")
    assert "ingest it with the options it needs" in one_sentence(run(*words, f"d={tmp_path / 'table.tsv'}"))


def test_files_beside_the_data_of_a_benchmark_are_reported_and_not_read(tmp_path):
    folder = brat(tmp_path / "b", SENTENCE)
    (folder / "README.txt").write_text(f"This folder holds cases. {OTHER}\n", encoding="utf-8")
    (folder / "split.tsv").write_text("id\tsplit\n1\ttrain\n")
    (folder / "stats.json").write_text('{"documents": 1}')
    (tmp_path / "in.txt").write_text(f"{REST}\n{SENTENCE}\n{OTHER}\n", encoding="utf-8")
    words = ("preprocess.deduplicate", tmp_path / "in.txt", "--workers", "1", "--output")
    result = run(*words, tmp_path / "out", "--benchmark", f"b={folder}")
    assert result.returncode == 0, result.stderr
    assert "b  1 of 1 sentences were there" in result.stdout
    for file, reason in {
        "README.txt": "describes the data",
        "split.tsv": "no column 'text'",
        "stats.json": "no field 'text'",
    }.items():
        assert re.search(rf"not read  .*{file}.*{reason}", result.stdout), result.stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert len(manifest["benchmarks"]["b"]["not_read"]) == 4  # and the .ann files
    (folder / "damaged.txt").write_bytes(b"\xff\xfe\xff")
    assert "damaged.txt" in one_sentence(run(*words, tmp_path / "out2", "--benchmark", f"b={folder}"))


def test_a_benchmark_is_more_than_its_readme(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "readme.txt").write_text(f"{SENTENCE}\n", encoding="utf-8")
    (tmp_path / "b" / "data.csv").write_text("id,body\n1,Toux\n")
    with pytest.raises(InputError, match="data.csv, line 1: no column 'text'.*ingest it with the options"):
        read_benchmarks([("b", str(tmp_path / "b"))], 40)


def sentences_of(lines):
    """Sentences of 40 characters or more by another rule: what stands between stops, letter by letter."""
    parts = (part.strip() for line in lines for part in re.split(r"(?<=[.!?])\s+", line))
    return {part for part in parts if len(part) >= 40}


def test_no_sentence_of_a_real_benchmark_stays(tmp_path, shared_data):
    """Clinical cases of a journal share sentences with FRACCO, letter by letter."""
    benchmark = shared_data / "fr_ner" / "fracco" / "brat_raw"
    theirs = sentences_of(line for file in benchmark.glob("*.txt") for line in file.read_text("utf-8").split("\n"))
    corpus = shared_data / "fr_raw" / "pamj_cas_cliniques.txt"
    before = [document for document in read_documents([corpus])]
    shared = theirs & sentences_of(line for document in before for line in document.lines)
    assert len(shared) >= 7
    settings = Settings(0, near=None, benchmarks=(("fracco", str(benchmark)),))
    report = deduplicate([corpus], tmp_path / "out", settings, ALONE)
    after = [document for document in read_documents([tmp_path / "out"])]
    text = "\n".join(line for document in after for line in document.lines)
    assert not [sentence for sentence in shared if sentence in text]
    assert not theirs & sentences_of(text.split("\n"))
    kept, read = report.kept["pamj_cas_cliniques"], report.read["pamj_cas_cliniques"]
    assert kept.words > 0.99 * read.words and report.dropped["lines with a sentence of fracco"] >= len(shared)
