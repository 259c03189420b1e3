"""Running the commands a user would run."""

import os
import subprocess
import sys
from pathlib import Path

import forked

OURS = ("preprocess", "alibert_fairseq", "downstream")


def run(*command, cwd: Path, env: dict | None = None) -> str:
    """Run a command from another directory than the repository's; its output, or a failed test with it.

    `python -m` with a module of ours runs in a forked child, without the seconds that imports take.
    """
    words = [str(part) for part in command]
    if words[:2] == [sys.executable, "-m"] and words[2].partition(".")[0] in OURS:
        return forked.run(*words, cwd=cwd, env=dict(os.environ if env is None else env))
    done = subprocess.run(words, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}"
    return done.stdout
