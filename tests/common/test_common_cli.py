"""Options that several commands have."""

from pathlib import Path

import pytest

from alibert_common.cli import Option, OptionParser, named
from alibert_common.errors import InputError


def test_a_path_that_is_there_may_have_a_sign_in_it_that_follows_a_name(tmp_path):
    folder = tmp_path / "task-epochs=3-m"
    folder.mkdir()
    assert named([str(folder), f"m={folder}"], "--model", True) == {"task-epochs=3-m": folder, "m": folder}
    assert named([f"a={folder}"], "--text", False) == {"a": folder}
    for wrong, default_names in ((str(tmp_path), False), ("=x", True), ("x=", True), ("", True)):
        with pytest.raises(InputError, match="write NAME=PATH"):
            named([wrong], "--model", default_names)


def test_a_parser_knows_its_options_wherever_they_were_added():
    parser = OptionParser()
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--also", "--and", nargs="+", type=Path)
    group = parser.add_argument_group("group", "about it")
    group.add_argument("--where", action="append")
    parser.add_mutually_exclusive_group().add_argument("--quick", action="store_true")
    assert parser.options == {
        "-h": Option("help", None, True, False, False),
        "--help": Option("help", None, True, False, False),
        "--also": Option("also", Path, False, True, False),
        "--and": Option("also", Path, False, True, False),
        "--where": Option("where", None, False, False, True),
        "--quick": Option("quick", None, True, False, False),
    }
    options = parser.parse_args(["a", "--and", "b", "c", "--where", "d", "--where", "e", "--quick"])
    assert (options.paths, options.also, options.where, options.quick) == (
        ["a"], [Path("b"), Path("c")], ["d", "e"], True
    )  # fmt: skip
