"""Changing one piece of the code after the other, each on a copy of the checkout, to see that a test fails then."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutation(NamedTuple):
    """What is bad, the file, a piece of its text that occurs once, what takes its place, the test that must fail."""

    bad: str
    file: str
    text: str
    instead: str
    test: str


def is_green(checkout: Path, test: str) -> bool:
    """Whether the tests pass on the copy, which stands before the installed project on the path."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *test.split()]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{test}: pytest did not run.\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


def try_all(mutations: list[Mutation], bad: str, place: str, words: list[str]) -> int:
    """Try every mutation that `words` name; print a Markdown table; return the number of tests that stayed green."""
    stayed_green = 0
    print(f"| {bad} | {place} | test | the test |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        checkout = shutil.copytree(
            ROOT, Path(folder) / "checkout", ignore=shutil.ignore_patterns(".git", ".venv", "runs"), symlinks=True
        )
        for one in (one for one in mutations if all(word in one.bad for word in words)):
            file = checkout / one.file
            before = file.read_text(encoding="utf-8")
            assert before.count(one.text) == 1, f"{one.file}: {one.text!r} occurs {before.count(one.text)} times"
            file.write_text(before.replace(one.text, one.instead), encoding="utf-8")
            green = is_green(checkout, one.test)
            file.write_text(before, encoding="utf-8")
            stayed_green += green
            test = one.test.split()[0]
            print(f"| {one.bad} | {one.file} | {test} | {'PASSES' if green else 'fails'} |", flush=True)
    return stayed_green
