"""The guards one by one, on a trainer of a few lines; real ones are in tests/end_to_end."""

import json
import math
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from light_trainer import LightTrainer, with_callbacks

from alibert_fairseq.callbacks import memory, watchdog
from alibert_fairseq.callbacks.loss_spikes import WINDOW, Spikes
from alibert_fairseq.callbacks.memory import is_memory
from alibert_fairseq.callbacks.skip_nonfinite import KEPT, plain
from alibert_fairseq.callbacks.watchdog import (
    COMPUTING,
    EXCHANGING,
    READING,
    SAVING,
    STAGES,
    STARTING,
    VALIDATING,
    Place,
    Watch,
    told,
)
from alibert_fairseq.options import option_of_task

BATCH = {
    "id": torch.tensor([3, 4]),
    "net_input": {"src_tokens": torch.zeros(2, 8, dtype=torch.long)},
    "ntokens": np.int64(16),  # which weights_only=True would not open
}


class Trainer(LightTrainer):
    """A batch is (loss, norm of the gradient) in `now`; `everywhere` is the loss of all processes."""

    now, everywhere = (1.0, 1.0), None

    def __init__(self, cfg):
        super().__init__(cfg)
        self.forgotten, self.saved = 0, []

    def task_step(self, sample):
        return None, 1, {"loss": torch.tensor(self.now[0])}

    def load_checkpoint(self, filename, reset_optimizer=False):
        return self.saved[-1] if self.saved else None

    def save_checkpoint(self, filename, extra_state):
        self.saved.append(extra_state)

    def consolidate_optimizer(self):
        self.saved.append("what the others have")

    def _aggregate_logging_outputs(self, logged, *numbers):
        return [{"loss": torch.tensor(self.everywhere)}], list(numbers)

    def clip_grad_norm(self, clip_norm):
        if isinstance(self.now[1], Exception):
            raise self.now[1]
        return torch.tensor(self.now[1])

    def train_step(self, samples, raise_oom=False):
        for sample in samples:
            self.task.train_step(sample)
        if self.data_parallel_world_size > 1:
            assert self._aggregate_logging_outputs([], 1.0)[1] == [1.0]
        self._check_grad_norms(self.clip_grad_norm(1.0))
        self.updates += 1
        return {"loss": self.now[0]}

    def valid_step(self, sample):
        raise self.now[1]

    def _log_oom(self, error):
        self.logged = error

    def zero_grad(self):
        self.forgotten += 1


@pytest.fixture
def skipping():
    """Makes a trainer that saves nothing by itself."""

    def make(folder, light=Trainer, most=3, **options):
        trainer = with_callbacks(light, folder, stop_after_nonfinite=most, **options)
        trainer.owner.claim = trainer.metrics_log.open = lambda: None
        return trainer

    return make


def begun(trainer):
    trainer.load_checkpoint("last")
    return trainer


@pytest.mark.parametrize("now", [(1.0, math.nan), (1.0, math.inf), (math.inf, 1.0), (math.nan, math.nan)])
def test_what_is_not_finite_is_no_update_and_is_kept(now, skipping, tmp_path):
    trainer = begun(skipping(tmp_path))
    trainer.optimizer._multiply_factor = math.nan
    trainer.now = now
    assert trainer.train_step([BATCH, {}][:1]) is None
    assert (trainer.updates, trainer.forgotten, trainer.optimizer._multiply_factor) == (4, 1, 1.0)
    kept = torch.load(tmp_path / "nonfinite_5_rank0.pt", weights_only=True)
    assert [kept[name] for name in ("update", "seed", "rank", "processes")] == [5, 11, 0, 1]
    assert torch.equal(kept["samples"][0]["id"], BATCH["id"]) and kept["samples"][0]["ntokens"] == 16
    trainer.now = (1.0, 2.0)
    assert trainer.nonfinite.in_a_row == 1 and trainer.train_step([BATCH]) == {"loss": 1.0}
    assert trainer.updates == 5 and trainer.nonfinite.in_a_row == 0 and len(list(tmp_path.iterdir())) == 1


def test_fairseqs_meters_are_as_they_were_after_a_skipped_batch(skipping, tmp_path):
    """Its `metrics.aggregate` does not end where an exception passes, and validation would count as training."""
    from fairseq.logging import metrics

    light = type("Light", (Trainer,), {"train_step": metrics.aggregate("train")(Trainer.train_step)})
    metrics.reset()
    trainer = begun(skipping(tmp_path, light))
    trainer.now = (1.0, math.nan)
    with metrics.aggregate("outside"):
        trainer.train_step([BATCH])
        assert list(metrics._active_aggregators) == ["default", "outside"]
    assert list(metrics._active_aggregators) == ["default"] and not metrics._active_aggregators_cnt["train"]


@pytest.mark.parametrize(
    ("rank", "own", "everywhere", "kept"),
    [(0, 1.0, math.nan, False), (1, math.nan, math.nan, True), (0, 1.0, 2.0, True), (1, 1.0, 2.0, False)],
)
def test_who_keeps_its_batch(rank, own, everywhere, kept, skipping, tmp_path):
    """Each process whose loss it was; the first one where it was the gradient."""
    trainer = begun(skipping(tmp_path, rank=rank, processes=2))
    trainer.now, trainer.everywhere = (own, math.nan), everywhere
    assert trainer.train_step([BATCH]) is None
    assert [path.name for path in tmp_path.iterdir()] == ([f"nonfinite_5_rank{rank}.pt"] if kept else [])


def test_the_loss_of_another_process_counts(skipping, tmp_path):
    trainer = begun(skipping(tmp_path, processes=2))
    trainer.now, trainer.everywhere = (1.0, 1.0), math.inf
    assert trainer.train_step([BATCH]) is None and trainer.updates == 4


def test_as_many_in_a_row_end_the_run_also_over_a_stop(skipping, tmp_path, caplog):
    trainer = begun(skipping(tmp_path))
    trainer.now = (1.0, math.nan)
    trainer.train_step([BATCH])
    trainer.train_step([BATCH])
    trainer.save_checkpoint("checkpoint_last.pt", {"epoch": 1})
    again = skipping(tmp_path)
    again.saved, again.now = trainer.saved, trainer.now
    sentence = "error: update 5: 3 batches in a row .*nan.*nonfinite_5_rank0.pt; resume from the last .* a lower --lr"
    with pytest.raises(SystemExit, match=sentence):
        begun(again).train_step([BATCH])
    assert trainer.saved == [{"epoch": 1, "skipped": 2}] and "2 in a row" in caplog.text


def test_another_process_ends_without_a_word(skipping, tmp_path):
    trainer = begun(skipping(tmp_path, rank=1, processes=2, most=1))
    trainer.now, trainer.everywhere = (1.0, math.nan), 1.0
    with pytest.raises(SystemExit) as ended:
        trainer.train_step([BATCH])
    assert ended.value.code == 1


def test_a_checkpoint_of_a_run_that_skips_nothing_is_as_before_and_there_is_no_crash_checkpoint(skipping, tmp_path):
    trainer = begun(skipping(tmp_path))
    trainer.train_step([BATCH])
    trainer.save_checkpoint("save/checkpoint_last.pt", {"epoch": 1})
    trainer.save_checkpoint("save/crash.pt", {})
    assert trainer.saved == [{"epoch": 1}]


def test_a_process_that_fails_alone_waits_for_no_other(skipping, tmp_path):
    """Before fairseq writes crash.pt all processes would collect the shards of the optimizer's state."""
    trainer = begun(skipping(tmp_path))
    try:
        raise KeyError("a mistake")
    except KeyError:
        trainer.consolidate_optimizer()
    assert trainer.saved == []
    trainer.consolidate_optimizer()
    assert trainer.saved == ["what the others have"]


def test_an_overflow_of_half_precision_is_fairseqs(skipping, tmp_path):
    trainer = begun(skipping(tmp_path))
    trainer.now = (1.0, OverflowError("setting loss scale to: 64"))
    with pytest.raises(OverflowError):
        trainer.train_step([BATCH])
    trainer.now = (1.0, FloatingPointError("Minimum loss scale reached (0.0001).\nTry lowering the learning rate"))
    with pytest.raises(SystemExit, match=r"error: update 5: Minimum loss scale reached \(0.0001\). Try lowering"):
        trainer.train_step([BATCH])
    scaled = begun(skipping(tmp_path, amp=True))
    scaled.now = (1.0, math.nan)
    assert scaled.train_step([BATCH]) and not list(tmp_path.iterdir())


def test_a_few_files_are_kept(skipping, tmp_path):
    trainer = begun(skipping(tmp_path))
    (tmp_path / "nonfinite_1_rank1.pt").touch()  # another process's
    trainer.now = (1.0, math.nan)
    for trainer.updates in (8, 9, 10, 98):
        trainer.nonfinite.in_a_row = 0
        trainer.train_step([BATCH])
    names = {f"nonfinite_{update}_rank0.pt" for update in (10, 11, 99)} | {"nonfinite_1_rank1.pt"}
    assert KEPT == 3 and {path.name for path in tmp_path.iterdir()} == names


def test_a_batch_that_cannot_be_kept_ends_nothing(skipping, tmp_path, caplog):
    (tmp_path / "file").touch()
    trainer = begun(skipping(tmp_path / "file"))
    trainer.now = (1.0, math.nan)
    assert trainer.train_step([BATCH]) is None and "nonfinite_5_rank0.pt: not written" in caplog.text
    unsaved = begun(skipping(tmp_path, no_save=True))
    unsaved.now = (1.0, math.nan)
    assert unsaved.train_step([BATCH]) is None and [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_batch_is_written_whole_or_not_at_all(skipping, tmp_path, monkeypatch):
    def cut_short(held, file):
        assert not (tmp_path / "nonfinite_5_rank0.pt").exists()
        file.write(b"PK")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", cut_short)
    trainer = begun(skipping(tmp_path))
    trainer.now = (1.0, math.nan)
    assert trainer.train_step([BATCH]) is None and not list(tmp_path.iterdir())


def test_what_is_kept_is_plain():
    numpy_number = torch.tensor(2.5, dtype=torch.float64).numpy()[()]
    found = plain({"a": [numpy_number, (1, None)], 2: Trainer})
    assert found == {"a": [2.5, [1, None]], "2": str(Trainer)} and type(found["a"][0]) is float


def losses(seed: int, count: int) -> list[float]:
    """Falling from 10 to 6 with a noise of 2 %."""
    draw = random.Random(seed)
    return [(6 + 4 * math.exp(-number / 200)) * draw.gauss(1, 0.02) for number in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_a_falling_noisy_loss_has_no_spike(seed):
    spikes = Spikes()
    assert not any(spikes.begins(loss) is not None for loss in losses(seed, 2000)) and spikes.count == 0


def test_a_spike_is_told_once_and_the_next_one_too():
    spikes, drawn = Spikes(), losses(1, 400)
    drawn[200:215] = [12, 14, 15, 14, 13, 12, 11, 12, 11, 10.5, 10.2, 10, 9.8, 9.7, 9.6]
    drawn[300] = 12.0
    begins = [number for number, loss in enumerate(drawn) if spikes.begins(loss) is not None]
    assert begins == [200, 300] and spikes.count == 2


def test_a_loss_that_stays_high_is_the_new_normal():
    spikes = Spikes()
    drawn = losses(2, 200) + [2 * loss for loss in losses(3, 200)]
    assert [number for number, loss in enumerate(drawn) if spikes.begins(loss) is not None] == [200]
    assert not spikes.inside and len(spikes.losses) == WINDOW


def test_a_loss_that_hardly_varies_may_vary_by_some_percent():
    spikes = Spikes()
    assert [spikes.begins(loss) for loss in [1.0] * 50 + [1.05, 1.07]][-2:] == [None, 1.0]


def test_spikes_are_told_by_the_first_process(caplog):
    for rank in (1, 0):
        trainer = with_callbacks(LightTrainer, rank=rank)
        for loss in [6.0] * 40 + [99.0]:
            trainer.found = {"loss": 99.0}
            trainer._reduce_and_log_stats([], 1)  # a validation
            trainer.found = {"loss": loss}
            trainer._reduce_and_log_stats([], 1, 1.0)
    assert [record.message for record in caplog.records] == [
        "update 4: the loss jumped to 99.000 from a median of 6.000 (spike 1 of this start)"
    ]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nGPU 0 has a total capacity of ..."),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried ..."),
        MemoryError("Unable to allocate 3.00 GiB for an array"),
    ],
)
def test_too_little_memory_is_a_sentence(error, tmp_path, monkeypatch):
    trainer = with_callbacks(Trainer, tmp_path)
    trainer.now = (1.0, error)
    said = f"error: update 5: not enough memory for a batch of 2 x 8 tokens \\({str(error)[:9].replace('[', '.')}"
    with pytest.raises(SystemExit, match=said) as ended:
        trainer.train_step([{}, BATCH])
    assert "smaller --batch-size and as much larger an --update-freq" in ended.value.code
    assert "\n" not in ended.value.code and is_memory(error) and not is_memory(ValueError("out of memory"))
    with pytest.raises(SystemExit, match="not enough memory"):
        trainer._log_oom(error)  # with which stock fairseq begins to leave the batch out
    with pytest.raises(SystemExit, match="a batch of 2 x 8"):
        trainer.valid_step(BATCH)
    trainer._log_oom(error)  # of a validation, which is tried once more
    assert trainer.logged is error
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: 3 << 30)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 5 << 30)
    assert memory._in_use() == " with 3.0 GiB in use on the GPU, 5.0 at most"


def test_other_errors_are_left_alone(tmp_path):
    trainer = with_callbacks(Trainer, tmp_path)
    trainer.now = (1.0, RuntimeError("shapes do not fit"))
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        trainer.train_step([BATCH])


class Store(dict):
    """What the watches ask of torch's."""

    def clone(self):
        self.own = Store()
        return self.own

    def set(self, key, value):
        self[key] = value.encode()

    def check(self, keys):
        return all(key in self for key in keys)

    def add(self, key, number):
        self[key] = self.get(key, 0) + number
        return self[key]


def entry(updates: int, stage: str, age: float, host: str = "n1") -> list:
    return [updates, STAGES.index(stage), 1000.0 - age, host]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (
            {0: entry(16, EXCHANGING, 4), 1: entry(16, READING, 604, "n3")},
            "rank 1 (n3) was last heard of 604 s ago, then reading its batch of update 17",
        ),
        (
            {0: entry(16, EXCHANGING, 4), 1: entry(16, COMPUTING, 3), 2: entry(16, EXCHANGING, 1)},
            "rank 1 (n1) was last heard of 3 s ago, then computing update 17",
        ),
        (
            {0: entry(16, SAVING, 4), 1: entry(16, READING, 3), 2: entry(16, READING, 1)},
            "rank 0 (n1) was last heard of 4 s ago, then saving a checkpoint after update 16",
        ),
        ({0: entry(16, EXCHANGING, 1)}, "rank 1 was never heard of"),
        ({n: entry(16, EXCHANGING, 1) for n in range(2)}, "all processes are exchanging the sums of update 17"),
    ],
)
def test_the_one_that_is_waited_for_is_named(known, expected):
    assert told(known, max(2, len(known)), 1000.0, 30.0) == expected


def test_of_many_some_are_named():
    known = {rank: entry(3, READING, 100) for rank in range(9)}
    said = told(known | {9: entry(4, READING, 1)}, 10, 1000.0, 30.0)
    assert said.count("last heard of") == 5 and said.endswith("update 4 and 4 more")


@pytest.fixture
def watch():
    """Of process 1 of 2, with 8 s; it is not started."""
    ended = []
    watch = Watch(Place(), Store(), 1, 2, 8.0, ended.append)
    watch.ended = ended
    return watch


def ticks(watch, count: int) -> None:
    for _ in range(count):
        watch.tick()
        watch.writing.join()


def test_a_process_that_moves_is_not_silent(watch):
    for updates in range(20):
        watch.place.at(updates, READING)
        ticks(watch, 4)  # 6 s after the first
    assert watch.ended == [] and watch.beat == 2
    assert json.loads(watch.store[watchdog.PLACE.format(1)])[:2] == [19, STAGES.index(READING)]


def test_one_that_does_not_says_for_which_it_waits(watch):
    watch.store.set(watchdog.PLACE.format(0), json.dumps([3, STAGES.index(COMPUTING), time.time() - 100, "n1"]))
    watch.place.at(3, EXCHANGING)
    ticks(watch, 4)
    assert watch.ended == []
    ticks(watch, 1)
    who = "rank 0 (n1) was last heard of 100 s ago, then computing update 4"
    assert watch.ended == [f"nothing has moved for 8 s here; {who}"]
    assert watch.who() == "another process says which one it waits for"


def test_its_place_is_known_from_the_start(watch):
    watch.start()
    time.sleep(0.5)  # of a beat of 2 s
    watch.stop()
    assert watchdog.PLACE.format(1) in watch.store and not watch.is_alive()


def test_the_store_may_not_answer_or_be_gone(watch, monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "10.0.0.1")
    watch.store.check = lambda keys: time.sleep(9)
    assert watch.who() == "rank 0 (10.0.0.1), which keeps the store of all processes, does not answer"
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    watch.store.add = lambda *_: (_ for _ in ()).throw(torch.distributed.DistNetworkError("Broken pipe"))
    assert watch.who() == "torchrun, which keeps the store of all processes, is gone"


class Moving(LightTrainer):
    """It notes where it is."""

    def note(self, *_arguments, **_options):
        self.done.append((self.watchdog.place.updates, self.watchdog.place.stage))
        return [], [0.0]

    def train_step(self, samples):
        self.note()
        self._aggregate_logging_outputs([])
        self.updates += 1

    _aggregate_logging_outputs = load_checkpoint = get_train_iterator = valid_step = save_checkpoint = note


@pytest.mark.parametrize(("timeout", "several", "watched"), [(8, True, True), (0, True, False), (8, False, False)])
def test_a_trainer_says_where_it_is(timeout, several, watched, monkeypatch):
    started, store = [], Store()
    monkeypatch.setattr(watchdog, "store_of_processes", lambda: store if several else None)
    monkeypatch.setattr(Watch, "start", lambda self: started.append(self))
    monkeypatch.setattr(watchdog.atexit, "register", lambda stop: None)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    trainer = with_callbacks(Moving, no_save=True, silence_timeout=timeout)
    trainer.nonfinite.begin = trainer.precision.begin = lambda _: None
    found = [(watch.rank, watch.processes, watch.timeout) for watch in started]
    assert found == [(1, 2, 8)] * watched and all(watch.store is store.own for watch in started)
    trainer.train_step([])
    place = trainer.watchdog.place
    assert trainer.done == [(4, COMPUTING), (4, EXCHANGING)]
    assert (place.updates, place.stage, place.moves) == (5, READING, 3)
    trainer.load_checkpoint("last"), trainer.get_train_iterator()
    trainer.valid_step({}), trainer.save_checkpoint("last", {})
    assert [stage for _, stage in trainer.done[2:]] == [STARTING, STARTING, VALIDATING, SAVING]
    assert place.stage == READING


def test_a_training_of_another_task_has_the_defaults():
    cfg = SimpleNamespace(task=SimpleNamespace(other=1))
    assert option_of_task(cfg, "silence_timeout", 480) == 480
    cfg.task.silence_timeout = 0
    assert option_of_task(cfg, "silence_timeout", 480) == 0


@pytest.mark.parametrize("cuda", [False, True])
def test_a_training_on_a_cpu_keeps_the_memory_that_it_frees(cuda, monkeypatch):
    kept = []
    monkeypatch.setattr("alibert_common.allocator.keep_freed_memory", lambda: kept.append(True))
    with_callbacks(type("OnDevice", (LightTrainer,), {"cuda": cuda}), no_save=True)
    assert kept == [True] * (not cuda)
