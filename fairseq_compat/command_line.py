"""fairseq's options on a machine without TPU, and its commands' last words."""

import functools
import multiprocessing
import os
import signal
import sys
import traceback
from contextlib import contextmanager

from fairseq_compat.errors import end, last_words, leave, place
from fairseq_compat.refusal import Refusal

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
SAYS = "error: "  # how the sentence begins that a plugin ends with, as the message of a SystemExit


@contextmanager
def bf16_without_tpu(module):
    """After `fairseq.options` ran: `--bf16` no longer implies `--tpu`, and `--fp16` without a GPU is refused."""
    yield
    original = module.parse_args_and_arch

    @functools.wraps(original)
    def parse_args_and_arch(parser, input_args=None, *rest, **options):
        parsed = original(parser, input_args, *rest, **options)
        args = parsed[0] if isinstance(parsed, tuple) else parsed
        _refuse_fp16_on_cpu(args)
        if getattr(args, "bf16", False):
            args.tpu = "--tpu" in (sys.argv[1:] if input_args is None else input_args)
        return parsed

    module.parse_args_and_arch = parse_args_and_arch


def _refuse_fp16_on_cpu(args) -> None:
    import torch

    if getattr(args, "fp16", False) and (args.cpu or not torch.cuda.is_available()):
        raise Refusal("--fp16 needs a GPU; on a CPU use --bf16, or neither for full precision.")


@contextmanager
def refusals_in_one_sentence(module):
    """After a module of `fairseq_cli` ran: its command prints a refusal as one sentence and exits with status 2.

    So it does with what `last_words` knows. Of several processes, each says which one it is.
    """
    yield
    original = getattr(module, "cli_main", None)
    if original is None:
        return

    module.cli_main = ending_in_one_sentence(original)


@contextmanager
def refusals_of_spawned_processes(module):
    """After `fairseq.distributed.utils` ran: the processes that fairseq itself starts, one a GPU, end so too."""
    yield
    original, call_main = module.distributed_main, module.call_main
    in_one_sentence = ending_in_one_sentence(original)

    @functools.wraps(original)
    def distributed_main(i, main, cfg, kwargs):
        spawned = not cfg.distributed_training.distributed_no_spawn
        return (in_one_sentence if spawned else original)(i, main, cfg, kwargs)

    @functools.wraps(call_main)
    def call_main_(cfg, main, **options):
        distributed = cfg.distributed_training
        if distributed.distributed_init_method is None:
            module.infer_init_method(distributed)
        if distributed.distributed_init_method is None or distributed.distributed_no_spawn:
            return call_main(cfg, main, **options)
        with signals_passed_on():
            return call_main(cfg, main, **options)

    module.distributed_main, module.call_main = distributed_main, call_main_


@contextmanager
def signals_passed_on():
    """A process that only waits for those it starts hands SIGTERM and SIGUSR2 on to them, and ends when they have.

    Ctrl-C reaches them without it; where it was for this process alone they get SIGTERM. A second one ends it.
    """
    interrupted = []

    def hand_on(number, frame):
        if number == signal.SIGINT:
            if interrupted:
                signal.default_int_handler(number, frame)
            interrupted.append(number)
            number = signal.SIGTERM
        children = multiprocessing.active_children()
        for child in children:
            os.kill(child.pid, number)
        if not children:
            sys.exit(128 + number)

    numbers = [number for number in PASSED_ON if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ending_in_one_sentence(function):
    """The function, which then ends its process."""

    @functools.wraps(function)
    def ended(*args, **options):
        try:
            return function(*args, **options)
        except Refusal as refusal:
            end(str(refusal), 2)
        except SystemExit as refused:
            if isinstance(refused.code, str) and refused.code.startswith(SAYS) and place():
                end(refused.code.removeprefix(SAYS), 1)
            raise
        except Exception as error:
            if type(error).__name__ == "ProcessExitedException":  # of torch's spawn; that process has said why
                sys.exit(error.exit_code if error.exit_code >= 0 else 128 - error.exit_code)
            words = last_words(error)
            if words is not None:
                end(*words)
            if not place():
                raise
            traceback.print_exc()
            leave(1)

    return ended
