"""Running the commands a user would run."""

import subprocess
from pathlib import Path


def run(*command, cwd: Path, **options) -> str:
    """Run a command from another directory than the repository's; its output, or a failed test with it."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}"
    return done.stdout
