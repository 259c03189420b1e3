"""Dates as clinical notes write them, and the same dates moved by a number of days."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from preprocess.pseudonymisation.clues import NUMBERS, Clues, words_of
from preprocess.pseudonymisation.forms.date_ranges import WHOLE, moved_days, start_of_range
from preprocess.pseudonymisation.forms.written_dates import ALL_MONTHS, WEEKDAYS, WrittenDate, written_date
from preprocess.pseudonymisation.spans import Span


class FoundDate(NamedTuple):
    """A date in a text. `written` has its day, month and year, and writes another date in the same form."""

    span: Span
    written: WrittenDate


NAMES = "|".join(sorted(ALL_MONTHS, key=len, reverse=True))
LONG_NAMES = [name for name in ALL_MONTHS if len(name) > 4] + ["mars", "mai", "juin", "août", "aout"]
DAY, MONTH, YEAR = r"(?P<day>0?[1-9]|[12]\d|3[01])", r"(?P<month>0?[1-9]|1[0-2])", r"(?P<year>(?:19|20)\d\d)"
DAY_OF_TWO, MONTH_OF_TWO = r"(?P<day>0[1-9]|[12]\d|3[01])", r"(?P<month>0[1-9]|1[0-2])"
DAY_OF_NAME = rf"(?P<day>(?:0?[1-9]|[12]\d|3[01])(?:er)?)[ \u00a0./-]{{1,2}}(?P<name>{NAMES})\b\.?"
UNIT = (
    r"[ \u00a0]?(?:[mµcdnp]?[glLm]\b|mg|UI|[cC][pP]|gel|kcal|cc\b|ans?\b|jours?|mois|heures?|h\b|%|kg|mmHg|cmHg|/|-?\d)"
)
ALONE = rf"(?![\d/]|[.,]\d|{UNIT})"  # no measure
AFTER = r"(?!\d|(?P=_)\d)"
# In the order in which they are tried, each where a number begins.
FROM_NUMBER = {
    "numbers": rf"{DAY}(?P<_> ?[/.-] ?){MONTH}(?P=_){YEAR}{AFTER}",  # 14/02/2023
    "ISO": rf"{YEAR}(?P<_>[-/.]){MONTH}(?P=_){DAY}(?:T\d\d[:h]\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?{AFTER}",
    "short year": rf"{DAY}(?P<_>/){MONTH}/(?P<year>\d\d){AFTER}(?!\w)",  # 14/02/23
    "short year, two digits": rf"{DAY_OF_TWO}(?P<_>[.-]){MONTH_OF_TWO}(?P=_)(?P<year>\d\d){AFTER}(?!\w)",  # 14-02-23
    "short year, points": rf"{DAY}(?P<_>[.]){MONTH}[.](?P<year>\d\d){AFTER}(?!\w)",  # 3.4.50, of births only
    "spaces": rf"{DAY_OF_TWO}(?P<_> ){MONTH_OF_TWO} {YEAR}{AFTER}",  # 14 02 2023
    "compact": rf"{YEAR}{MONTH_OF_TWO}{DAY_OF_TWO}(?:(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?(?!\w)",  # 20230214
    "compact, day first": rf"{DAY_OF_TWO}{MONTH_OF_TWO}{YEAR}(?!\w)",  # 14021950, of births only
    "name and year": rf"{DAY_OF_NAME}[ \u00a0/-]{{1,2}}{YEAR}(?!\d)",  # 14 février 2023
    "name and short year": rf"{DAY_OF_NAME}[ /-]'?(?P<year>\d\d)(?!\w){ALONE}",  # 14-févr-23
    "name": rf"{DAY_OF_NAME}(?!\w)",  # 1er mars
    "month and year": rf"{MONTH_OF_TWO}/{YEAR}(?![\d/])",  # 02/2023
    "month and year, two digits": rf"{MONTH_OF_TWO}-{YEAR}(?![\d/-])",  # 02-2023
    "short month and year": rf"(?P<month>[1-9])/{YEAR}(?![\d/])",  # 2/2023, after words for a date only
    "day and month": rf"{DAY}/{MONTH_OF_TWO}{ALONE}",  # 14/02, after words for a date only
}
FORMS = {name: re.compile(form, re.IGNORECASE) for name, form in FROM_NUMBER.items()}
SHORT_YEARS = ("short year", "short year, two digits")
NAMED = {name: form for name, form in FORMS.items() if name.startswith("name")}
IN_NUMBERS = {name: form for name, form in FORMS.items() if name not in NAMED}
FORMS_OF_NAMES = (
    re.compile(rf"(?P<name>{NAMES})\b\.?[ \u00a0-]{YEAR}", re.IGNORECASE),
    re.compile(rf"(?P<name>{'|'.join(LONG_NAMES)})", re.IGNORECASE),
    re.compile(YEAR),
)
WEEKDAY = rf"(?P<weekday>{'|'.join(name for names in WEEKDAYS for name in names)})\.?,?[ \u00a0]+(?:le )?"
WITH_WEEKDAY = tuple(re.compile(WEEKDAY + form, re.IGNORECASE) for form in FROM_NUMBER.values())
ALL_FORMS = (*FORMS.values(), *WITH_WEEKDAY, *FORMS_OF_NAMES)
NUMBER = re.compile(
    r"(?<![\w/])(?<!\d[.,])(?:(?<!\D\d-)(?<!\D\d\d-)|(?<=/\d-)|(?<=/\d\d-))\d"
    r"(?:\d?(?: ?[/.-] ?\d| \d\d \d{4}|(?:er)?[ \u00a0./-]{1,2}[JFMASONDjfmasond])|\d{3}[-/.]\d|"
    r"\d{7}(?:\d{4}(?:\d\d)?)?(?!\d))"
)
YEAR_NUMBER = re.compile(r"(?<![\w/.,-])(?:19|20)\d\d(?!\w)")
MONTH_NAME = re.compile(
    rf"(?<!\w)(?:{'|'.join(form for name in LONG_NAMES for form in (name, name.capitalize(), name.upper()))})(?!\w)"
)
MONTH_WORDS, YEARS = words_of(*LONG_NAMES), words_of("2023")
REACH = 45  # characters before a date that tell its kind
WEEKDAY_BEFORE = re.compile(rf"(?<!\w){WEEKDAY}$", re.IGNORECASE)
NAME_BEFORE = re.compile(rf"(?<!\w)(?:{NAMES})\.?[ \u00a0-]$", re.IGNORECASE)
WORDS_BEFORE_DAY = r"(?<!\w)(?:le|les|du|au|depuis|dès|vers|jusqu['’]au|ce|rdv|date)[ \u00a0:]+"
WORD_BEFORE_DAY = re.compile(rf"{WORDS_BEFORE_DAY}$", re.IGNORECASE)
DAY_BEFORE = re.compile(rf"(?:{WORDS_BEFORE_DAY}|(?:^|\n)[-*•]? ?|/\d\d (?:et|au) )$", re.IGNORECASE)
MONTH_BEFORE = re.compile(
    r"(?<!\w)(?:en|début|debut|fin|mi|courant|depuis|mois de|mois d['’]|de|dès|jusqu['’]en|jusqu['’]à)(?:[ \u00a0-]+|"
    r"(?<=['’]))$",
    re.IGNORECASE,
)
YEAR_BEFORE = re.compile(
    r"(?:(?<!\w)(?:en|depuis|de|dès|vers|fin|début|debut|courant|années?|l['’]an|printemps|été|automne|hiver|avant|"
    r"après"
    r"|entre|jusqu['’]en|(?:19|20)\d\d (?:et|à|puis|-))[ \u00a0]+(?:l['’]année )?|(?:19|20)\d\d-|\(|(?:^|\n)[-*• ]*)$",
    re.IGNORECASE,
)
YEAR_NEXT = re.compile(r"[ \u00a0-](?:19|20)\d\d(?!\w)")
LINE_START_YEAR = re.compile(r" ?[:-]")
YEAR_AFTER = re.compile(rf"(?:\)|(?= ?:)|(?!{UNIT}|-(?!(?:19|20)\d\d)|[.,]\d))")
BIRTH_BEFORE = re.compile(
    r"(?:(?<![\w-])n[ée]{1,2}(?:\(e\)|\.e|e)?s?(?:[ \u00a0]+[^\n,.;:\d]{2,30}(?=[ ,]+le[ \u00a0:]+$))?,?|naissance|"
    r"naiss\.?|D\.?D\.?N\.?|(?<!\w)DN)(?:[ \u00a0]*\(?[Jj]{1,2}/[Mm]{1,2}/[Aa]{2,4}\)?)?[ \u00a0]*[:=|"
    r"]?[ \u00a0]*(?:le|en)?[ \u00a0:]*$",
    re.IGNORECASE,
)
ONLY_AFTER = {
    "day and month": DAY_BEFORE, "short month and year": MONTH_BEFORE, "short year, points": BIRTH_BEFORE,
    "compact, day first": BIRTH_BEFORE,
}  # fmt: skip
# Doses of a day and scores: "Novorapid 10/8/12 UI", "Apgar 9/10/10".
DOSE_BEFORE = re.compile(
    r"(?<!\w)(?:apgar|ta|pa|tension|dextros?|glyc[ée]mies?|insuline|novorapid|humalog|lantus|apidra|lispro|asparte|levemir|"
    r"actrapid|umuline|toujeo|tresiba|abasaglar)[ \u00a0:=à]*$",
    re.IGNORECASE,
)
DOSE_AFTER = re.compile(r"[ \u00a0]?(?:UI|U|mg|µg|g|m[lL]|mmHg|cp|gél|gouttes)(?!\w)")


def find_dates(clues: Clues) -> Iterator[FoundDate]:
    """The dates of a text. A day, a month or a year without the rest is one only after words that dates follow."""
    text, end, ends = clues.text, 0, set()
    for found in clues.matches(NUMBER, NUMBERS):
        forms = NAMED if found[0][-1].isalpha() else IN_NUMBERS
        date = _from_number(text, found.start(), forms) if found.start() >= end else None
        if date:
            start = start_of_range(text, date.written, date.span.start, end)
            date = FoundDate(_span(text, start, date.span.end), date.written) if start < date.span.start else date
            end = date.span.end
            ends.add(end)
            yield date
    for found in clues.matches(YEAR_NUMBER, YEARS):
        if found.end() in ends:
            continue
        name = NAME_BEFORE.search(text, max(0, found.start() - 12), found.start())
        if name or _is_year(text, found):
            start = name.start() if name else found.start()
            yield _found(text, start, found.end(), FORMS_OF_NAMES[:1] if name else FORMS_OF_NAMES[2:])
    for found in clues.matches(MONTH_NAME, MONTH_WORDS):
        before = MONTH_BEFORE.search(text, max(0, found.start() - REACH), found.start())
        if before and found.end() not in ends and not YEAR_NEXT.match(text, found.end()):
            yield _found(text, found.start(), found.end(), FORMS_OF_NAMES[1:2])


def parsed(text: str, forms: Iterable[re.Pattern] = ALL_FORMS) -> WrittenDate | None:
    """A whole text as a date; None where it is none."""
    for pattern in forms:
        found = pattern.fullmatch(text)
        if found and (date := written_date(found)).is_possible():
            return date
    return None


def shifted(text: str, days: int) -> str | None:
    """The date moved by a number of days, written in the same form; None where the text is no date. See WrittenDate."""
    if date := parsed(text):
        return date.moved(days)
    found = WHOLE.fullmatch(text)
    last = parsed(found["last"]) if found else None
    if not found or not last or (other := last.moved(days)) is None or (moved := parsed(other)) is None:
        return None
    try:
        return moved_days(found["days"], last, moved, days) + other
    except (ValueError, OverflowError):
        return None


def _from_number(text: str, start: int, forms: Mapping[str, re.Pattern]) -> FoundDate | None:
    """The date whose number begins here, with the name of a weekday before it."""
    for name, pattern in forms.items():
        found = pattern.match(text, start)
        if not found or not (written := written_date(found)).is_possible():
            continue
        weekday = WEEKDAY_BEFORE.search(text, max(0, start - 14), start)
        if name in ONLY_AFTER and not (weekday or ONLY_AFTER[name].search(text, max(0, start - REACH), start)):
            continue
        if name == "name" and not _is_day_of_month(found, text) or name in SHORT_YEARS and _is_dose(found, written):
            continue
        if weekday:
            return _found(text, weekday.start(), found.end(), WITH_WEEKDAY)
        return FoundDate(_span(text, start, found.end()), written)
    return None


def _is_dose(found: re.Match, date: WrittenDate) -> bool:
    """Whether three numbers are doses or a score. Equal ones are a date only after a word for one: "10-10-10"."""
    text, start = found.string, max(0, found.start() - REACH)
    if DOSE_AFTER.match(text, found.end()) or DOSE_BEFORE.search(text, start, found.start()):
        return True
    is_named = WORD_BEFORE_DAY.search(text, start, found.start()) or BIRTH_BEFORE.search(text, start, found.start())
    return date.day == date.month == int(found["year"]) and not is_named


def _is_day_of_month(found: re.Match, text: str) -> bool:
    """Whether a number and a name without a year are a date: short names are words and numbers too ("3 sept")."""
    name = found["name"].lower()
    return (
        name in LONG_NAMES
        or found[0].endswith(".")
        or bool(WORD_BEFORE_DAY.search(text, max(0, found.start() - REACH), found.start()))
    )


def _is_year(text: str, found: re.Match) -> bool:
    before = YEAR_BEFORE.search(text, max(0, found.start() - REACH), found.start())
    if not before or not YEAR_AFTER.match(text, found.end()):
        return False
    if before[0].endswith("("):
        return text[found.end() : found.end() + 1] == ")"
    if not before[0].strip(" \n-*•"):  # at the start of a line
        return bool(LINE_START_YEAR.match(text, found.end()))
    return True


def _found(text: str, start: int, end: int, forms: Iterable[re.Pattern]) -> FoundDate:
    written = parsed(text[start:end], forms)
    assert written, text[start:end]
    return FoundDate(_span(text, start, end), written)


def _span(text: str, start: int, end: int) -> Span:
    birth = BIRTH_BEFORE.search(text, max(0, start - REACH), start)
    return Span(start, end, "DATE_NAISSANCE" if birth else "DATE")
