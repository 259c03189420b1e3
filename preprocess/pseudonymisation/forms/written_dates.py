"""A date as a clinical note writes it, and another date in the same form."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from preprocess.readers.dates import MONTH_NAMES, MONTHS, UNACCENTED

DAYS_OF_MONTH, DAYS_OF_YEAR = 30.4375, 365.25  # means of the Julian calendar
WEEKDAYS = (
    "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "lun mar mer jeu ven sam dim".split(),
)
SHORT_FORMS = {"fév": 2, "fev": 2, "juill": 7}  # of hospitals; no corpus dates its texts with them
ALL_MONTHS = MONTHS | SHORT_FORMS
CENTURY = 69  # of two digits: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068, as POSIX reads them
USUAL_YEAR, LEAP_YEAR = 2001, 2004  # of a day without a year


@dataclass(frozen=True)
class WrittenDate:
    """A date and its words: `parts` maps "weekday", "day", "month", "name" and "year" to their places in `text`."""

    text: str
    parts: Mapping[str, tuple[int, int]]

    def part(self, name: str) -> str | None:
        """The words of a part, None where the date has no such part."""
        return self.text[slice(*self.parts[name])] if name in self.parts else None

    @property
    def day(self) -> int | None:
        """The day of the month."""
        found = self.part("day")
        return int(found.removesuffix("er")) if found else None

    @property
    def month(self) -> int | None:
        """The month; None in a year alone."""
        name, number = self.part("name"), self.part("month")
        return ALL_MONTHS[name.lower()] if name else int(number) if number else None

    @property
    def year(self) -> int | None:
        """The year, in four digits."""
        year = self.part("year")
        if year is None:
            return None
        return int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= CENTURY else 2000)

    @property
    def assumed_year(self) -> int:
        """The year of a day that has none."""
        return LEAP_YEAR if (self.day, self.month) == (29, 2) else USUAL_YEAR

    def is_possible(self) -> bool:
        """Whether the calendar has this day and this month."""
        try:
            datetime.date(self.year or LEAP_YEAR, self.month or 1, self.day or 1)
        except ValueError:
            return False
        return True

    def moved(self, days: int) -> str | None:
        """The date after a number of days, in the same form. None beyond the years 1 to 9999.

        A month without a day moves by the days rounded to months, a year alone by the days rounded to years. A day
        without a year moves as in a year of 365 days. The name of a weekday moves by the days.
        """
        try:
            date = self._after(days)
        except (ValueError, OverflowError):
            return None
        written: dict[str, Callable[[str], str]] = {
            "weekday": lambda old: _weekday(old, days),
            "day": lambda old: self._day(old, date.day),
            "month": lambda old: f"{date.month:02}" if self._is_padded(old) else f"{date.month}",
            "name": lambda old: _month(old, date.month, self.text[self.parts["name"][1] :].startswith(".")),
            "year": lambda old: f"{date.year % 10 ** len(old):0{len(old)}}",
        }
        text = self.text
        for name, (start, end) in sorted(self.parts.items(), key=lambda part: part[1], reverse=True):
            text = text[:start] + written[name](self.text[start:end]) + text[end:]
        return text

    def _after(self, days: int) -> datetime.date:
        year, month, day = self.year, self.month, self.day
        if day is not None and month is not None:
            return datetime.date(year or self.assumed_year, month, day) + datetime.timedelta(days)
        if month is not None:
            count = (year or USUAL_YEAR) * 12 + month - 1 + round(days / DAYS_OF_MONTH)
            return datetime.date(count // 12, count % 12 + 1, 1)
        return datetime.date((year or USUAL_YEAR) + round(days / DAYS_OF_YEAR), 1, 1)

    def _day(self, old: str, day: int) -> str:
        if "name" in self.parts and day == 1 and not old.startswith("0") and self._is_french():
            return "1er"
        return f"{day:02}" if self._is_padded(old) else f"{day}"

    def _is_padded(self, old: str) -> bool:
        """Whether 4 is written 04: where this date does, or could not show it; beside the name of a month it is not."""
        numbers = [self.part(name) or "" for name in ("day", "month")]
        if old.startswith("0") or any(number.startswith("0") for number in numbers):
            return True
        return "name" not in self.parts and all(len(number) != 1 for number in numbers)

    def _is_french(self) -> bool:
        name = (self.part("name") or "").lower()
        return _style(name, False).startswith("French")


def _style(name: str, with_point: bool) -> str:
    """The names to which a month's name belongs. Of two it is the longer, but a point follows short ones only."""
    order = ("French, short", "English, short", "French", "English") if with_point else MONTH_NAMES
    for style in order:
        if name in MONTH_NAMES[style] or name in (month.translate(UNACCENTED) for month in MONTH_NAMES[style]):
            return style
    return "French, short"


def _month(old: str, month: int, with_point: bool) -> str:
    lowered = old.lower()
    name = MONTH_NAMES[_style(lowered, with_point)][month - 1]
    usual = MONTH_NAMES["French"][ALL_MONTHS[lowered] - 1]
    if old.isupper() or (lowered.isascii() and not usual[: len(old)].isascii()):
        name = name.translate(UNACCENTED)
    return _in_case(old, name)


def _weekday(old: str, days: int) -> str:
    names = next(names for names in WEEKDAYS if old.lower() in names)
    return _in_case(old, names[(names.index(old.lower()) + days) % 7])


def _in_case(old: str, new: str) -> str:
    return new.upper() if old.isupper() else new.capitalize() if old[0].isupper() else new


def written_date(found: re.Match) -> WrittenDate:
    """The date of a match whose groups have the names of the parts; the group `_` is what stands between them."""
    start = found.start()
    parts = {
        name: (found.start(name) - start, found.end(name) - start)
        for name in found.re.groupindex
        if name != "_" and found[name] is not None
    }
    return WrittenDate(found[0], parts)
