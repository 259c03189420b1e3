"""Masked words by either major version of transformers: the same report."""

import json
import os
import subprocess
import sys

import pytest
from published_models import write_model

QUESTIONS = "Le patient présente une [MASK] forte.\tdouleur\nTraité par [MASK] depuis.\tparacétamol\n"
PROGRAM = """
import runpy, sys, transformers
assert transformers.__version__.startswith(sys.argv.pop(1))
runpy.run_module("downstream.masked_words", run_name="__main__")
"""


@pytest.mark.skipif(
    not os.environ.get("ALIBERT_TRANSFORMERS_4"), reason="no folder with transformers 4 (recipes/test.sh)"
)
def test_both_majors_of_transformers_write_the_same(tmp_path, repository):
    (tmp_path / "s.tsv").write_text(QUESTIONS, encoding="utf-8")
    models = [f"--model={write_model(tmp_path / family, family)}" for family in ("roberta", "electra")]
    written = {}
    for major, path in (("5.", ""), ("4.", os.environ["ALIBERT_TRANSFORMERS_4"])):
        environment = os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{repository}"}
        command = [sys.executable, "-c", PROGRAM, major, *models, "--sentences", "s.tsv", "--output", major]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
        written[major] = json.loads((tmp_path / major / "masked_words.json").read_text(encoding="utf-8"))
    assert len(written["5."]["rows"]) == 2 and written["5."]["models"]["electra"]["note"]
    for new, old in zip(written["5."].pop("rows"), written["4."].pop("rows"), strict=True):
        for name, answer in new["answers"].items():
            other = old["answers"][name]
            assert [one["word"] for one in answer["top"]] == [one["word"] for one in other["top"]]
            assert answer["expected_rank"] == other["expected_rank"] is not None
            assert answer["expected_score"] == pytest.approx(other["expected_score"], rel=1e-4)
    assert written["5."] == written["4."]
