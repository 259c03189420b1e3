"""JSON with a bound on its depth: Python's own reader and writer fail near 1,000 levels."""

import json
import re
from typing import Any

DEEPEST = 100  # levels of brackets
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # of a pair of surrogates, which JSON can spell and UTF-8 cannot


class TooDeepError(ValueError):
    """JSON with more levels than DEEPEST."""


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError for other text: TooDeepError, and UnicodeEncodeError for half
    a pair of surrogates."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise TooDeepError(f"more than {DEEPEST} levels of brackets") from None
    if text.count("[") + text.count("{") > DEEPEST and _levels(value) > DEEPEST:
        raise TooDeepError(f"more than {DEEPEST} levels of brackets")
    if "\\u" in text and HALF.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _levels(value: object) -> int:
    count, level = 0, [value]
    while level:
        count += 1
        inner = [item for item in level if isinstance(item, (dict, list))]
        level = [item for holder in inner for item in (holder.values() if isinstance(holder, dict) else holder)]
    return count
