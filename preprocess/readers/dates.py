"""Dates as corpora write them, in ISO 8601."""

import datetime
import re

# Each in the order of the calendar. A name is known by as many of its letters as tell it from the others.
MONTH_NAMES = {
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "French, short": "janv févr mars avr mai juin juil août sept oct nov déc".split(),
    "English": "january february march april may june july august september october november december".split(),
    "English, short": "jan feb mar apr may jun jul aug sep oct nov dec".split(),  # those of PubMed
}
UNACCENTED = str.maketrans("éû", "eu")
MONTHS = {
    name: number
    for names in MONTH_NAMES.values()
    for number, accented in enumerate(names, 1)
    for name in (accented, accented.translate(UNACCENTED))
}
ORDERS = (
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)",  # 20230214
    r"(?P<year>\d{4})(?:[-/. ](?P<month>\d{1,2})(?:[-/. ](?P<day>\d{1,2}))?)?(?:[T ]\d\d:.*)?",  # 2023-2-14T08:30:00Z
    r"(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.](?P<year>\d{4})",  # 14/02/2023: the day first, as in French
    r"(?:(?P<day>\d{1,2})(?:er)? )?(?P<name>[^\W\d]+)\.? (?P<year>\d{4})",  # 1er février 2023, Feb 2023
    r"(?P<year>\d{4}) (?P<name>[^\W\d]+)\.?(?: (?P<day>\d{1,2}))?(?:-.*)?",  # 2023 Feb 14, 2023 Feb-Mar
)
PATTERNS = tuple(re.compile(order) for order in ORDERS)


def iso_date(text: str) -> str:
    """2023, 2023-02 or 2023-02-14. What has none of the known forms, or is no day of the calendar, is given back."""
    text = " ".join(text.split())
    for pattern in PATTERNS:
        if found := pattern.fullmatch(text):
            return _written(found.groupdict()) or text
    return text


def _written(parts: dict[str, str]) -> str | None:
    year, day = int(parts["year"]), parts.get("day")
    month = MONTHS.get(parts["name"].lower()) if parts.get("name") else parts.get("month")
    if not month:
        return None if parts.get("name") else f"{year:04}"
    try:
        date = datetime.date(year, int(month), int(day or 1))
    except ValueError:
        return None
    return date.isoformat() if day else f"{date:%Y-%m}"
