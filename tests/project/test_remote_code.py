"""No folder that transformers loads may run code of its own: every call says trust_remote_code=False."""

import ast

PACKAGES = ("alibert", "alibert_common", "fairseq_compat", "preprocess", "alibert_fairseq", "downstream")
LOADS = {"from_pretrained", "from_config"}
OTHERS = {"nn.Embedding", "hub_utils"}  # of torch and fairseq: no transformers


def unsafe_calls(source: str) -> list[int]:
    """The lines of calls that load a folder and do not refuse its code."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOADS
        and ast.unparse(node.func.value) not in OTHERS
        and not any(
            word.arg == "trust_remote_code" and isinstance(word.value, ast.Constant) and word.value.value is False
            for word in node.keywords
        )
    ]


def allowed_code(source: str) -> list[int]:
    """The lines of calls, of any function, that allow the code of a folder."""
    return [
        node.value.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.keyword) and node.arg == "trust_remote_code"
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]  # fmt: skip


def test_every_loading_call_refuses_code_of_the_folder(repository):
    files = [file for package in PACKAGES for file in sorted((repository / package).rglob("*.py"))]
    found = {str(file.relative_to(repository)): unsafe_calls(file.read_text(encoding="utf-8")) for file in files}
    assert {file: lines for file, lines in found.items() if lines} == {}
    assert [str(file) for file in files if allowed_code(file.read_text(encoding="utf-8"))] == []


def test_an_unsafe_call_is_found():
    assert allowed_code("pipeline(task, trust_remote_code=True)\npipeline(task, trust_remote_code=False)") == [1]
    assert unsafe_calls("AutoConfig.from_pretrained(folder)\nnn.Embedding.from_pretrained(rows)\n") == [1]
    assert unsafe_calls(
        "Auto.from_config(c, trust_remote_code=True)\nAuto.from_config(c, trust_remote_code=False)"
    ) == [1]
