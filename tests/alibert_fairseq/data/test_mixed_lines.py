"""A mix of corpora as training sees it: whole documents as often as the weights say, in another order every epoch."""

import logging
import re

import numpy as np
import pytest
from batch_helpers import batches, release
from mix_helpers import MixedText, lines_of
from model_helpers import dictionary, write_lines

from alibert_fairseq.data import mixed_lines
from alibert_fairseq.data.blocks import load_lines
from alibert_fairseq.data.mixed_lines import Mix
from alibert_fairseq.tasks.masked_lm import AliBertMaskedLMConfig, AliBertMaskedLMTask
from alibert_fairseq.tasks.segment_pairs import SegmentPairsConfig, SegmentPairsTask
from preprocess.mixing.mix_file import copies

SIZES = {"core": 12, "satellite": 60}
EQUAL = {"core": 5.0, "satellite": 1.0}
SEED = 5


@pytest.fixture
def mixed(tmp_path):
    return MixedText(tmp_path / "mixed", SIZES, EQUAL)


def loaded(data, epoch=1, split="train", **options):
    """A task that has loaded a split: blocks, or pairs where there is a sentence_objective."""
    config = {"data": str(data), "tokens_per_sample": 32, "seed": SEED, "train_subset": "train", **options}
    pairs = "sentence_objective" in options
    task = (SegmentPairsTask if pairs else AliBertMaskedLMTask).setup_task(
        SegmentPairsConfig(**config) if pairs else AliBertMaskedLMConfig(**config)
    )
    task.load_dataset(split, epoch=epoch, combine=split == "train")  # as fairseq's trainer asks for it
    return task


def text_of(task, split="train") -> list[int]:
    """The tokens of all sequences one after another, without special ones."""
    sequences = task.dataset(split).sequences
    return [token for i in range(len(sequences)) for token in sequences[i].tolist() if token > 3]


def lines_in(text, weights, epoch=1, seed=SEED) -> list[list[int]]:
    lines = load_lines(str(text.directory), "train", epoch, dictionary(3000), True, Mix(weights, seed))
    assert [len(lines[i]) for i in range(len(lines))] == lines.sizes.tolist()
    assert [lines.size(i) for i in range(len(lines))] == [lines.num_tokens(i) for i in range(len(lines))]
    return [lines[i].tolist() for i in range(len(lines))]


@pytest.mark.parametrize("at_once", [mixed_lines.AT_ONCE, 7])
def test_documents_are_whole_with_one_empty_line_between_them(at_once, tmp_path, monkeypatch):
    monkeypatch.setattr(mixed_lines, "AT_ONCE", at_once)
    text = MixedText(tmp_path / "mixed", SIZES | {"web": 30}, None)
    for weights in ({"core": 5.0, "satellite": 1.0, "web": 0.4}, {"core": 2.5, "satellite": 0.1, "web": 3.0}):
        lines = lines_in(text, weights)
        order = text.order([token for line in lines for token in line if token != 2])
        assert lines == lines_of([text.corpora[corpus][number] for corpus, number in order])
        for corpus, weight in enumerate(weights.values()):
            used = np.bincount([n for c, n in order if c == corpus], minlength=len(text.corpora[corpus]))
            assert (used == copies(len(used), weight, SEED, 1, corpus)).all()


def test_a_corpus_may_be_one_document(tmp_path):
    text = MixedText(tmp_path / "mixed", {"core": 1, "satellite": 3}, None)
    lines = lines_in(text, {"core": 3.0, "satellite": 1.0})
    order = text.order([token for line in lines for token in line if token != 2])
    assert sorted(order) == [(0, 0)] * 3 + [(1, 0), (1, 1), (1, 2)]


def test_empty_lines_wherever_they_stand_are_no_documents(mixed):
    lines = lines_of(mixed.corpora[0])
    around = [[2], [2], *[part for line in lines for part in ([line, line] if line == [2] else [line])], [2]]
    was = lines_in(mixed, EQUAL)
    write_lines(mixed.directory / "train", around)
    assert lines_in(mixed, EQUAL) == was


def test_the_mix_follows_from_seed_and_epoch(mixed):
    was = lines_in(mixed, EQUAL)
    assert lines_in(mixed, EQUAL) == was
    for other in (lines_in(mixed, EQUAL, epoch=2), lines_in(mixed, EQUAL, seed=6)):
        assert other != was and sorted(other) == sorted(was)
    text = [token for line in was for token in line if token != 2]
    assert text_of(loaded(mixed.directory)) == text != text_of(loaded(mixed.directory, seed=6))  # --seed


def test_the_corpora_are_mixed_homogeneously_and_copies_have_other_neighbours(tmp_path):
    text = MixedText(tmp_path / "mixed", {"core": 10, "satellite": 100}, None)
    neighbours, shares = {}, []
    for epoch in range(1, 21):
        lines = lines_in(text, {"core": 10.0, "satellite": 1.0}, epoch)
        order = text.order([token for line in lines for token in line if token != 2])
        shares.append([np.mean([corpus == 0 for corpus, _ in order[at : at + 20]]) for at in range(0, 200, 20)])
        for one, other in zip(order, order[1:], strict=False):
            neighbours.setdefault(one, set()).add(other)
    mean = np.mean(shares, 0)  # of the core, in tenths of the epoch: 0.5, deviation 0.11 / sqrt(20)
    assert np.abs(mean - 0.5).max() < 0.1
    assert min(len(neighbours[0, number]) for number in range(10)) > 60  # of 110, in 200 draws: 93 expected


@pytest.mark.parametrize("mode", ["none", "complete", "complete_doc"])
def test_blocks_hold_the_mix_in_every_break_mode(mode, mixed):
    task = loaded(mixed.directory, sample_break_mode=mode)
    order = mixed.order(text_of(task))
    assert sorted(order) == sorted([(0, n) for n in range(12)] * 5 + [(1, n) for n in range(60)])
    sequences = task.dataset("train").sequences
    owners = [{mixed.owner[token] for token in sequences[i].tolist() if token > 3} for i in range(len(sequences))]
    if mode == "complete_doc":
        assert {len(found) for found in owners} == {1}
    else:
        assert sum(len({corpus for corpus, _ in found}) == 2 for found in owners) > len(owners) / 5
    if mode == "none":
        assert {len(sequences[i]) for i in range(len(sequences) - 1)} == {32}


def segments_of(task, number) -> list[list[int]]:
    """The tokens of A and of B of a pair."""
    pairs = task.dataset("train").sequences
    row, segment = np.array(pairs[number].tolist()), pairs.segments(number)
    return [[token for token in row[segment == part].tolist() if token > 3] for part in (0, 1)]


def test_next_sentences_come_from_the_whole_mix_and_never_from_a_copy(tmp_path):
    text = MixedText(tmp_path / "mixed", {"core": 5, "satellite": 60}, {"core": 12.0, "satellite": 1.0})
    kinds = {(a, b): 0 for a in (0, 1) for b in (0, 1)}
    for epoch in range(1, 6):
        task = loaded(text.directory, epoch, sentence_objective="nsp")
        pairs = task.dataset("train").sequences
        for number in range(len(pairs)):
            a, b = ({text.owner[token] for token in part} for part in segments_of(task, number))
            assert len(a) == len(b) == 1
            ((corpus_a, _), (corpus_b, _)) = *a, *b
            if pairs.label(number) == 0:
                assert a == b
            else:
                assert a != b  # also where B's copy of the document is another than A's
                kinds[corpus_a, corpus_b] += 1
    total = sum(kinds.values())
    assert total > 300
    # B of a core document: 48 copies of the core's others, 60 of the satellite; of a satellite's: 60 and 59.
    assert kinds[0, 1] / (kinds[0, 0] + kinds[0, 1]) == pytest.approx(60 / 108, abs=0.08)
    assert kinds[1, 0] / (kinds[1, 0] + kinds[1, 1]) == pytest.approx(60 / 119, abs=0.08)


def test_sentence_order_pairs_stay_in_their_document(mixed):
    task = loaded(mixed.directory, sentence_objective="sop")
    found = []
    for number in range(len(task.dataset("train").sequences)):
        a, b = segments_of(task, number)
        owners = {mixed.owner[token] for token in a + b}
        assert len(owners) == 1
        swapped = task.dataset("train").sequences.label(number) == 1
        assert not b or (a[0] > b[0]) == swapped
        found.append(owners.pop())
    assert {(0, n) for n in range(12)} | {(1, n) for n in range(60)} == set(found)


def contents(iterator) -> dict:
    """Sample number -> its tokens, masked, and its targets, without padding."""
    found = {}
    for batch in iterator:
        for row, number in enumerate(batch["id"].tolist() if batch else []):  # a rank with a batch less gets {}
            source = batch["net_input"]["src_tokens"]
            length = int(source[row].ne(1).sum())
            assert number not in found
            found[number] = source[row, :length].tolist(), batch["target"][row, :length].tolist()
    return found


def whole(iterator) -> dict:
    """The contents of an epoch."""
    found = contents(iterator.next_epoch_itr())
    release(iterator)
    return found


@pytest.mark.parametrize("options", [{}, {"sentence_objective": "nsp"}], ids=["blocks", "pairs"])
def test_the_same_samples_for_any_workers_and_ranks_and_after_a_resume(options, mixed):
    task = loaded(mixed.directory, **options)
    assert task.has_sharded_data("train")  # fairseq then loads the data for every epoch
    first = whole(batches(task))
    task.load_dataset("train", epoch=2, combine=True)
    second = whole(batches(task, 2))
    assert second != first
    ranks = [whole(batches(loaded(mixed.directory, 2, **options), 2, num_shards=2, shard_id=rank)) for rank in (0, 1)]
    assert ranks[0] | ranks[1] == second and not ranks[0].keys() & ranks[1].keys()

    for workers in (0, 2):
        iterator = batches(task, 2, num_workers=workers)
        running = iterator.next_epoch_itr()
        begun = contents([next(running) for _ in range(7)])
        state = iterator.state_dict()
        assert begun | contents(running) == second
        release(iterator)
        fresh = loaded(mixed.directory, epoch=state["epoch"], **options)  # as fairseq resumes
        resumed = batches(fresh, state["epoch"], num_workers=workers)
        resumed.load_state_dict(state)
        rest = whole(resumed)
        assert not rest.keys() & begun.keys() and begun | rest == second


def test_without_a_mix_the_parts_of_a_split_follow_one_another(tmp_path):
    text = MixedText(tmp_path / "stock", SIZES, None)
    task = loaded(text.directory)
    assert text.order(text_of(task)) == [(0, n) for n in range(12)] + [(1, n) for n in range(60)]
    assert not task.has_sharded_data("train")
    task = loaded(text.directory, epoch=2)
    assert text.order(text_of(task)) == [(0, n) for n in range(12)] + [(1, n) for n in range(60)]


def test_validation_is_never_mixed(mixed):
    task = loaded(mixed.directory, split="valid")
    assert text_of(task, "valid") == [token for document in mixed.valid for line in document for token in line]
    task.load_dataset("train1", combine=False)  # a corpus alone, to see its loss
    assert mixed.order(text_of(task, "train1")) == [(1, number) for number in range(60)]
    task = loaded(mixed.directory, train_subset="train1", split="train1")
    task.load_dataset("train", combine=False)
    for number, split in enumerate(("train", "train1")):
        assert mixed.order(text_of(task, split)) == [(number, n) for n in range(len(mixed.corpora[number]))]


def test_data_bins_of_other_mixes_take_turns(tmp_path):
    one = MixedText(tmp_path / "one", SIZES, EQUAL)
    other = MixedText(tmp_path / "other", SIZES, {"core": 1.0, "satellite": 0.5}, seed=8)
    plain = MixedText(tmp_path / "plain", SIZES, None)
    data = f"{one.directory}:{other.directory}:{plain.directory}"
    orders = [
        text.order(text_of(loaded(data, epoch))) for epoch, text in enumerate((one, other, plain, one, other), start=1)
    ]
    assert [len(order) for order in orders] == [120, 42, 72, 120, 42]
    assert orders[2] == sorted(orders[2])
    assert sorted(orders[0]) == sorted(orders[3]) and orders[0] != orders[3]
    assert set(orders[1]) != set(orders[4])  # another half of the satellite's documents


def test_the_log_says_what_an_epoch_has_and_the_option_changes_it(mixed, caplog):
    caplog.set_level(logging.INFO)
    sizes = [sum(len(line) + 1 for document in corpus for line in document) for corpus in mixed.corpora]
    once = [size + len(corpus) for size, corpus in zip(sizes, mixed.corpora, strict=True)]  # with the empty lines
    for options, weights in (({}, (5, 1)), ({"mix_weights": "satellite=2,core=3"}, (3, 2))):
        caplog.clear()
        task = loaded(mixed.directory, **options)
        assert len(mixed.order(text_of(task))) == 12 * weights[0] + 60 * weights[1]
        (message,) = [message for message in caplog.messages if "of the mix" in message]
        used = [int(size.replace(",", "")) for size in re.findall(r"([\d,]+) tokens an epoch", message)]
        assert used == [size * weight for size, weight in zip(once, weights, strict=True)]
        assert re.search(rf"train, epoch 1: core: 12 documents, weight {weights[0]}, .*; satellite: 60 doc", message)
        assert f"{used[0] / sum(used):.1%} of the mix ({once[0] / sum(once):.1%} unmixed)" in message
        assert int(task.dataset("train").sequences.dataset.dataset.sizes.sum()) == sum(used) - 1


def refused(data, **options) -> str:
    with pytest.raises(SystemExit) as refusal:
        loaded(data, **options)
    sentence = str(refusal.value)
    assert sentence.startswith("error: ") and "\n" not in sentence
    return sentence


def test_mixes_that_cannot_be_are_refused(tmp_path):
    text = MixedText(tmp_path / "mixed", SIZES, EQUAL)
    assert "--mix-weights names web, which it has not" in refused(
        text.directory, mix_weights="core=1,satellite=1,web=1"
    )
    assert "--mix-weights leaves out satellite" in refused(text.directory, mix_weights="core=1")
    assert "weight 0.01 takes none of the 12 documents of core; raise it" in refused(
        text.directory, mix_weights="core=0.01,satellite=1"
    )
    plain = MixedText(tmp_path / "plain", SIZES, None)
    later = f"{text.directory}:{plain.directory}"  # found at once, not in the second epoch
    assert "plain/mix.json: no such file" in refused(later, mix_weights="core=1,satellite=1")
    write_lines(text.directory / "train2", [[4, 2]])
    assert "train2.idx: belongs to no corpus of mix.json" in refused(text.directory)
    (text.directory / "train2.idx").unlink()
    write_lines(text.directory / "train1", [[2], [2]])
    assert "satellite holds no document" in refused(text.directory)
    write_lines(text.directory / "train1", [[4, 5, 2], [2], [60000, 2]])
    assert "train1.bin, line 3: token id 60000 is not in dict.txt" in refused(text.directory)
    write_lines(text.directory / "train1", [[4, 5, 2], [2], [6, 7]])
    assert "of the mix: does not end in </s>" in refused(text.directory, sentence_objective="sop")
    (text.directory / "train1.bin").write_bytes(b"")
    assert "train1.bin: truncated" in refused(text.directory)
