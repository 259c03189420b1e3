"""docs/reference/corpora.md: every command is one that ingest takes, and every format has its row."""

import re
import shlex

from preprocess.documents.filters import MetadataFilter
from preprocess.ingest import command_line
from preprocess.readers import FORMATS
from preprocess.readers.arguments import read_options_of


def test_every_command_of_the_page_is_taken(repository):
    page = (repository / "docs" / "reference" / "corpora.md").read_text(encoding="utf-8")
    commands = [shlex.split(span) for span in re.findall(r"`(ingest [^`]+)`", page)]
    assert len(commands) > 15
    for command in commands:
        options = command_line().parse_args([*command[1:], "--output", "x.jsonl.zst"])
        read_options_of(options)
        assert all(MetadataFilter.parse(condition) for condition in options.where)
    conditions = re.findall(r"`--where \"?([^`\"]+)\"?`", page)
    assert len(conditions) >= 3 and all(map(MetadataFilter.parse, conditions))


def test_every_format_has_its_row(repository):
    page = (repository / "docs" / "reference" / "corpora.md").read_text(encoding="utf-8")
    table = page.partition("## Formats")[2].partition("\n\nAll but")[0]
    named = {name for row in re.findall(r"^\| ([a-z0-9, ]+) \|", table, re.MULTILINE) for name in row.split(", ")}
    assert named == set(FORMATS)
