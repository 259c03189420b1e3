"""What the code on the cards of fine-tuned models answers: run in this process, or in one with another transformers.

    python -m card_code MAJOR RUN...

prints, as JSON, the answers of each run's model to the inputs.json beside it.
"""

import json
import os
import re
import sys
from pathlib import Path

import transformers

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def code_of(run: Path) -> str:
    """The one block of Python on the card."""
    [code] = BLOCK.findall((run / "model" / "README.md").read_text(encoding="utf-8"))
    return code


def answers(run: Path) -> list:
    """Of `answer`, which the card defines and calls once by itself."""
    names: dict = {}
    before = Path.cwd()
    os.chdir(run)
    try:
        exec(code_of(run), names)
    finally:
        os.chdir(before)
    return [names["answer"](*one) for one in json.loads((run / "inputs.json").read_text(encoding="utf-8"))]


if __name__ == "__main__":
    assert transformers.__version__.startswith(sys.argv[1] + ".")
    found = [answers(Path(run)) for run in sys.argv[2:]]
    print(json.dumps(found))
