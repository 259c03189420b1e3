"""A whole corpus by one command: its file, the commands it stands for, its report, and what a second run does."""

import importlib.util
import json
import shutil
from argparse import Namespace
from importlib.metadata import version
from pathlib import Path

import pytest
from corpus_helpers import REPOSITORY, one_sentence, run, write_tokenizer

from alibert_common.errors import InputError
from preprocess.corpus import command_of, removed_sources
from preprocess.pipeline.checks import check
from preprocess.pipeline.config import STAGES, CorpusFile
from preprocess.pipeline.steps import Steps

ENGINE = Namespace(workers=3, slurm=2, partition="gpu", account=None, time=None, sbatch=["qos=long"])
FILE = """
sources:
  cases:
    type: clinical cases
    paths: cases
    ingest: {licence: MIT}
  notes:
    paths: [notes.txt, more.txt]
    clean: {min-words: 1}
clean: {min_words: 4, also: [web, articles]}
mix: {core: cases, valid: 0.1}
train_tokenizer: {vocab-size: 700, no-duplicates: true}
"""


def write(directory: Path, content: str = FILE) -> Path:
    """The file, and sources beside it."""
    file = directory / "corpus.yaml"
    file.write_text(content, encoding="utf-8")
    texts = sorted((REPOSITORY / "recipes/sample/text").glob("*.txt"))
    (directory / "cases").mkdir(exist_ok=True)
    for text in texts[:30]:
        shutil.copy2(text, directory / "cases")
    for name, some in (("notes.txt", texts[30:40]), ("more.txt", texts[38:45])):
        (directory / name).write_text("\n\n".join(one.read_text(encoding="utf-8").strip() for one in some))
    return file


def steps(directory: Path, content: str) -> list:
    file = directory / "corpus.yaml"
    file.write_text(content, encoding="utf-8")
    return list(Steps(CorpusFile(file), Path("out"), ENGINE, command_of))


def refused(directory: Path, content: str) -> str:
    with pytest.raises(InputError) as refusal:
        steps(directory, content)
    sentence = str(refusal.value)
    assert "\n" not in sentence and "corpus.yaml" in sentence
    return sentence


def test_the_file_stands_for_these_commands(tmp_path):
    found = [str(step) for step in steps(tmp_path, FILE)]
    assert found == [
        f"python -m preprocess.ingest {tmp_path}/cases --source cases --output out/documents/cases --licence=MIT",
        f"python -m preprocess.ingest {tmp_path}/notes.txt {tmp_path}/more.txt --source notes --output "
        "out/documents/notes",
        "python -m preprocess.clean out/documents/cases --output out/clean/cases --min-words=4 --also web articles",
        "python -m preprocess.clean out/documents/notes --output out/clean/notes --min-words=1 --also web articles",
        "python -m preprocess.deduplicate out/clean/cases out/clean/notes --output out/unique",
        "python -m preprocess.mix out/unique --output out/mixed --core=cases --valid=0.1",
        "python -m preprocess.train_tokenizer out/mixed --output out/tokenizer --vocab-size=700 --no-duplicates",
        "python -m preprocess.binarize --tokenizer out/tokenizer --mix out/mixed --output out/data-bin",
    ]


def test_options_of_every_kind_are_spelled_as_the_command_has_them(tmp_path):
    ingest, _, deduplicate, mix, binarize = steps(
        tmp_path,
        "sources: {a: {paths: [x.csv], ingest: {metadata: {year: Date, place: Ward}, where: ['year~^20', 'place=-A'],"
        " text-field: [one, two], how: how.yaml, one_document_per_file: false}}}\n"
        "deduplicate: {benchmark: {quaero: brat, mine: [a, /b]}}\nmix: {weights: {a: 2.5}}\n"
        "binarize: {tokenizer: mine, data-bins: 4}",
    )
    assert ingest.options.metadata == ["year=Date", "place=Ward"] and ingest.options.where == ["year~^20", "place=-A"]
    assert ingest.options.text == ["one", "two"] and ingest.options.one_document_per_file is None
    assert ingest.options.read_options == tmp_path / "how.yaml" and ingest.options.paths == [tmp_path / "x.csv"]
    paths = [("quaero", f"{tmp_path}/brat"), ("mine", f"{tmp_path}/a"), ("mine", "/b")]
    assert deduplicate.options.benchmark == paths and mix.options.weights == "a=2.5"
    assert binarize.options.tokenizer == tmp_path / "mine"  # and none is trained
    assert binarize.options.data_bins == 4


@pytest.mark.parametrize("file", sorted((REPOSITORY / "recipes/corpus").glob("*.yaml")), ids=lambda file: file.name)
def test_the_recipes_are_such_files(file, monkeypatch):
    monkeypatch.setattr("preprocess.pipeline.checks._there", lambda paths: None)  # the corpora
    monkeypatch.setattr("preprocess.pipeline.checks.files_of", lambda *_: [])
    found = list(Steps(CorpusFile(file), Path("out"), ENGINE, command_of))
    check(CorpusFile(file), found)
    assert {step.stage for step in found} >= {"ingest", "clean", "deduplicate", "mix", "train_tokenizer", "binarize"}


def test_where_the_stages_run_is_said_once(tmp_path):
    for step in steps(tmp_path, FILE):
        assert {name: getattr(step.options, name) for name in vars(ENGINE)} == vars(ENGINE)
        assert "--workers" not in str(step)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("sources: [a", "corpus.yaml, line 1: "),
        ("a text", "holds no `key: value` lines"),
        ("clean: {}", "names no sources"),
        ("sources: {? [a, b] : {paths: x}}", "line 1: not YAML (a key is one word"),
        ("sources: {a: {paths: x}}\ndeduplicate: {benchmark: b=x}", "deduplicate: benchmark: write `name: path` lines"),
        (
            "sources: {a: {paths: x}}\nsources: {b: {paths: x}}",
            "line 2: not YAML (the key 'sources' stands",
        ),
        ("sources:\n  a: {paths: x}\n  a: {paths: y}", "line 3: not YAML (the key 'a' stands there twice"),
        ("sources: {a: {paths: x}}\ncleaning: {}", "cleaning: not known; there are sources, ingest, clean, pseudo"),
        ("sources: {a: {path: x}}", "sources, a: path: not known; there are type, paths"),
        ("sources: {a: {paths: [1]}}", "sources, a: give `paths:`"),
        ("sources: {a: {paths: x}}\nclean: 4", "clean: write `name: value` lines under it"),
        ("sources: {a: {paths: x, clean: {words: 4}}}", "sources, a, clean: words: no such option"),
        ("sources: {a: {paths: x}}\nclean: {words: 4}", "corpus.yaml: clean: words: no such option"),
        ("sources: {a: {paths: x}}\nclean: {output: y}", "clean: output: not for this file"),
        ("sources: {a: {paths: x}}\nclean: {workers: 4}", "clean: workers: not for this file"),
        ("sources: {a: {paths: x}}\nbinarize: {valid: y}", "binarize: valid: not for this file"),
        ("sources: {a: {paths: x}}\nclean: {any-language: 1}", "any-language: give it true or false"),
        ("sources: {a: {paths: x}}\nclean: {min-words: true}", "min-words: give it a value"),
        ("sources: {a: {paths: x}}\nclean: {min-words:}", "min-words: give it a value"),
        ("sources: {a: {paths: x}}\nclean: {min-words: few}", "clean: argument --min-words: invalid"),
        ("sources: {a: {paths: x}}\nclean: {also: [blogs]}", "clean: argument --also: invalid choice: 'blogs'"),
        ("sources: {a: {paths: x}}\nclean: {min-words: 1, min_words: 2}", "clean: an option is there twice"),
        ("sources: {a: {paths: x}}\ntrain_tokenizer:\nbinarize: {tokenizer: y}", "so none is trained"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(content, sentence, tmp_path):
    assert sentence in refused(tmp_path, content)


def test_a_source_that_cannot_name_a_corpus_is_refused(tmp_path):
    (tmp_path / "corpus.yaml").write_text("sources: {a b: {paths: x}}")
    with pytest.raises(InputError, match="corpus.yaml: sources, a b: no spaces, commas, '=' or '/' can be in the name"):
        CorpusFile(tmp_path / "corpus.yaml")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a corpus that was made, and what the command printed."""
    directory = tmp_path_factory.mktemp("corpus")
    result = run("preprocess.corpus", write(directory), "--output", directory / "out", "--workers", "1")
    assert result.returncode == 0, result.stderr
    return directory, result.stdout


def contents(directory: Path) -> dict:
    """{file: (when, content)}."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_the_report_is_what_the_stages_did(made):
    directory, printed = made
    found = json.loads((directory / "out/report/corpus.json").read_text(encoding="utf-8"))
    cases, notes = found["sources"]["cases"], found["sources"]["notes"]
    assert (cases["type"], cases["licence"], cases["read"]["documents"]) == ("clinical cases", "MIT", 30)
    assert (notes["read"]["documents"], notes["unique"]["documents"]) == (17, 15)  # two are in both files
    assert {"stage": "deduplicate", "source": "", "rule": "documents seen before", "count": 2} in found["rules"]
    for source in (cases, notes):
        assert source["train"]["words"] + source["valid"]["words"] == source["unique"]["words"]
    for split, source in (("train", "cases"), ("train1", "notes")):
        assert found["splits"][split]["source"] == source
        assert found["splits"][split]["documents"] == found["sources"][source]["train"]["documents"]
    assert found["splits"]["valid"]["documents"] == sum(one["valid"]["documents"] for one in (cases, notes))
    assert cases["weight"] < 1.01 < notes["weight"]
    tokenizer = json.loads((directory / "out/tokenizer/manifest.json").read_text(encoding="utf-8"))
    assert tokenizer["versions"].items() | {("rensa", version("rensa"))} <= found["versions"].items()
    assert found["stage_versions"] == dict.fromkeys(set(STAGES) - {"pseudonymise"}, 1) | {
        "ingest": 3,
        "binarize": 3,
        "mix": 2,
        "clean": 2,
        "deduplicate": 4,
        "train_tokenizer": 3,
    }
    page = (directory / "out/report/corpus.md").read_text(encoding="utf-8")
    assert f"| cases | clinical cases | MIT | 30 | {cases['unique']['words']:,} |" in page
    used = cases["train"]["bytes"] * cases["weight"]
    part = used / (used + notes["train"]["bytes"] * notes["weight"])
    assert f"| {part:.1%} |".replace("%", " %") in page and "| deduplicate | all | documents seen before | 2 |" in page
    assert "clinical cases" in printed and "(0 of 8 stages were there already)" in printed


def test_only_the_owner_can_read_the_corpus(made):
    directory, _ = made
    paths = [directory / "out", *(directory / "out").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_file()} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in paths if path.is_dir()} == {0o700}


def test_the_hashes_are_those_of_the_files(made):
    import hashlib

    directory, _ = made
    found = json.loads((directory / "out/report/corpus.json").read_text(encoding="utf-8"))
    assert "a.txt" not in json.dumps(found["sources"])  # names of files may name patients
    for source, one in found["sources"].items():
        read = json.loads((directory / f"out/documents/{source}/manifest.json").read_text(encoding="utf-8"))["inputs"]
        digests = "".join(file["sha256"] + "\n" for file in read)
        assert one["inputs"] == {
            "files": len(read), "rows": 0, "bytes": sum(file["bytes"] for file in read),
            "sha256": hashlib.sha256(digests.encode()).hexdigest(),
        }  # fmt: skip
    assert len(found["outputs"]) > 8
    for file in [*read, *found["outputs"]]:
        content = Path(file["path"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["bytes"], file["sha256"])


def test_a_second_run_does_nothing_and_a_change_remakes_what_it_touches(made):
    directory, _ = made
    before = contents(directory / "out")
    words = ("preprocess.corpus", directory / "corpus.yaml", "--output", directory / "out", "--workers", "1")
    again = run(*words)
    assert "(8 of 8 stages were there already)" in again.stdout, again.stderr
    assert contents(directory / "out") == before
    (directory / "corpus.yaml").write_text(FILE.replace("min-words: 1", "min-words: 2"))
    changed = run(*words, "--until", "mix")
    assert "(3 of 6 stages were there already)" in changed.stdout, changed.stderr
    after = contents(directory / "out")
    touched = {"/".join(name.split("/")[:2]) for name in before if before[name] != after[name]}
    assert {name for name in touched if not name.startswith(("unique", "mixed"))} == {"clean/notes"}
    assert "of a source" not in again.stdout + changed.stdout


def test_text_of_a_source_that_is_not_named_any_more_is_told(tmp_path):
    for place in ("documents/cases", "documents/gone", "clean/.gone.work", "clean/notes"):
        (tmp_path / "out" / place).mkdir(parents=True)
    left = removed_sources(CorpusFile(write(tmp_path)), tmp_path / "out")
    assert left == [tmp_path / "out/documents/gone", tmp_path / "out/clean/.gone.work"]


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        ("paths: cases", "paths: absent", "absent: no such file; check the path in the file of the corpus"),
        ("core: cases", "core: case", "--core names case; the documents are of cases, notes"),
        ("mix:", "deduplicate: {benchmark: {a: absent}}\nmix:", "absent: no such file"),
        (
            "train_tokenizer: {",
            "binarize: {samples: 2}\ntrain_tokenizer: {",
            "binarize: samples: no such option; `python -m",
        ),
        ("train_tokenizer: {", "binarize: {dry-run: true}\ntrain_tokenizer: {", "binarize: dry-run: no such option"),
        ("train_tokenizer: {vocab-size: 700, no-duplicates: true}", "binarize: {tokenizer: absent}", "dict.txt"),
        ("ingest: {licence: MIT}", "ingest: {where: year}", "--where 'year': give FIELD=VALUE"),
        ("ingest: {licence: MIT}", "ingest: {format: text, delimiter: ;}", "delimiter"),
        (
            "clean: {min_words",
            "ingest: {text-field: body}\nclean: {min_words",
            "sources, cases, ingest: setting 'text': ",
        ),
    ],
)
def test_what_is_wrong_is_said_before_the_first_stage(was, now, sentence, tmp_path):
    assert was in FILE
    file = write(tmp_path, FILE.replace(was, now))
    assert sentence in one_sentence(run("preprocess.corpus", file, "--output", tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_names_and_dates_are_text(tmp_path):
    (tmp_path / "corpus.yaml").write_text("sources: {2019: {type: 2021-03-14, paths: x}, b: &b {paths: y}, c: *b}")
    file = CorpusFile(tmp_path / "corpus.yaml")
    assert [(source.name, source.type) for source in file.sources] == [("2019", "2021-03-14"), ("b", ""), ("c", "")]
    assert json.loads(json.dumps(file.content, sort_keys=True)) == file.content


def test_a_corpus_is_not_written_into_its_own_text(tmp_path):
    file = write(tmp_path, FILE.replace("paths: cases", "paths: ."))
    result = run("preprocess.corpus", file, "--output", tmp_path / "out", "--workers", "1")
    assert "which is to be read as text; give another --output" in one_sentence(result)


def test_a_dry_run_shows_the_commands_and_writes_nothing(tmp_path):
    result = run("preprocess.corpus", write(tmp_path), "--output", tmp_path / "out", "--dry-run")
    assert result.returncode == 0 and len(result.stdout.splitlines()) == 8
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_of_ones_own_is_not_trained(tmp_path):
    write_tokenizer(tmp_path / "mine")
    file = write(tmp_path, FILE.partition("train_tokenizer")[0] + "binarize: {tokenizer: mine}")
    words = ("preprocess.corpus", file, "--output", tmp_path / "out", "--dry-run")
    assert "mixed" in run(*words, "--until", "train_tokenizer").stdout.splitlines()[-1]
    assert f"--tokenizer={tmp_path}/mine" in run(*words).stdout.splitlines()[-1]


def test_a_source_of_which_nothing_is_left_is_named(tmp_path):
    file = write(tmp_path, FILE.replace("clean: {min-words: 1}", "clean: {min-words: 100000}"))
    sentence = one_sentence(run("preprocess.corpus", file, "--output", tmp_path / "out", "--workers", "1"))
    assert "clean/notes: nothing is left of the text" in sentence and "leave this source out" in sentence


def test_bad_input_of_a_stage_is_its_sentence(tmp_path):
    file = write(tmp_path)
    (tmp_path / "more.txt").write_bytes("déjà".encode("latin-1"))
    result = run("preprocess.corpus", file, "--output", tmp_path / "out", "--workers", "1")
    assert "more.txt, line 1: not UTF-8" in one_sentence(result)
    absent = run("preprocess.corpus", tmp_path / "absent.yaml", "--output", tmp_path / "out")
    assert "absent.yaml" in one_sentence(absent)


def test_killed_it_goes_on_to_the_same_bytes(tmp_path):
    script = REPOSITORY / "tests/campaigns/kill_corpus.py"
    spec = importlib.util.spec_from_file_location("kill_corpus", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.campaign(write(tmp_path), tmp_path, kills=2, seed=1, words=["--workers", "2"])
    assert any(kill.startswith("[") for kill in found["kills"])  # in a stage
    assert found["the_same_bytes"] and found["second_run_wrote_nothing"]
