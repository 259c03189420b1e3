"""No model folder brings code that is run: every from_pretrained of transformers says so."""

import ast
from pathlib import Path

import pytest

OTHERS = {"nn.Embedding", "hub_utils"}  # whose from_pretrained is not that of transformers


def calls_that_may_run_code(file: Path) -> list[str]:
    """The calls of from_pretrained without trust_remote_code=False."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr != "from_pretrained" or ast.unparse(node.func.value) in OTHERS:
            continue
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        if given.get("trust_remote_code") != "False":
            found.append(f"{file}:{node.lineno}: {ast.unparse(node.func)}")
    return found


@pytest.mark.parametrize("package", ["alibert_fairseq"])
def test_no_folder_brings_code_that_is_run(package, repository):
    files = sorted((repository / package).rglob("*.py"))
    assert [call for file in files for call in calls_that_may_run_code(file)] == []


def test_a_call_that_leaves_it_open_is_found(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(
        "A.from_pretrained(f)\nA.from_pretrained(f, trust_remote_code=False)\nnn.Embedding.from_pretrained(x)"
    )
    assert calls_that_may_run_code(file) == [f"{file}:1: A.from_pretrained"]
