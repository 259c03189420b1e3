"""Text that Markdown shows as it is."""

import html
import re

# An underscore inside a word is plain as it is, and so are brackets after which no link can follow: names of tasks and
# intervals stay readable in the source.
SPECIAL = re.compile(r"[\\|*`~]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])")


def escaped(text: str) -> str:
    """On one line, and nothing in it is taken for HTML, for a border of a table, for emphasis or for a link."""
    return SPECIAL.sub(r"\\\g<0>", html.escape(" ".join(text.split()), quote=False))
