"""fairseq's options on a machine without TPU, and its commands that end in one sentence."""

import sys
from contextlib import contextmanager
from typing import NoReturn

from fairseq_compat.errors import Refusal
from fairseq_compat.module_proxy import in_place_in
from fairseq_compat.processes.ending import ending_in_one_sentence


@contextmanager
def bf16_without_tpu(module):
    """After `fairseq.options` ran: `--bf16` no longer implies `--tpu`; what half precision cannot do is refused."""
    yield
    import torch

    @in_place_in(module)
    def parse_args_and_arch(original, parser, input_args=None, *rest, **options):
        parsed = original(parser, input_args, *rest, **options)
        args = parsed[0] if isinstance(parsed, tuple) else parsed
        if getattr(args, "fp16", False) and (args.cpu or not torch.cuda.is_available()):
            refuse_fp16()
        if getattr(args, "store_ema", False) and (args.fp16 or args.bf16) and not args.ema_fp32:
            raise Refusal("--store-ema: in half precision an average rounds its updates away; add --ema-fp32.")
        if getattr(args, "store_ema", False) and not 0 <= args.ema_decay < 1:
            raise Refusal(f"--ema-decay {args.ema_decay} is not in [0, 1); leave it out for 0.9999.")
        if getattr(args, "bf16", False):
            args.tpu = "--tpu" in (sys.argv[1:] if input_args is None else input_args)
        return parsed


def refuse_fp16() -> NoReturn:
    """Raise Refusal: fairseq flattens parameters, and clears an overflow, on a GPU only."""
    raise Refusal("--fp16 needs a GPU; on a CPU use --bf16, or neither for full precision.")


@contextmanager
def refusals_in_one_sentence(module):
    """After a module of `fairseq_cli` ran: its command prints a refusal as one sentence and exits with status 2."""
    yield
    if hasattr(module, "cli_main"):
        module.cli_main = ending_in_one_sentence(module.cli_main)
