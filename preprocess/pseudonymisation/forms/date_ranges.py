"""Days that share the month or the year of the date behind them: "du 3 au 7 mars 2023", "03/03-07/03/2023"."""

import datetime
import re

from preprocess.pseudonymisation.forms.written_dates import WrittenDate
from preprocess.readers.dates import MONTH_NAMES

DAY, MONTH = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
FIRST = re.compile(rf"(?P<day>{DAY})(?:er)?(?:/(?P<month>{MONTH}))?(?![\d/])", re.IGNORECASE)
SPACES = "[ \u00a0]*"
FIRSTS = rf"(?:{DAY}(?:er)?(?:/{MONTH})?{SPACES}(?:,|et|ou|au|à|-|–){SPACES}(?:le )?)+"
BEFORE = re.compile(rf"(?<!\w)(?:du|les?|entre|au)[ \u00a0]+(?:le )?(?P<days>{FIRSTS})$", re.IGNORECASE)
WHOLE = re.compile(rf"(?P<days>{FIRSTS})(?P<last>.+)", re.IGNORECASE)
REACH = 45  # characters before a date


def start_of_range(text: str, date: WrittenDate, start: int, end: int) -> int:
    """Where the days before a date that begins at `start` begin; not before `end`, the end of the date before it."""
    found = BEFORE.search(text, max(end, start - REACH), start) if date.day and date.month else None
    return found.start("days") if found else start


def moved_days(firsts: str, last: WrittenDate, moved: WrittenDate, days: int) -> str:
    """The days before a date, moved like it: with a month of their own where it becomes another one than that of
    `moved`."""

    def other(found: re.Match[str]) -> str:
        day = _date_of(int(found["day"]), int(found["month"] or 0), last) + datetime.timedelta(days)
        if found["month"]:
            return f"{day.day:02}/{day.month:02}"
        written = f"{day.day:02}" if found["day"].startswith("0") else f"{day.day}"
        written = "1er" if day.day == 1 and last.part("name") else written
        if day.month == moved.month:
            return written
        return f"{written} {MONTH_NAMES['French'][day.month - 1]}" if last.part("name") else f"{day:%d/%m}"

    return FIRST.sub(other, firsts)


def _date_of(day: int, month: int, last: WrittenDate) -> datetime.date:
    """The last such day before a date. Raises ValueError for a day that the calendar does not have."""
    assert last.month and last.day
    year = last.year or last.assumed_year
    month = month or (last.month if day <= last.day else last.month - 1 or 12)
    return datetime.date(year - (month > last.month), month, day)
