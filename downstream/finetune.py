"""Fine-tune a Hugging Face encoder on a task and score it: `python -m downstream.finetune RECIPE --model DIR`.

With --baseline NAME in place of the model, score what it has to beat (docs/downstream/baselines.md). The output folder
is described in downstream/experiment/run.py. A second call with the same settings resumes.
"""

from alibert_common.errors import exit_with_sentence
from downstream.run_config import build_parser, run_config


def main(argv: list[str] | None = None) -> None:
    """The command; `argv` in place of the process's arguments."""
    args = build_parser().parse_args(argv)
    config = run_config(args)
    if args.check:
        from downstream.experiment.check import check  # here: this needs no torch

        print(check(config))
    else:
        from downstream.experiment.set_up import fine_tune  # here: torch takes seconds, and bad options need none

        print(fine_tune(config))


if __name__ == "__main__":
    exit_with_sentence(main)
