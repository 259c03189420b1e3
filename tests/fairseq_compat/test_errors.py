"""What a training says that a worker, a port or another process has brought to its end."""

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
import torch
from fairseq.logging import metrics
from torch.multiprocessing import ProcessExitedException

from fairseq_compat import command_line
from fairseq_compat.checkpoints.saving import whole_or_refused
from fairseq_compat.errors import Refusal
from fairseq_compat.processes import ending, last_words, peer_failure
from fairseq_compat.processes import store as store_module
from fairseq_compat.processes.distributed import gpu_of
from fairseq_compat.processes.store import allow_many_files, own_connection

CLOSED = "[../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:3141"


@pytest.fixture
def two_processes(monkeypatch):
    """As if this were the second of two."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)


def error_of(dataset) -> Exception:
    """What reading it in a worker ends in; in a thread, as fairseq does it."""
    errors = []

    def read():
        try:
            list(torch.utils.data.DataLoader(dataset, num_workers=1))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    return errors[0]


@pytest.mark.parametrize("again", range(6))
def test_a_worker_that_was_killed_is_named_with_its_signal(again):
    """Also when its batches were still on the way, as they are in one time of two."""

    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            if index == 4:
                os.kill(os.getpid(), signal.SIGKILL)
            return index

    sentence, code = last_words.last_words(error_of(Slow()))
    assert code == 75 and sentence.startswith("worker process ") and "fewer --num-workers" in sentence
    assert " of the data loader was killed by SIGKILL; give the job more memory" in sentence


def test_an_error_in_a_worker_is_the_programs():
    class Wrong(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            raise OSError("no such sample")

    error = error_of(Wrong())
    assert isinstance(error, OSError) and last_words.last_words(error) is None


def test_one_that_ended_otherwise():
    error = RuntimeError("DataLoader worker (pid(s) 99999998, 99999999) exited unexpectedly")
    assert (
        "worker process 99999998 of the data loader ended and worker process 99999999"
        in last_words.last_words(error)[0]
    )


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(CLOSED),
        ConnectionResetError("Connection reset by peer"),
        torch.distributed.DistBackendError("NCCL error: remote process exited or there was a network error"),
    ],
)
def test_a_lost_connection(error, two_processes):
    metrics.reset()
    first = str(error).partition("\n")[0][:200]
    expected = f"lost the connection to another process while it started ({first}); the one that failed first says why"
    assert last_words.last_words(error)[0].startswith(expected)
    metrics.log_scalar("num_updates", 16, weight=0)
    sentence, code = last_words.last_words(error)
    assert code == 75 and sentence.startswith("lost the connection to another process in update 17 (")
    state = metrics.state_dict()
    metrics.load_state_dict(state)  # as a run that goes on does
    metrics.log_scalar("num_updates", 17, weight=0)
    assert "to another process in update 18 (" in last_words.last_words(error)[0]
    metrics.reset()


@pytest.mark.parametrize(
    ("said", "other"),
    [
        ("CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be reported later", None),
        ("CUDA error: CUDA-capable device(s) is/are busy or unavailable", None),
        ("NCCL error in: ProcessGroupNCCL.cpp:1, unhandled cuda error (run with NCCL_DEBUG=INFO for details)", None),
        ("NCCL error: unhandled system error, NET/IB : Got completion from peer with status=12", None),
        ("NCCL communicator was aborted on rank 3.", "lost the connection to another process while it started (NCCL"),
        ("CUDA error: device-side assert triggered", "the program's"),
        ("CUDA error: invalid device ordinal", "the program's"),
    ],
)
def test_a_gpu_that_fails(said, other, two_processes):
    metrics.reset()
    found = last_words.last_words(RuntimeError(said))
    if other == "the program's":
        assert found is None
        return
    first = said.partition("\n")[0]
    assert found[1] == 75 and found[0].startswith(
        other or f"a GPU or the network of this node failed while it started ({first}); the same command resumes."
    )


def test_of_one_process_nothing_is_lost_and_other_errors_are_the_programs(two_processes, monkeypatch):
    assert last_words.last_words(RuntimeError("shapes do not fit")) is None
    assert last_words.last_words(ValueError(CLOSED)) is None
    invalid = "NCCL error: invalid usage, Duplicate GPU detected : rank 1 and rank 0 both on CUDA device"
    assert last_words.last_words(torch.distributed.DistBackendError(invalid)) is None
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: False)
    assert last_words.last_words(RuntimeError(CLOSED)) is None
    monkeypatch.setenv("WORLD_SIZE", "2")  # before they have met
    late = torch.distributed.DistNetworkError("The client socket has timed out after 1800000ms while trying to connect")
    assert last_words.last_words(late)[1] == 75


def test_a_port_in_use(monkeypatch):
    monkeypatch.setenv("MASTER_PORT", "29500")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(RuntimeError) as failed:
            torch.distributed.TCPStore("127.0.0.1", other.getsockname()[1], is_master=True, wait_for_workers=False)
    sentence, code = last_words.last_words(failed.value)
    assert code == 75 and sentence.startswith("the port 29500, ") and sentence.endswith("give another MASTER_PORT.")


def ended(error: BaseException, capsys) -> tuple[object, str]:
    """What a command that raises this ends with."""

    def cli_main():
        raise error

    module = SimpleNamespace(cli_main=cli_main)
    with command_line.refusals_in_one_sentence(module):
        pass
    with pytest.raises(SystemExit) as end:
        module.cli_main()
    return end.value.code, capsys.readouterr().err


def test_one_process_ends_as_ever(capsys):
    assert ended(Refusal("no."), capsys) == (2, "error: no.\n")
    assert ended(SystemExit("error: no."), capsys) == ("error: no.", "")
    assert ended(RuntimeError("DataLoader worker (pid 99999999) is killed by signal: Killed."), capsys)[0] == 75


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (Refusal("no."), 2, "no."),
        (SystemExit("error: no file."), 1, "no file."),
        (RuntimeError(CLOSED), 75, "lost the connection to another process"),
    ],
)
def test_one_of_several_says_which_it_is_and_tells_the_others(
    error, code, sentence, two_processes, monkeypatch, capsys
):
    told = []
    monkeypatch.setattr(ending, "report_failure", told.append)
    monkeypatch.setattr(ending, "_ending", threading.Lock())
    at_once = []
    monkeypatch.setattr(os, "_exit", lambda code: (at_once.append(code), sys.exit(code)))
    found, said = ended(error, capsys)
    place = f"rank 1 ({socket.gethostname()})"
    assert [found] == at_once == [code] and said.startswith(f"error: {place}: {sentence}") and told == [place]


def test_an_error_of_the_program_is_told_to_the_others_too(monkeypatch, capsys):
    """And of several processes, the one with the error ends at once, with its traceback."""
    monkeypatch.setattr(ending, "leave", lambda code: sys.exit(f"left with {code}"))
    with pytest.raises(ZeroDivisionError):
        ended(ZeroDivisionError(), capsys)
    monkeypatch.setattr(ending, "place", lambda: "rank 1 (n1)")
    code, said = ended(ZeroDivisionError("a mistake"), capsys)
    assert code == "left with 1" and said.startswith("Traceback") and said.endswith("ZeroDivisionError: a mistake\n")


@pytest.mark.parametrize(("code", "expected"), [(75, 75), (2, 2), (-9, 137)])
def test_what_a_process_that_fairseq_started_ended_with(code, expected, capsys):
    assert ended(ProcessExitedException("it ended", 1, 4711, code), capsys) == (expected, "")


@pytest.mark.parametrize(("number", "seen", "own"), [(0, 1, 0), (3, 1, 0), (3, 4, 3), (0, 0, 0), (2, 0, 2)])
def test_the_gpu_of_a_process(number, seen, own):
    assert gpu_of(number, seen) == own


def test_more_processes_than_gpus_are_refused():
    with pytest.raises(Refusal, match=r"process 3 of this node \(LOCAL_RANK.* sees 2 GPUs; start as many processes"):
        gpu_of(3, 2)


def test_the_others_end_when_one_has_failed(two_processes, monkeypatch):
    store = torch.distributed.HashStore()
    said = []
    monkeypatch.setattr(store_module, "store_of_processes", lambda: store)
    monkeypatch.setattr(peer_failure, "LOOK", 0.05)
    monkeypatch.setattr(peer_failure, "LATER", 0.05)
    monkeypatch.setattr(peer_failure, "end", lambda *arguments, **options: said.append((arguments, options)))
    lookout = peer_failure.Lookout(store)
    lookout.start()
    time.sleep(0.3)
    assert said == [] and lookout.is_alive()
    store_module.report_failure("rank 0 (n1)")
    lookout.join(5)
    store_module.report_failure("rank 2 (n1)")  # the first one counts
    assert store.get(peer_failure.FAILED) == b"rank 0 (n1)"
    assert said == [(("rank 0 (n1) has failed, and says why; the same command resumes.", 75), {"tell": False})]


def test_a_lookout_ends_with_the_training(monkeypatch):
    monkeypatch.setattr(peer_failure, "LOOK", 0.05)
    lookout = peer_failure.Lookout(torch.distributed.HashStore())
    lookout.start()
    peer_failure.Lookout.stop_all()
    assert not lookout.is_alive() and peer_failure.Lookout.all == []


def test_all_that_watches_shares_one_connection():
    """The first process keeps those of a thousand others, and needs a file for each."""
    server = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    second = own_connection(server)
    assert second is own_connection(server) and second is not server
    other = torch.distributed.HashStore()
    assert own_connection(other) is not second
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    allow_many_files()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)


def test_a_store_that_is_gone_is_the_end_after_a_while(monkeypatch):
    monkeypatch.setattr(peer_failure, "GRACE", 0.2)
    gone = SimpleNamespace(check=lambda keys: (_ for _ in ()).throw(RuntimeError("Broken pipe")))
    lookout = peer_failure.Lookout(gone)
    begun = time.monotonic()
    assert "rank 0, which keeps the store of the processes, is gone" == lookout.look()
    assert time.monotonic() - begun >= 0.2


def test_who_listens_is_asked():
    server = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    peer_failure.refuse_foreign_listener("127.0.0.1", server.port)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        peer_failure.refuse_foreign_listener("127.0.0.1", port)  # nobody listens: rank 0 may come later
        other.listen()
        with pytest.raises(Refusal, match=f"the program that listens at 127.0.0.1:{port}, .* is not torch"):
            peer_failure.refuse_foreign_listener("127.0.0.1", port, patience=0.5)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    module = SimpleNamespace(
        torch_persistent_save=None, _torch_persistent_save=None, torch=torch, PathManager=torch,
        verify_checkpoint_directory=lambda save_dir: None,
    )  # fmt: skip
    with whole_or_refused(module):
        pass
    module.verify_checkpoint_directory(str(tmp_path / "a" / "b"))
    assert list((tmp_path / "a" / "b").iterdir()) == []
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(Refusal, match=f"{tmp_path}/{place}: cannot be written .*; give another --save-dir"):
            module.verify_checkpoint_directory(str(tmp_path / place))


def test_the_processes_have_names_before_they_meet():
    words = "from fairseq_compat.processes.store import place; print(place())"
    for environment, expected in (({"RANK": "3", "WORLD_SIZE": "8"}, f"rank 3 ({socket.gethostname()})\n"), ({}, "\n")):
        done = subprocess.run(
            [sys.executable, "-c", words], env=os.environ | environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == expected
