"""The small parts of the text benchmarks: text of any size, costs of processes, tables, estimates, peers."""

import collections
import itertools
import json
import sys

import numpy as np
import pytest

from preprocess.ingest import ingest


@pytest.fixture
def benchmark(repository, monkeypatch):
    """A function that imports a module of tests/benchmarks."""
    monkeypatch.syspath_prepend(str(repository / "tests" / "benchmarks"))
    return __import__


RARE = [f"mot{chr(97 + number // 20)}{chr(97 + number % 20)}" for number in range(40)]
REAL = [[f"Le patient {word} a {number} {rare} fois." for word in "abc"] for number, rare in enumerate(RARE, 10)]


def test_a_text_goes_on_with_new_words_and_numbers_and_keeps_its_frequent_words(benchmark):
    texts = benchmark("mixed_text")
    size = sum(len(line) + 1 for lines in REAL for line in lines)
    one, two = (list(itertools.islice(texts.composed(REAL, "seed"), 200)) for _ in range(2))
    assert one == two and one != list(itertools.islice(texts.composed(REAL, "other"), 200))
    assert {len(lines) for lines in one} == {3}
    ends = list(itertools.accumulate(sum(len(line) + 1 for line in lines) for lines in one))
    first = [lines for lines, end in zip(one, ends, strict=True) if end <= size]
    later = {word for lines in one[len(first) + 1 :] for line in lines for word in line.split()}
    known = {word for lines in REAL for line in lines for word in line.split()}
    assert {line for lines in first for line in lines} <= {line for lines in REAL for line in lines}
    assert {"Le", "patient", "fois."} <= later  # three quarters of the words are never spelt otherwise
    assert sum(word.isalpha() for word in later - known) > 10 and all(len(word) <= 5 for word in later - known)
    assert any(word.isdigit() for word in later - known)
    assert all(len(word) == 2 for word in later if word.isdigit())


def test_a_copy_comes_later_and_has_its_share_of_edited_words(benchmark):
    texts, made = benchmark("mixed_text"), collections.Counter()
    documents = [[f"mot{number}x{place}" for place in range(100)] for number in range(2000)]
    found = list(itertools.islice(texts.with_copies(documents, "seed", made), 2000))
    seen, exact, near = [], 0, 0
    for lines in found:
        if lines in documents and lines in seen:
            exact += 1
        elif lines not in documents:
            near += 1
            number = collections.Counter(word.partition("x")[0] for line in lines for word in line.split())
            original = documents[int(number.most_common(1)[0][0][3:])]
            assert original in seen and 90 <= len(set(original) & set(" ".join(lines).split())) < 100
        seen.append(lines)
    assert 20 < exact <= made["exact"] and 50 < near <= made["5 %"]


def test_lines_stay_when_words_are_edited(benchmark):
    texts = benchmark("mixed_text")
    lines = [" ".join(f"mot{place}" for place in range(20)) for _ in range(10)]
    assert texts.edited_lines(lines, 0.0, np.random.default_rng(1)) == lines
    copy = texts.edited_lines(lines, 0.1, np.random.default_rng(1))
    assert copy != lines and 7 <= len(copy) <= 13


@pytest.fixture
def data(tmp_path):
    """A folder with the corpora's files, each of a few documents."""
    text = "\n\n".join("\n".join(lines) for lines in REAL)
    for name in ("bdpm_notices", "pamj_cas_cliniques", "tico19_fr", "mesconseilscovid", "eltec_fra_romans"):
        folder = tmp_path / "data" / ("fr_general" if name.startswith("eltec") else "fr_raw")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(text)
    (tmp_path / "data/fr_ner/fracco/brat_raw").mkdir(parents=True)
    (tmp_path / "data/fr_ner/fracco/brat_raw/a.txt").write_text("\n".join(REAL[0]))
    (tmp_path / "data/fr_cls/morfitt").mkdir(parents=True)
    rows = "".join(f"{number}\tPhrase une. Phrase {number}.\tx\n" for number in range(9))
    (tmp_path / "data/fr_cls/morfitt/train.tsv").write_text("identifier\tabstract\tspecialities\n" + rows)
    return tmp_path / "data"


def test_ingest_reads_every_document_of_the_three_files(benchmark, data, tmp_path):
    texts = benchmark("mixed_text")
    made = texts.write_text(data, tmp_path / "text", 0.05)
    files = sorted(file for file in (tmp_path / "text").iterdir() if file.name in texts.FILES)
    assert len(files) == 3 and 0.05e6 < sum(file.stat().st_size for file in files) < 0.06e6
    kept = ingest(files, tmp_path / "documents")["kept"]
    read = {source: size["documents"] for source, size in kept.items()}
    wanted = {
        file.partition(".")[0]: sum(made["documents"][name] for name in shares) for file, shares in texts.FILES.items()
    }
    assert read == wanted
    assert texts.write_text(data, tmp_path / "text", 99) == made  # it is there


def test_a_larger_text_begins_with_the_smaller_one(benchmark, data, tmp_path):
    texts = benchmark("mixed_text")
    for size in (0.02, 0.06):
        texts.write_text(data, tmp_path / str(size), size)
    for name in texts.FILES:
        small, large = ((tmp_path / size / name).read_bytes() for size in ("0.02", "0.06"))
        assert large.startswith(small) and len(large) > 2 * len(small)


CHILD = "import time; held = b'x' * 80_000_000; time.sleep(2)"
PARENT = f"""
import subprocess, sys
print("\\rreading: 0%|   | 0/2", end="", file=sys.stderr, flush=True)
subprocess.run([sys.executable, "-c", {CHILD!r}])
sum(range(20_000_000))
print("\\rreading: 100%|   | 2/2\\ntraining it on 5 lines", file=sys.stderr)
open("out", "w").write("x" * 1000)
"""


def test_the_cost_of_a_command_counts_its_children(benchmark, tmp_path):
    measured = benchmark("process_cost").measured
    cost = measured([sys.executable, "-c", PARENT], tmp_path / "log", tmp_path, tmp_path / "out")
    assert cost.largest_mb > 80 and cost.together_mb > 80 > cost.own_mb > 1
    assert cost.processes == 2 and cost.seconds > 2 and cost.processor > 0.1
    assert [name for name, *_ in cost.phases] == ["reading", "training it"]
    assert cost.phases[0][1] < cost.seconds - 2 < cost.phases[1][1]  # a bar is seen before it is complete
    assert "training it on 5 lines" in (tmp_path / "log").read_text()
    with pytest.raises(SystemExit, match="no such thing"):
        measured([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path / "log", tmp_path)


def cost(seconds, processor=0.0, own=0.0, read=100.0, **others):
    """Of a stage."""
    figures = {"seconds": seconds, "processor": processor, "own_processor": own, "read_mb": read}
    memory = {"largest_mb": 100.0, "own_mb": 50.0, "together_mb": 200.0, "disk_mb": 30.0, "output_mb": 30.0}
    return figures | memory | {"phases": [["reading", 1.0, 1.5]]} | others


def test_the_table_has_ratios_rates_and_growth(benchmark):
    stages = {"ingest": cost(10.0, 8.0, 1.0), "clean": cost(40.0, 50.0, 1.0, together_mb=300.0)}
    small = {"before": {name: one | {"seconds": 100.0} for name, one in stages.items()}, "now": stages}
    small["same"] = {"ingest": True, "clean": False}
    large = {"now": {name: one | {"together_mb": 220.0} for name, one in stages.items()}, "same": {}}
    results = {"mode": "stages", "commits": {"now": "abc"}, "workers": 2, "runs": 1}
    text = benchmark("text_tables").markdown(results | {"measured": {"20 MB": small, "200 MB": large}})
    cells = "100, 100 | 200, 200 | 30.0, 30.0 | yes |"
    assert f"| 20 MB | ingest | 100 | 100 | 10.0 | 10.0 | 8.00 | 8.00 | 10.0 | 12.5 | {cells}" in text
    assert "| 20 MB | all | 100 | 200 | 50.0 | 4.00 | 58.0 | 58.0 | 2.00 | 1.72 | 100, 100 | 300, 300 |" in text
    assert "| 20 MB | clean |" in text and "| no |" in text
    assert "| ingest | +0% | +10% |" in text and "| clean | +0% | -27% |" in text
    assert "| now | ingest | start | 1.00 | 1.50 |\n| now | ingest | reading | 9.00 | 6.50 |" in text


def test_what_a_shard_costs_is_the_difference_of_many_and_few(benchmark):
    measured = {"2 shards": {"now": {"clean": cost(5.0, 6.0)}}, "1002 shards": {"now": {"clean": cost(15.0, 26.0)}}}
    assert "| now | clean | 5.00 | 15.0 | 10.0 | 20.0 |" in benchmark("text_tables").shards(measured)


def test_an_estimate_follows_the_line_through_two_sizes(benchmark):
    """From 200 to 1,000 MB: alone 2 to 10 s, the others 40 to 200 s, memory 110 to 150 MB."""
    module = benchmark("text_estimate")
    stages = {
        "200 MB": {"now": {"ingest": cost(1.0, 42.0, 2.0, 200.0, largest_mb=110.0)}, "same": {}},
        "1000 MB": {"now": {"ingest": cost(1.0, 210.0, 10.0, 1000.0, largest_mb=150.0)}, "same": {}},
    }
    shards = {"2 shards": {"now": {"ingest": cost(3.0)}}, "1002 shards": {"now": {"ingest": cost(9.0)}}}
    slurm = {"2 shards": {"now": {"ingest": cost(39.0)}}}
    found = module.needs(stages, shards, slurm, 100_000)["now"]["ingest"]
    assert found.alone == pytest.approx(1000 / 3600)
    assert found.divided == pytest.approx((20_000 + 100_000 / 64 * 2 * 0.006) / 3600)
    assert found.process_gb == pytest.approx(0.150 + 0.05 / 1000 * 99_000)
    assert found.hours(32, False) == pytest.approx(found.alone + found.divided / 32)
    assert found.hours(512, True) == pytest.approx(found.alone + found.divided / 512 + 36 / 3600)
    before = {size: {"before": one["now"], "same": {}} for size, one in stages.items()}
    serial = module.needs(before, None, None, 100_000)["before"]["ingest"]
    assert serial.divided == 0 and serial.alone == pytest.approx(21_000 / 3600)  # it reads a file with one process
    rows = module.markdown({"now": {"ingest": found}, "before": {"ingest": serial}}, 32, 16).splitlines()
    now = f"{found.alone + found.divided:.2f} | 0.28 | {found.hours(32, False):.2f} | {found.hours(512, True):.2f} "
    assert rows[2] == f"| ingest | {now}| {found.process_gb:.2f} | 0.03 | 5.83 | 5.83 | 5.83 |"
    assert rows[3] == rows[2].replace("ingest", "all")


def test_a_pair_is_found_when_not_both_are_left(benchmark):
    peers = benchmark("text_peers")
    pairs = [["1", "2", "exact"], ["3", "4", "exact"], ["5", "6", "5 %"]]
    assert peers.recall(pairs, {"2", "3", "4", "6"}) == {"exact": 0.5, "5 %": 1.0}


def test_a_dropped_document_is_right_if_another_shares_half_of_its_shingles(benchmark):
    peers = benchmark("text_peers")
    texts = {"1": "a b c d e f", "2": "a b c d e g", "3": "h i j k l m", "4": "n o p a b c"}
    assert peers.precision(texts, {"1", "3"}) == {"dropped": 2, "precision": 0.5}
    assert peers.precision(texts, set(texts)) == {"dropped": 0, "precision": 1.0}


def test_the_documents_for_peers_are_the_same_each_time_and_name_their_copies(benchmark, data, tmp_path, monkeypatch):
    peers = benchmark("text_peers")
    monkeypatch.setattr(peers, "LEAST_WORDS", 4)
    for name in ("one", "two"):
        peers.write_documents(data, tmp_path / name, 0.05)
    one, two = ([(tmp_path / name / "in" / f"{n}.jsonl").read_text() for n in (0, 1)] for name in ("one", "two"))
    assert one == two
    texts = {record["id"]: record["text"] for part in one for record in map(json.loads, part.splitlines())}
    pairs = json.loads((tmp_path / "one" / "pairs.json").read_text())
    assert len(pairs) > 30 and {kind for *_, kind in pairs} == set(peers.RATES)
    assert all((texts[first] == texts[second]) for first, second, kind in pairs if kind == "exact")


def test_documents_are_cut_into_few_and_many_files_in_their_order(benchmark, tmp_path, monkeypatch):
    stages = benchmark("text_stages")
    monkeypatch.setattr(stages, "SHARDS", 7)
    lines = [f'{{"id": "{number}"}}\n' for number in range(20)]
    (tmp_path / "all.jsonl").write_text("".join(lines))
    folders = stages.cut(tmp_path / "all.jsonl", tmp_path / "cut")
    assert list(folders) == [2, 7]
    for count, folder in folders.items():
        parts = [file.read_text() for file in sorted(folder.iterdir())]
        assert (
            len(parts) == count
            and all(parts)
            and "".join(parts) == "".join(lines).replace("{", '{"source": "articles", ')
        )


def test_an_item_of_the_executor_is_done_when_its_file_is_there(benchmark, tmp_path):
    task = benchmark("executor_cost").Touch(str(tmp_path))
    assert not task.done(5).exists()
    task(5)
    assert [file.name for file in tmp_path.iterdir()] == ["5"] and task.done(5).exists()
