"""Options that several commands have."""

import pytest

from alibert_common.cli import named
from alibert_common.errors import InputError


def test_a_path_that_is_there_may_have_a_sign_in_it_that_follows_a_name(tmp_path):
    folder = tmp_path / "task-epochs=3-m"
    folder.mkdir()
    assert named([str(folder), f"m={folder}"], "--model", True) == {"task-epochs=3-m": folder, "m": folder}
    assert named([f"a={folder}"], "--text", False) == {"a": folder}
    for wrong, default_names in ((str(tmp_path), False), ("=x", True), ("x=", True), ("", True)):
        with pytest.raises(InputError, match="write NAME=PATH"):
            named([wrong], "--model", default_names)
