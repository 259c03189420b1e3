"""Repetitions go, first copies stay, what goes is counted; in shards as in one piece."""

import random

import pytest
from corpus_helpers import one_sentence, run, write_shards

from alibert_common.executors.base import Engine
from preprocess.deduplicate import Settings, deduplicate
from preprocess.deduplication import hashes, minhash, repeated_lines
from preprocess.deduplication.minhash import Settings as Near
from preprocess.documents.document import Document, read_documents
from preprocess.documents.shards import written_shard

PHRASE = "Veuillez lire attentivement cette notice."


def read(directory):
    return [document.lines for document in read_documents([directory])]


def unique(tmp_path, text, near=None, **settings):
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    report = deduplicate([tmp_path / "in.txt"], tmp_path / "out", Settings(**settings, near=near), Engine())
    return read(tmp_path / "out"), report


def test_a_document_seen_before_goes_whatever_its_spaces(tmp_path):
    text = "Le patient tousse.\nDort mal.\n\nLe  patient tousse.\nDort\u00a0mal.\n\nLe patient.\n"
    documents, report = unique(tmp_path, text)
    assert documents == [["Le patient tousse.", "Dort mal."], ["Le patient."]]
    assert report.dropped["documents seen before"] == 1


def test_a_line_is_kept_so_many_times_in_the_whole_corpus(tmp_path):
    text = "\n\n".join(f"{PHRASE}\nMédicament numéro {number} de la liste.\n{PHRASE}" for number in range(4))
    documents, report = unique(tmp_path, text, max_repeats=3)
    assert [lines.count(PHRASE) for lines in documents] == [2, 1, 0, 0]
    assert report.dropped["lines seen 3 times before"] == 5
    assert report.kept["in"].lines == 4 + 3 and report.read["in"].lines == 12


def test_lines_of_a_document_that_is_dropped_do_not_count(tmp_path):
    text = f"{PHRASE}\nUn.\n\n{PHRASE}\nUn.\n\n{PHRASE}\nDeux.\n"
    assert unique(tmp_path, text, max_repeats=2)[0] == [[PHRASE, "Un."], [PHRASE, "Deux."]]


def test_a_line_of_different_case_or_numbers_is_another_line(tmp_path):
    text = f"{PHRASE}\n{PHRASE.upper()}\nPrendre 1 comprimé le matin.\nPrendre 2 comprimés le matin.\n"
    assert unique(tmp_path, text, max_repeats=1)[1].kept["in"].lines == 4


def test_short_lines_recur_by_right_and_zero_keeps_all(tmp_path):
    text = "\n\n".join(f"Antécédents\n{PHRASE}\nCas {number}" for number in range(4))
    documents, _ = unique(tmp_path, text, max_repeats=1)
    assert [lines.count("Antécédents") for lines in documents] == [1, 1, 1, 1]
    assert [lines.count(PHRASE) for lines in unique(tmp_path, text, max_repeats=0)[0]] == [1, 1, 1, 1]


def test_a_document_left_without_a_line_is_counted(tmp_path):
    documents, report = unique(tmp_path, f"{PHRASE}\nFin du premier document.\n\n{PHRASE}\n", max_repeats=1)
    assert len(documents) == 1 and report.dropped["documents left without a line"] == 1


def letter(draw):
    return [f"mot{draw.randrange(5000)}" for _ in range(200)]


def edited(draw, words, count):
    """A copy with `count` of its words replaced."""
    places = set(draw.sample(range(len(words)), count))
    return [f"autre{draw.randrange(5000)}" if place in places else word for place, word in enumerate(words)]


def test_of_near_duplicates_the_first_stays_and_their_lines_do_not_count(tmp_path, monkeypatch):
    """5 % of the words edited leave a Jaccard similarity of 0.75, 15 % one of 0.44; the threshold is 0.62."""
    monkeypatch.setattr(minhash, "SIGNATURES_AT_ONCE", 2)
    draw = random.Random(2)
    first = [letter(draw) for _ in range(30)]
    near = [edited(draw, words, 10) for words in first[:20]]
    far = [edited(draw, words, 30) for words in first]
    (tmp_path / "in").mkdir()
    for shard, part in enumerate((first, near[10:] + far, near[:10] + first[:1])):
        with written_shard(tmp_path / "in" / f"{shard}.jsonl.zst") as target:
            for number, words in enumerate(part):
                target.write(Document(f"{shard}-{number}", "s", [" ".join(words), "Le médecin de garde."]))
    report = deduplicate([tmp_path / "in"], tmp_path / "out", Settings(60, 6), Engine())
    kept = [document.id for document in read_documents([tmp_path / "out"])]
    assert kept == [f"0-{number}" for number in range(30)] + [f"1-{number}" for number in range(10, 40)]
    assert {rule: count for rule, count in report.dropped.items() if count} == {
        "near-duplicates of an earlier document": 20,
        "documents seen before": 1,
    }
    all_stay = deduplicate([tmp_path / "in"], tmp_path / "all", Settings(60, 6, near=None), Engine())
    assert all_stay.kept["s"].documents == 80 and all_stay.dropped["lines seen 60 times before"] == 20


@pytest.mark.parametrize(
    "options, kept",
    [
        ([], [0, 2, 3]),
        (["--near-duplicates", "loose"], [0, 3]),
        (["--near-duplicates", "none"], [0, 1, 2, 3]),
        (["--keep-near-duplicates"], [0, 1, 2, 3]),
    ],
)
def test_the_option_says_how_far_a_copy_may_be_edited(tmp_path, options, kept):
    """The second text has 4 % of its words replaced, the third 16 %; the fourth is another."""
    draw = random.Random(5)
    words = letter(draw)
    texts = [words, edited(draw, words, 8), edited(draw, words, 32), letter(draw)]
    (tmp_path / "in.txt").write_text("\n\n".join(map(" ".join, texts)))
    command = ["--output", tmp_path / "out", "--workers", "1", *options]
    assert run("preprocess.deduplicate", tmp_path / "in.txt", *command).returncode == 0
    assert read(tmp_path / "out") == [[" ".join(texts[number])] for number in kept]


def in_order(documents, most, shortest):
    """The definition: one document after the other, in one memory."""
    seen, counts, kept = set(), {}, []
    for lines in documents:
        if tuple(lines) in seen:
            continue
        seen.add(tuple(lines))
        left = []
        for line in lines:
            counts[line] = counts.get(line, 0) + 1
            if len(line) < shortest or counts[line] <= most:
                left.append(line)
        if left:
            kept.append(left)
    return kept


@pytest.mark.parametrize("workers, part", [(1, 10**9), (1, 100), (2, 10**9)])
def test_shards_parts_and_processes_give_what_one_memory_gives(tmp_path, monkeypatch, workers, part):
    monkeypatch.setattr(hashes, "PART_CHARACTERS", part)  # a shard holds some 2,000
    monkeypatch.setattr(repeated_lines, "LINES_AT_ONCE", 50)  # so that groups are many
    draw = random.Random(1)
    documents = [[f"ligne numéro {draw.randrange(80)}" for _ in range(draw.randrange(1, 4))] for _ in range(300)]
    documents = [
        lines + ["ligne de chacun"] * (draw.random() < 0.5) for lines in documents
    ]  # more than are read at once
    documents += [["court"], ["ligne numéro 1"]]
    numbered = [Document(str(number), f"source {number % 2}", lines) for number, lines in enumerate(documents)]
    write_shards(tmp_path / "in", numbered, 61)
    report = deduplicate([tmp_path / "in"], tmp_path / "out", Settings(3, 6, near=None), Engine(workers))
    expected = in_order(documents, 3, 6)
    assert read(tmp_path / "out") == expected and 0 < len(expected) < len(documents)
    assert sum(size.documents for size in report.kept.values()) == len(expected)
    assert set(report.read) == {"source 0", "source 1"}


@pytest.mark.parametrize("near", [Near(), None])
def test_two_processes_write_the_bytes_of_one(tmp_path, near):
    """Documents of which many are near-duplicates of each other, in shards."""
    draw = random.Random(4)
    words = letter(draw)
    (tmp_path / "in").mkdir()
    for shard in range(3):
        with written_shard(tmp_path / "in" / f"{shard}.jsonl.zst") as target:
            for number in range(20):
                target.write(Document(f"{shard}-{number}", "s", [" ".join(edited(draw, words, 16)), "Le médecin."]))
    written = []
    for workers in (1, 2):
        output = tmp_path / f"out-{workers}"
        deduplicate([tmp_path / "in"], output, Settings(near=near), Engine(workers))
        written.append({path.name: path.read_bytes() for path in output.iterdir() if path.name != "manifest.json"})
    assert written[0] == written[1] and {"00000.jsonl.zst", "dropped.txt"} <= written[0].keys()


def test_examples_of_what_went_say_where_it_stood(tmp_path):
    line = "Le médecin de garde est venu."
    unique(tmp_path, f"Toux.\n{line}\n\nToux.\n{line}\n\n{line}\n", max_repeats=1)
    page = (tmp_path / "out" / "dropped.txt").read_text(encoding="utf-8")
    place = f"{tmp_path.name}/in.txt"
    assert "# documents seen before (1)\n# the same words" in page
    assert f"\n{place}\tin-2\tToux. {line}\n" in page
    assert f"\n{place}\tin-3\t{line}\n" in page


def test_the_command_reports_and_refuses(tmp_path):
    (tmp_path / "in.txt").write_text("Toux.\n\nToux.\n")
    result = run("preprocess.deduplicate", tmp_path / "in.txt", "--output", tmp_path / "out")
    assert result.returncode == 0 and "1 documents seen before" in result.stdout
    assert read(tmp_path / "out") == [["Toux."]]
    missing = run("preprocess.deduplicate", tmp_path / "no.jsonl", "--output", tmp_path / "o")
    assert "no such file" in one_sentence(missing)
    negative = run("preprocess.deduplicate", tmp_path / "in.txt", "--output", tmp_path / "o", "--max-repeats", "-1")
    assert negative.returncode != 0 and "give 0 or more" in negative.stderr
