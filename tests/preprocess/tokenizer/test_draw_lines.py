"""The lines that `preprocess.train_tokenizer` trains on: uniform, by the weights, the same for every executor."""

import json
import math
import os
import resource
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from corpus_helpers import write_shards
from text_helpers import AFTER, CLINICAL, MOSES, PAPER, sample_files, sample_lines

from alibert_common.errors import InputError
from alibert_common.executors.base import ALONE, Engine
from preprocess.documents.document import Document, Size, read_documents
from preprocess.mix import mix
from preprocess.mixing.reader import Corpus, read_corpora, with_weights
from preprocess.mixing.weights import MixWeights
from preprocess.tokenizer import training_sample
from preprocess.tokenizer.normalizer import TextNormalizer, rules_only
from preprocess.tokenizer.training_sample import DrawLines, SmallestKeys, draw_lines, keys_of
from preprocess.tokenizer.word_counts import WordCounter, WordCounts, count_sample


@pytest.fixture
def draw(tmp_path):
    """A function that draws and returns (sample, its lines)."""
    places = (tmp_path / "drawn" / str(number) for number in range(10_000))

    def drawn(corpora, limit, seed=1, engine=ALONE):
        sample = draw_lines(corpora, limit, seed, engine, next(places))
        return sample, list(sample.lines())

    return drawn


def corpus(path, lines, weight=1.0):
    path.write_text("".join(f"{line}\n" for line in lines))
    return Corpus(path.stem, [path], weight)


def numbered(tmp_path, counts, weights, known=True):
    """Corpora of numbered lines in shards of 100 documents of 5 lines; every line is another text."""
    corpora = []
    for name, count, weight in zip("abc", counts, weights, strict=False):
        lines = [f"{name}{number}" for number in range(count)]
        documents = [Document(f"{first}", name, lines[first : first + 5]) for first in range(0, count, 5)]
        write_shards(tmp_path / name, documents, 100)
        corpora.append(Corpus(name, [tmp_path / name], weight, Size(count // 5, count) if known else Size()))
    return corpora


def test_the_sample_of_lines_is_the_seeds_and_no_larger_than_asked(draw):
    corpora = [Corpus("text", sample_files())]
    everything, lines = draw(corpora, 10**6)
    assert lines == sample_lines() and everything.read.lines == everything.size == len(sample_lines())
    some, drawn = draw(corpora, 50)
    places = [lines.index(line) for line in drawn]
    assert some.size == len(drawn) == 50 and places == sorted(places)
    assert (some.read, some.inputs) == (everything.read, everything.inputs)
    assert [file["path"] for file in some.inputs] == [str(file) for file in sample_files()]
    assert drawn == draw(corpora, 50)[1] != draw(corpora, 50, seed=2)[1]


def test_every_line_is_as_likely_to_be_drawn_as_any_other(tmp_path, draw):
    """30 samples of 3,000 of 6,000 lines in three corpora: 15 times a line, with a variance of 7.5."""
    corpora = numbered(tmp_path, [3000, 2000, 1000], [1, 1, 1])
    drawn = Counter(line for seed in range(30) for line in draw(corpora, 3000, seed)[1])
    assert max(drawn.values()) <= 30 and len(drawn) == 6000
    sizes = {"a": 3000, "b": 2000, "c": 1000}
    counts = [drawn[f"{name}{number}"] for name, size in sizes.items() for number in range(size)]
    for parts in (20, 60):
        sums = np.reshape(counts, (parts, -1)).sum(1)
        assert abs(sums - 15 * 6000 / parts).max() < 4 * math.sqrt(7.5 * 6000 / parts)
    assert 6.5 < np.var(counts) < 8.5


def test_neighbours_are_drawn_independently(tmp_path, draw):
    """Of half of the lines, a quarter of the pairs of neighbours are both there, in every block of keys."""
    [a] = numbered(tmp_path, [8000], [1])
    places = sorted(int(line[1:]) for line in draw([a], 4000)[1])
    assert abs(sum(after - before == 1 for before, after in pairwise(places)) - 2000) < 150  # four deviations


def test_lines_are_drawn_in_proportion_to_the_weight_of_their_corpus(tmp_path, draw):
    corpora = numbered(tmp_path, [1000, 1000, 1000], [2.5, 1, 0.5])
    drawn = Counter(line for seed in range(20) for line in draw(corpora, 400, seed)[1])
    sums = {name: sum(count for line, count in drawn.items() if line[0] == name) for name in "abc"}
    for name, share in zip("abc", (2.5 / 4, 1 / 4, 0.5 / 4), strict=True):
        assert abs(sums[name] - 8000 * share) < 4 * math.sqrt(8000 * share * (1 - share))


def test_all_lines_are_there_as_often_as_their_weight_says(tmp_path, draw):
    corpora = numbered(tmp_path, [1000, 1000, 1000], [2.5, 3, 0.5])
    sample, lines = draw(corpora, 10**6)
    counts = Counter(lines)
    assert {counts[f"b{number}"] for number in range(1000)} == {3}
    for name, few in (("a", 2), ("c", 0)):
        more = [counts[f"{name}{number}"] - few for number in range(1000)]
        assert set(more) == {0, 1} and abs(sum(more) - 500) < 64  # four deviations
    assert sample.size == len(lines) and lines == sorted(lines, key=lambda line: (line[0], int(line[1:])))


def test_the_keys_of_copies_are_uniform_where_there_is_a_copy():
    keys = keys_of(40_000, 2.25, np.random.default_rng(1))
    assert keys.shape == (40_000, 3)
    for column, copies in zip(keys.T, (40_000, 40_000, 10_000), strict=True):
        there = column[column < 1]
        assert abs(len(there) - copies) < 400
        assert abs(np.histogram(there, 10, (0, 1))[0] - len(there) / 10).max() < 4 * math.sqrt(len(there) / 10)
    assert abs(np.corrcoef(keys[:, 0], keys[:, 1])[0, 1]) < 0.02


def test_the_sample_is_the_same_for_every_bound_block_and_number_of_processes(tmp_path, draw, monkeypatch):
    """What a manifest says of the number of lines only saves work, also if it is wrong; the rest is counted."""
    corpora = numbered(tmp_path, [3000, 2000], [1.5, 1], known=False)
    sample, lines = draw(corpora, 700)
    for workers, counts in ((1, (3000, 2000)), (2, (0, 0)), (2, (10**6, 10**6)), (1, (1, 1)), (1, (10**9, 1))):
        sizes = [Size(min(count, 1), count) for count in counts]
        known = [Corpus(c.name, c.paths, c.weight, size) for c, size in zip(corpora, sizes, strict=True)]
        other, found = draw(known, 700, engine=Engine(workers))
        assert found == lines and other.size == 700
        assert (other.cuts, other.inputs) == (sample.cuts, sample.inputs)
        assert other.read == (sum(sizes, Size()) if all(counts) else sample.read)
    monkeypatch.setattr(training_sample, "KEYS_AT_ONCE", 10)
    assert draw(corpora, 700)[1] == lines


def test_a_file_keeps_little_more_than_its_part_of_the_sample(tmp_path, draw, monkeypatch):
    """Where the number of lines is known; otherwise as many as the sample has. Blocks of keys change nothing."""
    whole = draw(numbered(tmp_path, [3000], [1]), 300)[1]
    monkeypatch.setattr(training_sample, "KEYS_AT_ONCE", 100)
    for known, most in ((True, 650), (False, 6 * 300)):
        sample, lines = draw(numbered(tmp_path, [3000], [1], known), 300)
        stored = [len(file.path.read_text().splitlines()) for file in sample.files]
        assert lines == whole and len(stored) == 6 and max(stored) <= 300 and sum(stored) <= most


def test_a_file_holds_twice_the_sample_at_most():
    smallest, generator, keys = SmallestKeys(50, 1.0), np.random.default_rng(1), []
    for start in range(0, 5000, 40):
        keys.append(generator.random((40, 1)))
        smallest.add([str(number) for number in range(start, start + 40)], keys[-1])
        assert len(smallest.lines) == len(smallest.keys) <= 100
    smallest.leave_out()
    assert smallest.lines == [str(number) for number in sorted(np.argsort(np.concatenate(keys)[:, 0])[:50])]


def test_lines_that_are_drawn_are_not_drawn_again(tmp_path, monkeypatch):
    [a] = numbered(tmp_path, [1000], [1])
    first = draw_lines([a], 300, 1, ALONE, tmp_path / "drawn")
    lines = list(first.lines())
    first.files[1].path.with_suffix(".json").unlink()  # as if it had been killed there
    again, draw_file = [], DrawLines.__call__
    monkeypatch.setattr(DrawLines, "__call__", lambda self, file: again.append(file.number) or draw_file(self, file))
    assert list(draw_lines([a], 300, 1, ALONE, tmp_path / "drawn").lines()) == lines and again == [1]


def test_a_mix_amplifies_its_core_and_another_weighing_takes_its_place(tmp_path, draw):
    for name, words in (("core", "hépatite virale"), ("satellite", "chapitre suivant")):
        lines = [f"{words} {name} numéro {n}" for n in range(40 if name == "core" else 400)]
        (tmp_path / f"{name}.txt").write_text("\n\n".join(lines))
    mix(
        [tmp_path / "core.txt", tmp_path / "satellite.txt"], tmp_path / "mix", MixWeights(core="core"), 0.1, 1, Engine()
    )
    [core, satellite] = read_corpora([tmp_path / "mix"])
    assert satellite.weight == 1 and core.weight * core.size.bytes == pytest.approx(satellite.size.bytes)
    assert core.size.lines + satellite.size.lines == sum(
        1 for part in (core, satellite) for _ in read_documents(part.paths)
    )
    lines = draw([core, satellite], 10**6)[1]
    assert abs(sum("core" in line for line in lines) / len(lines) - 0.5) < 0.1
    assert not {line for line in lines} & {d.text for d in read_documents([tmp_path / "mix" / "valid"])}
    plain = with_weights([core, satellite], MixWeights(alpha=1.0))
    assert plain[0].weight == 1
    assert with_weights([core, satellite], MixWeights()) == [core, satellite]


def test_a_whole_export_in_one_line_is_cut_and_counted(tmp_path, draw):
    export = "Le patient va bien." + " Il tousse." * 30_000  # 330,019 characters
    for name in ("one", "two"):
        (tmp_path / f"{name}.txt").write_text(export)
    sample, lines = draw([Corpus("text", [tmp_path / "one.txt", tmp_path / "two.txt"])], 10)
    assert len(lines) == 8 and sample.read.lines == 2
    assert (sample.cuts.lines, sample.cuts.at_sentence_ends, sample.cuts.at_word_ends) == (2, 6, 0)
    assert "".join(lines) == 2 * export


def test_signs_that_other_programs_take_for_line_ends_stay_in_their_line(tmp_path, draw):
    line = "un\u2028deux\x0btrois\x85quatre\rcinq"
    (tmp_path / "text.jsonl").write_text(json.dumps({"id": "1", "source": "s", "text": f"{line}\nsix"}))
    sample, lines = draw([Corpus("text", [tmp_path / "text.jsonl"])], 10)
    assert lines == [line, "six"]
    words = ["un", "deux", "trois", "quatre", "cinq", "six"]
    assert count_sample(sample, PAPER, ALONE, tmp_path) == WordCounts(Counter(words), 6)


def test_words_counted_part_by_part_are_those_of_whole_lines():
    lines = sample_lines()[:150]
    for options in (PAPER, AFTER, CLINICAL, MOSES):
        whole = TextNormalizer(rules_only(options))
        words = Counter(word for line in lines for word in whole.bare_words(line))
        counted = WordCounter(rules_only(options)).count(lines)
        assert counted == WordCounts(words, sum(len(line.split()) for line in lines))


@pytest.mark.parametrize("workers", [1, 2])
def test_words_counted_in_processes_are_those_of_the_sample(tmp_path, draw, workers):
    text = corpus(tmp_path / "text.txt", [*sample_lines()[:100], "\u200b", "Fin."])  # a line without a word
    other = corpus(tmp_path / "other.txt", sample_lines()[100:150])
    for limit in (60, 1000):
        sample, lines = draw([text, other], limit)
        counts = count_sample(sample, PAPER, Engine(workers), tmp_path / "logs")
        assert counts == WordCounter(rules_only(PAPER)).count(lines) and len(lines) == min(limit, 152)


def test_a_file_without_a_document_is_refused(tmp_path):
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(InputError, match="empty.txt: no document in this file"):
        draw_lines([Corpus("text", [tmp_path / "empty.txt"])], 10, 1, ALONE, tmp_path / "drawn")


def test_there_may_be_more_files_than_a_process_may_open(tmp_path, draw):
    corpora = [corpus(tmp_path / f"{number}.txt", [f"mot {number}"]) for number in range(80)]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken + 40, before[1]))
    try:
        assert sorted(draw(corpora, 100)[1]) == sorted(f"mot {number}" for number in range(80))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
