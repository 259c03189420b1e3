"""Masked words by either major version of transformers: the same report."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import transformers
from published_models import write_model

from downstream.masked_words.__main__ import main

QUESTIONS = "Le patient présente une [MASK] forte.\tdouleur\nTraité par [MASK] depuis.\tparacétamol\n"
PROGRAM = """
import sys, transformers
from downstream.masked_words.__main__ import main
assert transformers.__version__.startswith("4.")
main(sys.argv[1:])
"""


@pytest.mark.skipif(
    not os.environ.get("ALIBERT_TRANSFORMERS_4"), reason="no folder with transformers 4 (recipes/test.sh)"
)
def test_both_majors_of_transformers_write_the_same(tmp_path, repository, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.tsv").write_text(QUESTIONS, encoding="utf-8")
    words = [f"--model={write_model(tmp_path / family, family)}" for family in ("roberta", "electra")]
    words += ["--sentences", "s.tsv", "--output"]
    assert transformers.__version__.startswith("5.")
    main([*words, "5."])
    environment = os.environ | {"PYTHONPATH": f"{os.environ['ALIBERT_TRANSFORMERS_4']}{os.pathsep}{repository}"}
    subprocess.run([sys.executable, "-c", PROGRAM, *words, "4."], env=environment, check=True, capture_output=True)
    written = {major: json.loads(Path(major, "masked_words.json").read_text("utf-8")) for major in ("5.", "4.")}
    assert len(written["5."]["rows"]) == 2 and written["5."]["models"]["electra"]["note"]
    for new, old in zip(written["5."].pop("rows"), written["4."].pop("rows"), strict=True):
        for name, answer in new["answers"].items():
            other = old["answers"][name]
            assert [one["word"] for one in answer["top"]] == [one["word"] for one in other["top"]]
            assert answer["expected_rank"] == other["expected_rank"] is not None
            assert answer["expected_score"] == pytest.approx(other["expected_score"], rel=1e-4)
    assert written["5."] == written["4."]
