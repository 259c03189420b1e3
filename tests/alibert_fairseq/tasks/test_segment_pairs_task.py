"""The tasks that have pairs of segments: the same samples wherever they fall, and what is refused."""

import numpy as np
import pytest
import torch
from batch_helpers import batches, release
from model_helpers import dictionary, write_lines

from alibert_fairseq.tasks.electra import ElectraTask, ElectraTaskConfig
from alibert_fairseq.tasks.segment_pairs import SegmentPairsConfig, SegmentPairsTask


def data_bin(directory, seed=1, documents=60):
    """dict.txt of 40 pieces, and the splits train and valid, of documents of 2 to 9 lines of 1 to 20 tokens."""
    directory.mkdir()
    table = dictionary()
    (directory / "dict.txt").write_text("".join(f"{table[i]} 1\n" for i in range(4, len(table) - 1)), encoding="utf-8")
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(documents):
        lines += [[2]] if lines else []
        for _ in range(generator.integers(2, 10)):
            lines.append([*generator.integers(4, 44, size=generator.integers(1, 21)).tolist(), 2])
    for split in ("train", "valid"):
        write_lines(directory / split, lines)
    return directory


def loaded(data, epoch=1, split="train", **options):
    """A task that has loaded a split."""
    config = {"data": str(data), "tokens_per_sample": 48, "seed": 5, "train_subset": "train", **options}
    electra = "sentence_pairs" in options
    task = (ElectraTask if electra else SegmentPairsTask).setup_task(
        ElectraTaskConfig(**config) if electra else SegmentPairsConfig(**config)
    )
    task.load_dataset(split, epoch=epoch)
    return task


def contents(iterator) -> dict:
    """Sample number -> its part of the batch, without padding."""
    found = {}
    for batch in iterator:
        inputs = batch["net_input"]
        for row, number in enumerate(batch.get("id", torch.tensor([])).tolist()):
            length = int(inputs["src_tokens"][row].ne(1).sum())
            assert number not in found
            found[number] = (
                inputs["src_tokens"][row, :length].tolist(), batch["target"][row, :length].tolist(),
                inputs["segments"][row, :length].tolist(), batch["sentence_target"][row].item(),
            )  # fmt: skip
    return found


def whole(iterator) -> dict:
    """The contents of an epoch."""
    found = contents(iterator.next_epoch_itr())
    release(iterator)
    return found


def test_the_same_samples_for_any_workers_ranks_and_batch_shapes(tmp_path):
    data = data_bin(tmp_path / "data")
    for unit in ("token", "span"):
        task = loaded(data, sentence_objective="nsp", mask_unit=unit)
        reference = whole(batches(task))
        assert sorted(reference) == list(range(len(task.dataset("train"))))
        for options in ({"num_workers": 1}, {"num_workers": 2}, {"max_sentences": None, "max_tokens": 200}):
            assert whole(batches(task, **options)) == reference
        ranks = [whole(batches(task, num_shards=3, shard_id=rank)) for rank in range(3)]
        assert set().union(*ranks) == set(reference)
        assert all(rank[number] == reference[number] for rank in ranks for number in rank)
        assert sum(map(len, ranks)) == len(reference)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_second_epoch_has_its_own_pairs_also_after_a_resume(workers, tmp_path):
    data = data_bin(tmp_path / "data")
    task = loaded(data)
    first = whole(batches(task, num_workers=workers))
    iterator = batches(task, epoch=2, num_workers=workers)
    running = iterator.next_epoch_itr()
    begun = [next(running) for _ in range(7)]
    state = iterator.state_dict()
    second = contents([*begun, *running])
    release(iterator)
    assert sorted(second) == list(range(len(task.dataset("train")))) and second != first

    fresh = loaded(data, epoch=2)  # as fairseq resumes: the task anew, the iterator of the epoch, then its state
    resumed = batches(fresh, epoch=2, num_workers=workers)
    resumed.load_state_dict(state)
    rest = whole(resumed)
    assert set(rest) == set(second) - set(contents(begun))
    assert all(rest[number] == second[number] for number in rest)


def test_validation_pairs_stay_and_data_bins_take_turns(tmp_path):
    first, second = data_bin(tmp_path / "a", seed=1), data_bin(tmp_path / "b", seed=2)
    valid = loaded(first, split="valid")
    was = whole(batches(valid, split="valid"))
    assert whole(batches(valid, epoch=2, split="valid")) == was
    turns = loaded(f"{first}:{second}", epoch=2)
    alone = loaded(second, epoch=2)
    assert whole(batches(turns, 2)) == whole(batches(alone, 2))


def test_duplicates_are_other_pairs(tmp_path):
    data = data_bin(tmp_path / "data")
    once, thrice = (loaded(data, duplicate_factor=factor).dataset("train").sequences for factor in (1, 3))
    assert 2.5 * len(once) < len(thrice) < 3.5 * len(once)
    third = len(thrice) // 3
    assert [thrice[i].tolist() for i in range(third)] != [thrice[i].tolist() for i in range(third, 2 * third)]


def test_the_limit_of_predictions_reaches_the_samples(tmp_path):
    data = loaded(data_bin(tmp_path / "data"), max_predictions=2).dataset("train")
    assert {int((data[i]["target"] != 1).sum()) for i in range(len(data)) if data.sizes[i] > 20} == {2}


def test_electra_has_pairs_or_blocks(tmp_path):
    data = data_bin(tmp_path / "data")
    pairs = next(batches(loaded(data, sentence_pairs=True)).next_epoch_itr())
    blocks = next(batches(loaded(data, sentence_pairs=False)).next_epoch_itr())
    assert pairs["net_input"].keys() - blocks["net_input"].keys() == {"segments"}
    assert "sentence_target" not in pairs and {"original", "uniforms"} <= pairs["net_input"].keys()


def refused(data, **options):
    with pytest.raises(SystemExit) as refusal:
        loaded(data, **options)
    return str(refusal.value)


def test_text_and_settings_that_make_no_pairs_are_refused(tmp_path, caplog):
    data = data_bin(tmp_path / "data")
    assert refused(data, tokens_per_sample=4) == "error: --tokens-per-sample 4 holds no pair; give at least 5."
    assert refused(data, duplicate_factor=0) == "error: --duplicate-factor must be 1 or more, not 0."
    assert "--sample-break-mode is for blocks" in refused(data, sample_break_mode="complete")

    write_lines(data / "train", [[5, 6, 2], [7, 2]])
    assert "train: holds one document, so no segment" in refused(data, sentence_objective="nsp")
    assert "train: holds one document" in refused(data, sentence_objective="sop", single_sentence_chunks="random")
    assert len(loaded(data, sentence_objective="sop").dataset("train")) == 1
    assert [message for message in caplog.messages if "train: holds one document; if the text is not" in message]

    write_lines(data / "train", [[5, 6, 2], [2], [7, 2]])
    for objective in ("nsp", "sop"):
        assert "every document is one line" in refused(data, sentence_objective=objective)
    assert len(loaded(data, sentence_pairs=True).dataset("train")) == 2
    write_lines(data / "train", [[5, 6, 2], [2], [7, 8]])
    assert "train.bin, line 3: does not end in </s>" in refused(data)


def test_a_dictionary_that_marks_no_words_is_refused(tmp_path):
    data = data_bin(tmp_path / "data")
    (data / "dict.txt").write_text("".join(f"{number} 1\n" for number in range(42)), encoding="utf-8")
    assert "use --mask-unit token" in refused(data, mask_unit="word")
