"""Validation never meets training, weights are written down, the seed decides, and shards change nothing."""

import json
import random

import pytest
from corpus_helpers import one_sentence, run, write_shards
from long_cases import long_except

import preprocess.mix as mix_stage
from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.clean import Cleaning, clean
from preprocess.documents.document import Document, read_documents, write_document
from preprocess.mix import MixWeights, command_line, draw, mix
from preprocess.mixing.mix_file import read_mix
from preprocess.mixing.plot import draw_mix
from preprocess.mixing.reader import read_corpora

PLAIN = MixWeights()


def write(path, count, source):
    with open(path, "w", encoding="utf-8") as handle:
        for number in range(count):
            write_document(handle, Document(str(number), source, [f"Texte {number} de {source}.", "Fin."], "CC0"))
    return path


def mixed(tmp_path, counts, mix_weights=PLAIN, share=0.1, seed=1, output="out"):
    """({source: training texts}, validation texts, manifest)"""
    files = [write(tmp_path / f"{source}.jsonl", count, source) for source, count in counts.items()]
    manifest = mix(files, tmp_path / output, mix_weights, share, seed, Engine())
    train = {path.name: texts(path) for path in (tmp_path / output / "train").iterdir()}
    valid = tmp_path / output / "valid"
    return train, texts(valid) if valid.exists() else [], manifest


def texts(directory):
    return [document.text for document in read_documents([directory])]


def test_every_document_is_written_once(tmp_path):
    train, valid, manifest = mixed(tmp_path, {"noyau": 400, "reste": 200})
    for source, count in (("noyau", 400), ("reste", 200)):
        held_out = [text for text in valid if source in text]
        assert sorted([*train[source], *held_out]) == sorted(f"Texte {n} de {source}.\nFin." for n in range(count))
        assert abs(len(held_out) - 0.1 * count) < 25  # four deviations
        corpus = manifest["corpora"][source]
        assert corpus["train"]["documents"] == len(train[source]) and corpus["valid"]["documents"] == len(held_out)


@pytest.mark.parametrize(
    ("mix_weights", "weights"),
    [
        (PLAIN, {"noyau": 1, "reste": 1, "roman": 1}),
        (MixWeights(weights="roman=0.5,noyau=10,reste=1"), {"noyau": 10, "reste": 1, "roman": 0.5}),
        (MixWeights(core="noyau"), {"noyau": 6, "reste": 1, "roman": 1}),
        (MixWeights(core="reste,roman"), {"noyau": 6, "reste": 1, "roman": 1}),
        (MixWeights(alpha=0.0), {"noyau": 4, "reste": 1, "roman": 2}),
        (MixWeights(alpha=0.5), {"noyau": 2, "reste": 1, "roman": 2**0.5}),
    ],
)
def test_the_weights_that_are_asked_for_are_written(tmp_path, mix_weights, weights):
    """Sizes 1, 4 and 2."""
    counts = {"noyau": 100, "reste": 400, "roman": 200}
    _, _, manifest = mixed(tmp_path, counts, mix_weights, share=0.0)
    written = read_mix(tmp_path / "out")
    assert list(written) == list(counts)
    assert written == pytest.approx(weights, rel=0.05)  # by bytes: some numbers have a digit more
    sizes = {name: corpus["train"]["bytes"] for name, corpus in manifest["corpora"].items()}
    if mix_weights.core == "noyau":
        assert written["noyau"] * sizes["noyau"] == pytest.approx(sizes["reste"] + sizes["roman"])


@pytest.mark.parametrize(
    ("mix_weights", "sentence"),
    [
        (MixWeights(core="coeur"), "--core names coeur; the documents are of noyau, roman"),
        (MixWeights(weights="noyau=2"), "--weights leaves out roman"),
        (MixWeights(weights="noyau=2,romans=1"), "--weights names romans"),
    ],
)
def test_a_name_that_is_no_corpus_is_refused(tmp_path, mix_weights, sentence):
    with pytest.raises(InputError, match=sentence):
        mixed(tmp_path, {"noyau": 10, "roman": 10}, mix_weights, share=0.0)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("mix_weights", [MixWeights(core="coeur"), MixWeights(weights="noyau=2,romans=1")])
def test_a_name_that_the_manifests_tell_is_none_is_refused_before_anything_is_read(tmp_path, mix_weights, monkeypatch):
    write(tmp_path / "noyau.jsonl", 5, "noyau")
    clean([tmp_path / "noyau.jsonl"], tmp_path / "clean", Cleaning(min_words=0))
    monkeypatch.setattr("preprocess.mix.read_documents", None)
    with pytest.raises(InputError, match="the documents are of noyau."):
        mix([tmp_path / "clean"], tmp_path / "out", mix_weights, 0.0, 1, Engine())


def test_no_text_is_on_both_sides_even_under_another_source(tmp_path):
    names = [f"Texte {number}." for number in range(300)]
    for name in ("a", "b"):
        with open(tmp_path / f"{name}.jsonl", "w", encoding="utf-8") as handle:
            for text in names[: 300 if name == "a" else 3]:  # b alone would have chosen its own document for validation
                write_document(handle, Document(name + text, name, [text]))
    for seed in range(5):
        inputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
        mix(inputs, tmp_path / "out", PLAIN, 0.05, seed, Engine(), valid_words=[30, 10**6][seed % 2])
        train = {text for path in (tmp_path / "out" / "train").iterdir() for text in texts(path)}
        valid = set(texts(tmp_path / "out" / "valid"))
        assert not train & valid and len(train | valid) == 300 and 1 < len(valid) < 40


def words_of(document):
    return len(document.text.split())


def test_many_words_lower_the_share_for_validation(tmp_path):
    """600 documents of 5 words: 60 words are 2 % of them."""
    files = [write(tmp_path / f"{source}.jsonl", 300, source) for source in ("noyau", "reste")]
    documents = [document for file in files for document in read_documents([file])]
    assert sum(map(words_of, documents)) == 3000
    manifest = mix(files, tmp_path / "out", PLAIN, 0.1, 1, Engine(), valid_words=60)
    held_out = texts(tmp_path / "out" / "valid")
    assert held_out == [document.text for document in documents if draw(1, document) < 0.02]
    assert 3 < len(held_out) < 25 and manifest["share_for_validation"] == 0.02
    assert len(held_out) + sum(len(texts(path)) for path in (tmp_path / "out" / "train").iterdir()) == 600


def test_few_words_change_nothing(tmp_path):
    outputs = []
    for words in (300, 301, 10**9):
        files = [write(tmp_path / f"{source}.jsonl", 300, source) for source in ("noyau", "reste")]
        manifest = mix(files, tmp_path / f"out{words}", PLAIN, 0.1, 1, Engine(), valid_words=words)
        assert "share_for_validation" not in manifest and manifest["valid"] == 0.1
        outputs.append([(file.name, file.read_bytes()) for file in sorted((tmp_path / f"out{words}").rglob("*.zst"))])
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize(("known", "passes"), [(False, 2), (True, 1)])
def test_the_share_is_the_same_whether_the_manifests_tell_the_words_or_not(tmp_path, monkeypatch, known, passes):
    file = write(tmp_path / "noyau.jsonl", 600, "noyau")
    if known:
        clean([file], tmp_path / "clean", Cleaning(min_words=0))
        file = tmp_path / "clean"
    divide, seen = mix_stage._divide, []
    monkeypatch.setattr(mix_stage, "_divide", lambda *given: seen.append(given[1].share) or divide(*given))
    mix([file], tmp_path / "out", PLAIN, 0.1, 1, Engine(), valid_words=60)
    assert len(seen) == passes and seen[-1] == 0.02
    assert texts(tmp_path / "out" / "valid") == [d.text for d in read_documents([file]) if draw(1, d) < 0.02]


def test_words_that_a_manifest_tells_wrong_change_nothing(tmp_path, monkeypatch):
    file = write(tmp_path / "noyau.jsonl", 600, "noyau")
    mix([file], tmp_path / "right", PLAIN, 0.1, 1, Engine(), valid_words=60)
    monkeypatch.setattr(mix_stage, "_words", lambda inputs: {"noyau": 10_000})
    mix([file], tmp_path / "wrong", PLAIN, 0.1, 1, Engine(), valid_words=60)
    assert texts(tmp_path / "wrong" / "valid") == texts(tmp_path / "right" / "valid")


def test_a_small_corpus_beside_a_large_one_still_gives_validation_a_document(tmp_path):
    files = [write(tmp_path / f"{source}.jsonl", count, source) for source, count in (("grand", 600), ("petit", 5))]
    manifest = mix(files, tmp_path / "out", PLAIN, 0.1, 1, Engine(), valid_words=60)
    assert manifest["corpora"]["petit"]["valid"]["documents"] == 1 and manifest["share_for_validation"] < 0.02


def test_the_seed_decides(tmp_path):
    outputs = {}
    for run_number, seed in enumerate((1, 1, 2)):
        train, valid, _ = mixed(tmp_path, {"noyau": 100}, seed=seed, output=f"out{run_number}")
        assert outputs.setdefault(seed, (train, valid)) == (train, valid)
    assert outputs[1] != outputs[2]


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_change_nothing_but_where_the_documents_lie(tmp_path, workers):
    """Corpora divided among shards, shards among corpora; one small corpus for which a text must be chosen."""
    documents = [Document(f"{n}", "petit" if n in (7, 40) else f"s{n % 2}", [f"Texte {n}."]) for n in range(60)]
    found = []
    for size in (15, 60):
        mix(
            [write_shards(tmp_path / f"shards of {size}", documents, size)],
            tmp_path / "out",
            PLAIN,
            0.04,
            3,
            Engine(workers),
        )
        train = {path.name: texts(path) for path in (tmp_path / "out" / "train").iterdir()}
        found.append((train, texts(tmp_path / "out" / "valid")))
        assert list(read_mix(tmp_path / "out")) == ["s0", "s1", "petit"]
    assert found[0] == found[1]
    assert len(found[0][0]["petit"]) == 1 and sum(map(len, found[0][0].values())) + len(found[0][1]) == 60


def test_the_picture_shows_each_corpus_by_its_bytes_and_weight(tmp_path):
    corpora = {"cœur": 20, "roman": 300}
    _, _, manifest = mixed(tmp_path, corpora, MixWeights(core="cœur"), seed=4)
    sizes = [(name, one["train"]["bytes"], one["weight"]) for name, one in manifest["corpora"].items()]
    draw_mix(sizes, 4, tmp_path / "expected.png")
    assert (tmp_path / "out" / "mix.png").read_bytes() == (tmp_path / "expected.png").read_bytes()
    draw_mix([(name, size, 1.0) for name, size, _ in sizes], 4, tmp_path / "other.png")
    assert (tmp_path / "other.png").read_bytes() != (tmp_path / "expected.png").read_bytes()
    mixed(tmp_path, {"roman": 300}, output="one")
    assert not (tmp_path / "one" / "mix.png").exists()


def test_a_small_corpus_still_gives_validation_a_document(tmp_path):
    train, valid, _ = mixed(tmp_path, {"petit": 5}, share=0.0001)
    assert len(train["petit"]) == 4 and len(valid) == 1


def test_a_single_document_is_refused_unless_nothing_is_to_be_set_apart(tmp_path):
    with pytest.raises(InputError, match="a single document, and none can be set apart for validation"):
        mixed(tmp_path, {"un": 1}, share=0.0001)
    assert not (tmp_path / "out").exists()
    assert mixed(tmp_path, {"un": 1}, share=0.0)[0] == {"un": ["Texte 0 de un.\nFin."]}


def test_nothing_left_to_train_on_is_refused(tmp_path):
    with pytest.raises(InputError, match="no document is left to train on"):
        mixed(tmp_path, {"a": 1}, share=0.999999)


def test_a_mix_without_its_files_is_refused(tmp_path):
    mixed(tmp_path, {"a": 40})
    manifest = tmp_path / "out" / "manifest.json"
    whole = manifest.read_text()
    manifest.write_text(whole[: whole.index('"command": "mix"') + 20])
    with pytest.raises(InputError, match="manifest.json"):
        read_corpora([tmp_path / "out"])
    manifest.write_text('{"command": "mix"}')
    with pytest.raises(InputError, match="do not fit; make it again"):
        read_corpora([tmp_path / "out"])
    manifest.write_text(whole)
    (tmp_path / "out" / "mix.json").unlink()
    with pytest.raises(InputError, match="its mix.json is missing; make it again"):
        read_corpora([tmp_path / "out"])


def test_a_negative_seed_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command_line().parse_args(["in.txt", "--output", str(tmp_path), "--seed", "-1"])
    assert "'-1': give 0 or more" in capsys.readouterr().err


def test_a_source_that_cannot_name_a_corpus_is_refused(tmp_path):
    with open(tmp_path / "a.jsonl", "w", encoding="utf-8") as handle:
        write_document(handle, Document("1", "mon corpus", ["Un."]))
    with pytest.raises(InputError, match="'mon corpus' cannot name a corpus"):
        mix([tmp_path / "a.jsonl"], tmp_path / "out", PLAIN, 0.0, 1, Engine())


def test_the_command(tmp_path):
    core = write(tmp_path / "coeur.jsonl", 50, "cœur")
    other = write(tmp_path / "autre.jsonl", 100, "autre")
    words = ("--output", tmp_path / "out", "--valid", "0.1", "--seed", "3", "--core", "cœur")
    result = run("preprocess.mix", core, other, *words)
    assert result.returncode == 0, result.stderr
    assert "50.0% of the mix" in result.stdout and "(seed 3)" in result.stdout
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["seed"] == 3 and manifest["inputs"][0]["bytes"] == core.stat().st_size
    both = run("preprocess.mix", core, *words, "--alpha", "0.5")
    assert both.returncode == 2 and "not allowed with" in both.stderr


def test_a_missing_file_is_one_sentence(tmp_path):
    assert "no such file" in one_sentence(run("preprocess.mix", "no.jsonl", "--output", tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def write_patients(path, draw, count):
    """Documents of patients, some with several documents, some without a patient. Returns {text: patient}."""
    texts = {f"{path.stem} {number}": draw.choice(["", f"p{draw.randrange(count)}"]) for number in range(count)}
    with open(path, "w", encoding="utf-8") as handle:
        for number, (text, patient) in enumerate(texts.items()):
            metadata = {"patient": patient} if patient else {}
            write_document(handle, Document(str(number), path.stem, [text], metadata=metadata))
    return texts


@pytest.mark.parametrize("seed", long_except(range(100), *range(25)))
def test_no_patient_is_in_training_and_in_validation(tmp_path, seed):
    """Also where a corpus is so small that a document is set apart for it, and where the share is lowered."""
    draw = random.Random(seed)
    paths = [tmp_path / f"{name}.jsonl" for name in ("cr", "notes")[: draw.randint(1, 2)]]
    owners = {text: who for path in paths for text, who in write_patients(path, draw, draw.randint(8, 40)).items()}
    share, words = draw.choice([0.02, 0.2, 0.5]), draw.choice([10, 1000])
    mix(paths, tmp_path / "out", PLAIN, share, seed, Engine(), words)
    train = {text for folder in (tmp_path / "out" / "train").iterdir() for text in texts(folder)}
    valid = set(texts(tmp_path / "out" / "valid"))
    assert train | valid == owners.keys() and not train & valid and train and valid
    shared = {owners[text] for text in train} & {owners[text] for text in valid}
    assert shared <= {""}


def test_the_share_is_one_of_patients(tmp_path):
    with open(tmp_path / "cr.jsonl", "w", encoding="utf-8") as handle:
        for number in range(2000):
            metadata = {"patient": number % 400}
            write_document(handle, Document(str(number), "cr", [f"Texte {number}"], metadata=metadata))
    manifest = mix([tmp_path / "cr.jsonl"], tmp_path / "out", PLAIN, 0.1, 1, Engine())
    corpus = manifest["corpora"]["cr"]
    assert corpus["with_patient"] == 2000 and corpus["valid"]["documents"] % 5 == 0
    assert abs(corpus["valid"]["documents"] / 5 - 40) < 24  # four deviations


def test_a_single_patient_is_refused_and_documents_without_one_are_told(tmp_path):
    with open(tmp_path / "cr.jsonl", "w", encoding="utf-8") as handle:
        for number in range(9):
            write_document(handle, Document(str(number), "cr", [f"Texte {number}"], metadata={"patient": "p"}))
    with pytest.raises(InputError, match="cr.jsonl: a single patient, and none can be set apart for validation"):
        mix([tmp_path / "cr.jsonl"], tmp_path / "out", PLAIN, 0.1, 1, Engine())
    with open(tmp_path / "cr.jsonl", "a", encoding="utf-8") as handle:
        write_document(handle, Document("x", "cr", ["Autre texte"]))
    done = run("preprocess.mix", tmp_path / "cr.jsonl", "--output", tmp_path / "out")
    assert "warning: cr: 1 documents without a patient were divided by their text" in done.stderr
