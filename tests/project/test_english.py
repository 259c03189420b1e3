"""Plain English: the README is short, sentences of docs and docstrings are short, and so is the help of options."""

import argparse
import ast
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from alibert.cli import VERBS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MOST_LINES = 150  # of the README
MOST_WORDS = 35  # of a sentence; 20 is the rule
MOST_WORDS_OF_HELP = 25
PACKAGES = ("alibert", "alibert_common", "alibert_fairseq", "downstream", "fairseq_compat", "preprocess")
COMMANDS = (
    "preprocess.check_anonymity",
    "preprocess.ingest", "preprocess.clean", "preprocess.pseudonymise",
    "preprocess.deduplicate", "preprocess.mix", "preprocess.train_tokenizer",
    "preprocess.compare_tokenizers", "preprocess.binarize", "preprocess.corpus", "alibert_fairseq.launch",
    "alibert_fairseq.hf.export", "alibert_fairseq.hf.load", "downstream.finetune", "downstream.search",
    "downstream.evaluate", "downstream.report", "downstream.tag", "downstream.masked_words", "downstream.curves",
)  # fmt: skip


def sentences(text: str) -> Iterator[str]:
    """The sentences of a Markdown page. Code, tables, headings and targets of links are left out."""
    text = re.sub(r"^( *)```.*?^\1```", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\s*[|#>].*$", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`]*`", "x", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    for block in re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE):
        yield from re.split(r"(?<=[.!?:;])\s+", " ".join(block.split()))


def test_sentences_are_found():
    page = (
        "# Title\n\nOne two. Three `a b c`:\n\n```\ncode here\n```\n\n| a | b |\n\n- four five;\n- six [seven](x.md)."
    )
    assert list(filter(None, sentences(page))) == ["One two.", "Three x:", "four five;", "six [seven]."]


def test_the_readme_is_short(repository):
    assert len((repository / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_sentence_is_long(page):
    text = page.read_text(encoding="utf-8")
    assert [sentence for sentence in sentences(text) if len(sentence.split()) > MOST_WORDS] == []


def docstrings(node: ast.AST) -> Iterator[str]:
    """The docstrings of a module and of what is public in it, without rows of tables, which have two spaces."""
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
        yield re.sub(r"^.*  .*$", "", ast.get_docstring(node) or "", flags=re.MULTILINE)
    if isinstance(node, (ast.Module, ast.ClassDef)):
        for child in node.body:
            if not getattr(child, "name", "").startswith("_"):
                yield from docstrings(child)


def test_docstrings_are_found():
    code = '"""A.\n\nnone  a row\n"""\ndef b():\n  "B."\ndef _c():\n  "C."\nclass D:\n  def e(self):\n    "E."\n'
    assert list(docstrings(ast.parse(code))) == ["A.\n\n", "B.", "", "E."]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_sentence_of_a_docstring_is_long(package):
    long = [
        (path, sentence)
        for path in sorted((ROOT / package).rglob("*.py"))
        for docstring in docstrings(ast.parse(path.read_text(encoding="utf-8")))
        for sentence in sentences(docstring)
        if len(sentence.split()) > MOST_WORDS
    ]
    assert long == []


def parsers(command: str, monkeypatch: pytest.MonkeyPatch) -> list[argparse.ArgumentParser]:
    """The parser of a command and those of its subcommands."""
    found: list[argparse.ArgumentParser] = []
    monkeypatch.setattr(sys, "argv", [command, "--help"])
    monkeypatch.setattr(argparse.ArgumentParser, "print_help", lambda self, file=None: found.append(self))
    with pytest.raises(SystemExit):
        runpy.run_module(command, run_name="__main__", alter_sys=True)
    subcommands = [action for action in found[0]._actions if isinstance(action, argparse._SubParsersAction)]
    return found + [parser for action in subcommands for parser in action.choices.values()]


def options_in_docs(command: str) -> set[str]:
    """The long options that README and docs give to a command; for `launch` those before `--`."""
    verbs = [re.escape(name) for name, verb in VERBS.items() if verb.runs == command]
    call = re.compile(
        rf"(?:alibert (?:{'|'.join(verbs)})|python -m {re.escape(command)})(?![\w.-])((?:[^`\n|#>&;]|\\\n)*)"
    )
    given = [arguments for page in PAGES for arguments in call.findall(page.read_text(encoding="utf-8"))]
    return {
        word for arguments in given for word in re.findall(r"(?<![\w-])--[a-z][\w-]+", arguments.partition(" -- ")[0])
    }


def test_the_docs_use_verbs_that_exist():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    used = set(re.findall(r"^(?:!|\$ )?alibert ([a-z][\w-]*)|`alibert ([a-z][\w-]*)", text, re.MULTILINE))
    assert len(used) > 12 and {one or other for one, other in used} - set(VERBS) == set()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # runpy: the module was imported before
@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_an_option_is_short(command, monkeypatch):
    helps = {
        "/".join(action.option_strings) or action.dest: action.help
        for parser in parsers(command, monkeypatch)
        for action in parser._actions
        if action.help and action.help != argparse.SUPPRESS
    }
    known = {name for parser in parsers(command, monkeypatch) for name in parser._option_string_actions}
    assert sorted(options_in_docs(command) - known) == [], "options that the documentation uses"
    found = {option: text for option, text in helps.items() if len(text.split()) > MOST_WORDS_OF_HELP}
    assert len(helps) > 2
    assert found == {}
