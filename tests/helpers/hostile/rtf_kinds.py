r"""RTF files that bomb, fetch, run or hide something."""

from hostile.given import Given, Hostile, Kind
from letters.rtf_files import escaped

START = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}\pard "


def rtf(given: Given, more: str) -> bytes:
    """A file with the text, and more behind it."""
    return f"{START}{escaped(given.text)}\\par {more}}}".encode("latin-1")


def objects(given: Given) -> Hostile:
    """An embedded program, a link to an address, an equation."""
    names = ("Package", "OLE2Link", "Equation.3")[given.number % 3]
    data = (b"\x01\x05\0\0\x02\0\0\0" + names.encode() + b"MZ" + given.url.encode() * 20).hex()
    way = (r"\objemb", r"\objautlink\objupdate", r"\objocx")[given.number % 3]
    return Hostile(
        "read", "rtf", rtf(given, rf"{{\object{way}{{\*\objclass {names}}}{{\*\objdata {data}}}{{\result .}}}}")
    )


def fields(given: Given) -> Hostile:
    """Fields that read a file, start a program or fetch a picture."""
    codes = (
        f'INCLUDETEXT "{given.secret}"',
        f'DDEAUTO "/bin/sh" "-c {given.trace}"',
        f'INCLUDEPICTURE "{given.url}" \\\\d',
        f'HYPERLINK "{given.url}"',
    )
    code = codes[given.number % len(codes)]
    return Hostile("read", "rtf", rtf(given, rf"{{\field\fldlock{{\*\fldinst {code}}}{{\fldrslt .}}}}"))


def template(given: Given) -> Hostile:
    """A template at an address."""
    return Hostile("read", "rtf", rtf(given, rf"{{\*\template {given.url}}}"))


def deep_groups(given: Given) -> Hostile:
    """A million groups, each in the one before, closed or not."""
    closed = "" if given.number % 2 else "}" * 1_000_000
    return Hostile("either", "rtf", rtf(given, "{" * 1_000_000 + "x" + closed))


def lengths(given: Given) -> Hostile:
    """Binary data that is said to be longer than the file, or of a negative length; numbers of 10,000 digits."""
    pieces = (
        r"{\pict\pngblip\bin2147483647 abc}",
        r"{\pict\pngblip\bin-5 abc}",
        r"{\pict\pngblip\bin999999999999999999999 abc}",
        "\\u" + "9" * 10_000 + "?",
        r"\u-99999?\u1114112?\u55357?\u56832?\u55357?",
        r"\uc1000000\u233?",
        r"\'zz\'\'e",
        "\\" + "a" * 1_000_000 + " ",
    )
    return Hostile("either", "rtf", rtf(given, pieces[given.number % len(pieces)]))


def tables(given: Given) -> Hostile:
    """A row of 200,000 cells, and rows without an end."""
    return Hostile("either", "rtf", rtf(given, r"\trowd" + r"\cellx1" * 99_999 + r"\intbl x\cell " * 200_000))


def unbalanced(given: Given) -> Hostile:
    """Groups that end too early, too late or in the head."""
    whole = rtf(given, "x").decode("latin-1")
    changed = whole + "}" * 1000, whole[:-1], whole.replace("{\\f0", "\\f0"), "}" + whole, whole.replace("{", "")
    return Hostile("either", "rtf", changed[given.number % len(changed)].encode("latin-1"))


KINDS = {
    "rtfobjects": Kind(objects, 9),
    "rtffields": Kind(fields, 8),
    "rtftemplate": Kind(template, 4),
    "rtfdeep": Kind(deep_groups, 2),
    "rtflengths": Kind(lengths, 8),
    "rtftables": Kind(tables, 1),
    "rtfunbalanced": Kind(unbalanced, 5),
}
