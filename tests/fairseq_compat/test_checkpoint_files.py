"""A checkpoint is on the disk whole under its name or not at all; its damage is known, and another takes its place."""

import errno
import logging
import os
import random
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from damaged_files import CALLS, DAMAGES, Failing, lost_in_a_crash, one_byte_flipped
from fairseq import checkpoint_utils

from fairseq_compat.checkpoints import digest, loading, recovery, saving
from fairseq_compat.errors import Refusal

STATE = {"model": {"weight": torch.arange(3000.0)}, "optimizer_history": [{"num_updates": 7}]}


def save(path: Path, update: int = 7) -> None:
    checkpoint_utils.torch_persistent_save(STATE | {"optimizer_history": [{"num_updates": update}]}, str(path))


def update_of(path: Path) -> int:
    """Read as fairseq does, unpickling only what it saves."""
    with open(path, "rb") as file:
        return loading.load(file, map_location="cpu")["optimizer_history"][-1]["num_updates"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_torch_reads_a_sealed_checkpoint_as_any_other(tmp_path):
    save(tmp_path / "c.pt")
    state = torch.load(tmp_path / "c.pt", weights_only=True)
    assert torch.equal(state["model"]["weight"], STATE["model"]["weight"]) and zipfile.is_zipfile(tmp_path / "c.pt")
    assert (tmp_path / "c.pt").read_bytes()[-digest.LENGTH :].startswith(digest.SEAL) and names(tmp_path) == ["c.pt"]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_checkpoint_is_recognised_and_never_run(damage, seed, tmp_path):
    """tests/campaigns/damaged_checkpoints.py has 200 of a training's."""
    path, trace = tmp_path / "c.pt", tmp_path / "was_here"
    save(path)
    path.write_bytes(damage(path.read_bytes(), random.Random(seed), trace))
    with pytest.raises(Refusal, match="c.pt: not ") as refusal:
        update_of(path)
    assert "\n" not in str(refusal.value) and not trace.exists()


@pytest.mark.parametrize("place", range(digest.LENGTH + digest.ZIP_END_LENGTH))
def test_every_byte_of_the_end_counts(place, tmp_path):
    save(tmp_path / "c.pt")
    content = bytearray((tmp_path / "c.pt").read_bytes())
    content[-1 - place] ^= 1
    (tmp_path / "c.pt").write_bytes(content)
    with pytest.raises(Refusal, match="not a whole checkpoint"):
        update_of(tmp_path / "c.pt")


def test_a_checkpoint_that_lost_just_its_digest_is_recognised(tmp_path):
    save(tmp_path / "c.pt")
    os.truncate(tmp_path / "c.pt", (tmp_path / "c.pt").stat().st_size - digest.LENGTH)
    assert torch.load(tmp_path / "c.pt", weights_only=True)  # a whole archive
    with pytest.raises(Refusal, match="its digest is missing"):
        update_of(tmp_path / "c.pt")


def test_what_was_read_may_be_saved_without_a_digest(tmp_path):
    """As fairseq's average_checkpoints.py does."""
    save(tmp_path / "c.pt")
    with open(tmp_path / "c.pt", "rb") as file:
        torch.save(loading.load(file, map_location="cpu"), tmp_path / "average.pt")
    assert update_of(tmp_path / "average.pt") == 7


def test_a_checkpoint_of_stock_fairseq_is_read(tmp_path):
    torch.save(STATE, tmp_path / "c.pt")
    assert update_of(tmp_path / "c.pt") == 7


def test_whatever_byte_of_a_checkpoint_without_a_digest_is_another_it_is_read_or_refused(tmp_path):
    torch.save(STATE | {"model": {"weight": torch.arange(30.0)}}, tmp_path / "c.pt")
    content, draw = (tmp_path / "c.pt").read_bytes(), random.Random(3)
    for _ in range(1000):
        (tmp_path / "c.pt").write_bytes(one_byte_flipped(content, draw, tmp_path))
        with suppress(Refusal), open(tmp_path / "c.pt", "rb") as file:
            loading.load(file, map_location="cpu")


def test_a_damaged_end_of_an_archive_without_a_digest_is_recognised(tmp_path):
    torch.save(STATE, tmp_path / "c.pt")
    with open(tmp_path / "c.pt", "ab") as file:
        file.write(b"x")
    with pytest.raises(Refusal, match="its end is missing, or something else stands there"):
        update_of(tmp_path / "c.pt")


def test_copies_are_names_of_one_file_and_the_last_but_one_stays(tmp_path):
    for update in (1, 2, 3):
        save(tmp_path / f"checkpoint_1_{update}.pt", update)
        checkpoint_utils.PathManager.copy(
            str(tmp_path / f"checkpoint_1_{update}.pt"), str(tmp_path / "checkpoint_last.pt"), overwrite=True
        )
    assert os.path.samefile(tmp_path / "checkpoint_last.pt", tmp_path / "checkpoint_1_3.pt")
    assert update_of(tmp_path / "checkpoint_last.pt") == 3 and update_of(tmp_path / "checkpoint_previous.pt") == 2
    assert len(names(tmp_path)) == 5


def test_the_last_but_one_stays_where_each_is_only_the_last(tmp_path):
    for update in (1, 2, 3):
        save(tmp_path / "checkpoint_last.pt", update)
    assert names(tmp_path) == ["checkpoint_last.pt", "checkpoint_previous.pt"]
    assert [update_of(tmp_path / name) for name in names(tmp_path)] == [3, 2]


def test_file_and_names_are_on_the_disk(tmp_path, monkeypatch):
    flushed, fsync = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda handle: (flushed.append(os.readlink(f"/proc/self/fd/{handle}")), fsync(handle))
    )
    save(tmp_path / "c.pt")
    assert flushed == [str(tmp_path / "c.pt.tmp"), str(tmp_path)]


def test_without_hard_links_there_are_copies(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    test_the_last_but_one_stays_where_each_is_only_the_last(tmp_path)
    checkpoint_utils.PathManager.copy(str(tmp_path / "checkpoint_last.pt"), str(tmp_path / "best.pt"), overwrite=True)
    assert update_of(tmp_path / "best.pt") == 3 and not os.path.samefile(
        tmp_path / "best.pt", tmp_path / names(tmp_path)[1]
    )


def test_a_copy_is_as_old_as_what_it_is_a_copy_of(tmp_path, monkeypatch):
    """Without hard links too, the newest checkpoint is the one that takes the place of a damaged one."""

    def none(*_):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "link", none)
    for update in (1, 2):
        save(tmp_path / f"checkpoint_1_{update}.pt", update)
        last = str(tmp_path / "checkpoint_last.pt")
        checkpoint_utils.PathManager.copy(str(tmp_path / f"checkpoint_1_{update}.pt"), last, overwrite=True)
        time.sleep(0.02)
    assert update_of(tmp_path / "checkpoint_previous.pt") == 1
    truncate(tmp_path / "checkpoint_last.pt")
    repair(tmp_path)
    assert update_of(tmp_path / "checkpoint_last.pt") == 2


class Unreadable:
    """An open file of a disk with a bad sector."""

    def __init__(self, path: Path):
        self.file, self.name = open(path, "rb"), str(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def seek(self, *place):
        return self.file.seek(*place)

    def read(self, _length=-1):
        raise OSError(errno.EIO, "Input/output error")


def test_a_file_that_cannot_be_read_is_damaged(tmp_path, monkeypatch):
    save(tmp_path / "checkpoint_1_1.pt", 1)
    save(tmp_path / "checkpoint_last.pt", 2)
    with Unreadable(tmp_path / "checkpoint_last.pt") as file:
        with pytest.raises(
            Refusal, match=r"checkpoint_last.pt: not a whole checkpoint of fairseq \(Input/output error"
        ):
            loading.load(file)

    def opened(path, *mode):
        return Unreadable(path) if path.name == "checkpoint_last.pt" else open(path, *mode)

    monkeypatch.setattr(recovery, "open", opened, raising=False)
    repair(tmp_path)
    assert update_of(tmp_path / "checkpoint_last.pt") == 1


def test_a_file_that_this_user_may_not_read_is_refused_and_not_set_aside(tmp_path, monkeypatch):
    """It may be whole, and a colleague's."""
    save(tmp_path / "checkpoint_1_1.pt", 1)
    save(tmp_path / "checkpoint_last.pt", 2)

    def opened(path, *mode):
        if path.name == "checkpoint_last.pt":
            raise PermissionError(errno.EACCES, "Permission denied")
        return open(path, *mode)

    monkeypatch.setattr(recovery, "open", opened, raising=False)
    with pytest.raises(Refusal, match="checkpoint_last.pt: cannot be read"):
        repair(tmp_path)
    assert update_of(tmp_path / "checkpoint_last.pt") == 2 and len(names(tmp_path)) == 2


def test_a_run_is_resumed_though_the_model_that_it_began_with_is_gone(tmp_path):
    save(tmp_path / "checkpoint_1_9.pt", 9)
    save(tmp_path / "checkpoint_last.pt", 10)
    truncate(tmp_path / "checkpoint_last.pt")
    gone = str(tmp_path / "gone.pt")
    assert repair(tmp_path, finetune_from_model=gone) == str(tmp_path / "checkpoint_1_9.pt")


def test_an_error_that_is_not_the_systems_is_none_of_writing(tmp_path):
    with pytest.raises(RuntimeError, match="CUDA error"), saving.in_one_sentence(str(tmp_path / "c.pt")):
        raise RuntimeError("CUDA error: uncorrectable ECC error encountered")


TIMES = dict(zip(CALLS, (9, 2, 2, 1), strict=True))  # that they are called for a small checkpoint, at least


@pytest.mark.parametrize("function, first", [(key, n) for key, times in TIMES.items() for n in range(times)])
@pytest.mark.parametrize("number, times", [(errno.EIO, 1), (errno.EIO, 100), (errno.ENOSPC, 1)])
def test_a_write_that_fails_leaves_no_bad_file_under_a_good_name(function, first, number, times, tmp_path, monkeypatch):
    """A transient error is overcome; another leaves what was there, and one sentence."""
    save(tmp_path / "checkpoint_last.pt", 1)
    place, name = function
    monkeypatch.setattr(saving, "PAUSE", 0.0)
    monkeypatch.setattr(place, name, Failing(first, times, number).around(getattr(place, name)))
    try:
        save(tmp_path / "checkpoint_last.pt", 2)
        done = True
    except Refusal as refusal:
        done = False
        assert f"checkpoint_last.pt: not written ({os.strerror(number)}); " in str(refusal)
    monkeypatch.undo()
    assert done or (number, times) != (errno.EIO, 1)
    assert {name for name in names(tmp_path) if not name.endswith(".tmp")} <= {
        "checkpoint_last.pt",
        "checkpoint_previous.pt",
    }
    assert not any(name.endswith(".tmp") for name in names(tmp_path))
    assert update_of(tmp_path / "checkpoint_last.pt") in (
        (2,) if done else (1, 2)
    )  # 2: its name is not yet on the disk


def test_a_folder_that_was_removed_is_to_be_restored(tmp_path):
    with pytest.raises(
        Refusal, match=r"gone/c.pt: not written \(No such file or directory\); restore the folder, which"
    ):
        save(tmp_path / "gone" / "c.pt")


def test_a_folder_with_the_name_of_a_checkpoint_is_to_be_moved(tmp_path):
    save(tmp_path / "checkpoint_1_2.pt")
    (tmp_path / "checkpoint_last.pt").mkdir()
    last = str(tmp_path / "checkpoint_last.pt")
    with pytest.raises(
        Refusal, match=r"last.pt: not written \(Is a directory\); move away the folder that has this name"
    ):
        checkpoint_utils.PathManager.copy(str(tmp_path / "checkpoint_1_2.pt"), last, overwrite=True)


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EROFS, "make the file system writable"),
        (errno.EDQUOT, "make room in your quota"),
        (errno.EIO, "check the disk"),
    ],
)
def test_each_error_has_its_own_remedy(number, remedy, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "PAUSE", 0.0)
    monkeypatch.setattr(os, "replace", Failing(0, 100, number).around(os.replace))
    with pytest.raises(
        Refusal, match=rf"c.pt: not written .*; {remedy}.* and start the same command again, which resumes"
    ):
        save(tmp_path / "c.pt")


def truncate(path: Path) -> None:
    """As a disk that lost its end; other names of the same file lose it too."""
    os.truncate(path, path.stat().st_size // 2)


def run_in(folder: Path, **options) -> SimpleNamespace:
    """What of a run's checkpoint options matters here."""
    defaults = {"restore_file": "checkpoint_last.pt", "finetune_from_model": None, "no_save": False}
    return SimpleNamespace(**{"save_dir": str(folder), "no_last_checkpoints": False} | defaults | options)


def repair(folder: Path, **options) -> str | None:
    return recovery.checkpoint_to_resume(run_in(folder, **options))


def zeroed_and_cut(content: bytes) -> bytes:
    return bytes(len(content) // 4) + content[len(content) // 4 : -100]


LOST = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "zeros only": lambda content: bytes(len(content)),
    "zeroed head and cut end": zeroed_and_cut,
    "zeroed head": lambda content: bytes(4096) + content[4096:],
    "cut end": lambda content: content[: len(content) // 2],
}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
@pytest.mark.parametrize("sealed", [True, False], ids=["with a digest", "without"])
def test_what_a_crash_leaves_is_recognised_as_damaged(lost, sealed, tmp_path):
    path = tmp_path / "c.pt"
    save(path) if sealed else torch.save(STATE, path)
    path.write_bytes(lost(path.read_bytes()))
    with open(path, "rb") as file:
        assert digest.damage(file)


def test_a_checkpoint_of_an_old_torch_is_read(tmp_path):
    torch.save(STATE, tmp_path / "c.pt", _use_new_zipfile_serialization=False)
    assert update_of(tmp_path / "c.pt") == 7


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST)
def test_a_damaged_last_one_is_set_aside_for_the_newest_whole_one(lost, tmp_path, caplog):
    """The newest by its updates, whatever the times of the files and the order of their names."""
    for update in (9, 10, 11):
        save(tmp_path / f"checkpoint_1_{update}.pt", update)
        os.utime(tmp_path / f"checkpoint_1_{update}.pt", (20 - update, 20 - update))
    checkpoint_utils.PathManager.copy(str(tmp_path / "checkpoint_1_11.pt"), str(tmp_path / "checkpoint_last.pt"))
    damaged = lost((tmp_path / "checkpoint_last.pt").read_bytes())
    (tmp_path / "checkpoint_last.pt").write_bytes(damaged)  # its other name is the same file
    with caplog.at_level(logging.WARNING):
        assert repair(tmp_path) == str(tmp_path / "checkpoint_1_10.pt")
    assert update_of(tmp_path / "checkpoint_last.pt") == 10
    assert (tmp_path / "checkpoint_last.damaged.pt").read_bytes() == damaged
    (said,) = caplog.messages
    assert said.startswith(f"{tmp_path}/checkpoint_last.pt: damaged (") and said.endswith("from checkpoint_1_10.pt")
    assert repair(tmp_path) is None and len(caplog.messages) == 1  # nothing to do


@pytest.mark.parametrize("link", [False, True], ids=["missing", "dangling link"])
def test_a_missing_last_one_is_another_name_of_the_newest_whole_one(link, tmp_path, caplog):
    for name, update in (("checkpoint1.pt", 3), ("checkpoint_1_9.pt", 9), ("checkpoint_best.pt", 8)):
        save(tmp_path / name, update)
    truncate(tmp_path / "checkpoint_1_9.pt")
    if link:
        (tmp_path / "checkpoint_last.pt").symlink_to("nowhere.pt")
    with caplog.at_level(logging.WARNING):
        assert repair(tmp_path) == str(tmp_path / "checkpoint_best.pt")
    assert "the run resumes from checkpoint_best.pt" in caplog.text
    assert update_of(tmp_path / "checkpoint_last.pt") == 8 and not (tmp_path / "checkpoint_last.pt").is_symlink()


@pytest.mark.parametrize("options", [{"no_save": True}, {"no_last_checkpoints": True}])
def test_a_run_that_saves_no_last_one_makes_none(options, tmp_path):
    """It would stay as it is, and the next start would resume from it."""
    save(tmp_path / "checkpoint_1_2.pt", 2)
    assert repair(tmp_path, **options) == str(tmp_path / "checkpoint_1_2.pt") and len(names(tmp_path)) == 1


def test_a_folder_in_its_place_is_refused_with_the_checkpoint_to_resume_from(tmp_path):
    save(tmp_path / "checkpoint_1_2.pt", 2)
    (tmp_path / "checkpoint_last.pt").mkdir()
    with pytest.raises(Refusal, match="checkpoint_last.pt: a folder; the newest whole checkpoint is checkpoint_1_2.pt"):
        repair(tmp_path)


def test_without_a_whole_checkpoint_a_run_is_refused_and_never_starts_at_zero(tmp_path):
    save(tmp_path / "checkpoint_last.pt")
    truncate(tmp_path / "checkpoint_last.pt")
    with pytest.raises(Refusal, match="its end is missing.*; the folder has no other checkpoint; give another"):
        repair(tmp_path)
    assert names(tmp_path) == ["checkpoint_last.pt"]
    (tmp_path / "checkpoint_last.pt").rename(tmp_path / "checkpoint_1_9.pt")
    torch.save(STATE, tmp_path / "checkpoint2.pt")  # of stock fairseq
    with pytest.raises(
        Refusal, match=r"last.pt: missing; no other one has a right digest \(newest: checkpoint2.pt\); rename"
    ):
        repair(tmp_path)
    assert names(tmp_path) == ["checkpoint2.pt", "checkpoint_1_9.pt"]


def test_a_damaged_checkpoint_does_not_count_as_the_newest_whole_one(tmp_path):
    for update in (1, 2):
        save(tmp_path / f"checkpoint_1_{update}.pt", update)
    file = tmp_path / "checkpoint_1_2.pt"
    raw = bytearray(file.read_bytes())
    raw[raw.index(torch.tensor(2000.0).numpy().tobytes())] ^= 1  # a bit of the weights
    file.write_bytes(raw)
    repair(tmp_path)
    assert update_of(tmp_path / "checkpoint_last.pt") == 1


def test_sharded_checkpoints_are_looked_at_by_each_rank_and_not_renamed(tmp_path):
    save(tmp_path / "checkpoint_1_2-shard1.pt", 2)
    save(tmp_path / "checkpoint_1_2-shard0.pt", 2)
    with pytest.raises(Refusal, match="checkpoint_last-shard1.pt: missing; the newest .* checkpoint_1_2-shard1.pt"):
        recovery.checkpoint_to_resume(run_in(tmp_path), "-shard1")
    assert len(names(tmp_path)) == 2


def test_checkpoints_of_another_run_are_not_taken_for_its_own(tmp_path):
    """A run whose state is sharded, one with another --checkpoint-suffix, and a copy under a name of the user's."""
    for name in ("checkpoint_last-shard0.pt", "checkpoint_1_50-shard0.pt", "checkpoint_best-b.pt", "checkpoint_old.pt"):
        save(tmp_path / name, 50)
    assert repair(tmp_path) is None and len(names(tmp_path)) == 4
    best = tmp_path / "checkpoint.best_loss_-2.3450.pt"
    save(best, 5)
    assert repair(tmp_path) == str(best) and update_of(tmp_path / "checkpoint_last.pt") == 5
    assert recovery.checkpoint_to_resume(run_in(tmp_path), "-c") is None


def test_a_new_run_is_left_to_begin(tmp_path):
    assert repair(tmp_path / "not yet") is None
    torch.save(STATE, tmp_path / "checkpoint.pt")  # what it begins with
    assert repair(tmp_path, finetune_from_model=str(tmp_path / "checkpoint.pt")) is None


@pytest.mark.parametrize("rank, ending", [(0, Refusal), (1, SystemExit)])
def test_the_first_rank_says_it_and_all_end(rank, ending, tmp_path, monkeypatch):
    def broadcast(message, **_):
        return (True, None) if rank else message

    monkeypatch.setattr("fairseq.distributed.utils.broadcast_object", broadcast)
    trainer = SimpleNamespace(
        data_parallel_rank=rank, data_parallel_world_size=2, data_parallel_process_group=None, device="cpu"
    )

    def refuse():
        assert rank == 0
        raise Refusal("checkpoint_last.pt: repair it.")

    with pytest.raises(ending):
        recovery._on_first_rank(trainer, refuse)


def test_the_damages_have_all_that_a_crash_of_the_machine_leaves():
    """No byte, one byte, zeros alone, and a zeroed head with a cut end."""
    content, draw = bytes(range(1, 200)), random.Random(0)
    left = [lost_in_a_crash(content, draw, Path()) for _ in range(50)]
    assert {b"", content[:1], bytes(len(content))} <= set(left) and lost_in_a_crash in DAMAGES
    assert any(len(one) < len(content) and one[:2] == bytes(2) and any(one) for one in left)
