"""Streets, buildings and boxes of French postal addresses."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import Clues, words_of
from preprocess.pseudonymisation.forms.places import TOWN, WITH_POSTCODE
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import CAPITALISED, LETTER, LINKS, SPACE, UPPER

NUMBER = (
    rf"(?<![\w.,/])\d{{1,4}}{SPACE}?(?:bis|ter|quater|BIS|TER|"
    rf"[A-D]\b)?(?:{SPACE}?[-/]{SPACE}?\d{{1,4}})?{SPACE}?,?{SPACE}?"
)
# A number before them makes an address of any words behind; without one the words are capitalised.
STREETS = (
    r"(?i:rue|avenue|av\.?|ave\.?|boulevard|bd\.?|bld\.?|bvd|allées?|all\.|impasse|imp\.|quai|chemin|ch\.|chem\.|"
    r"ruelle|"
    r"sentier|faubourg|fbg|venelle|esplanade|rond-point|route|rte|lotissement|square|montée)"
)
# They are also words of other meanings: with a number and capitals only.
OTHER_STREETS = (
    r"(?i:place|pl\.|cours|passage|voie|villa|clos|cité|résidence|rés\.|hameau|promenade|traverse|domaine|mail|parvis|"
    r"lot\.|porte|chaussée|côte|sente|cour)"
)
NAME_START = rf"(?:(?:{LINKS}|DE LA|DE L['’]|DE|DU|DES|D['’]|LES?|LA){SPACE}?){{0,2}}"
DATE_NAME = rf"(?:du{SPACE})?(?:\d{{1,2}}|1er){SPACE}{LETTER}+(?:{SPACE}\d{{4}})?"  # rue du 8 mai 1945
NAME_WORD = rf"(?:(?:Dr|Pr|Ste?|Gal|Mal|Cdt|Col|Cap)\.|{CAPITALISED})"
WORDS = rf"(?:{DATE_NAME}|{NAME_START}{NAME_WORD}(?:{SPACE}(?!à )(?:{LINKS}{SPACE}?){{0,2}}{NAME_WORD})*)"
LOWER_WORDS = (
    rf"(?:{DATE_NAME}|(?:{LETTER}[\w'’.-]*)(?:{SPACE}(?!(?:à|et|est|où|qui|mais|depuis|au|avec|"
    rf"sur)\b){LETTER}[\w'’-]*){{0,5}})"
)
# Also 12 bis, rue du Général-de-Gaulle
STREET = re.compile(
    rf"{NUMBER}(?:{STREETS}{SPACE}(?:{WORDS}|{LOWER_WORDS})|{OTHER_STREETS}{SPACE}{WORDS})|(?<!\w){STREETS}{SPACE}{WORDS}"
)
PLACE = re.compile(
    rf"(?<!\w)(?:(?i:lieu[- ]?dit){SPACE}?[:«\"“]?{SPACE}?|(?:[Rr]ésidence|RÉSIDENCE|RESIDENCE|[Hh]ameau|"
    rf"[Ll]otissement|"
    rf"[Cc]ité|Domaine|Villa|Z\.?[AI]\.?C?\.?){SPACE}(?=[{UPPER}]|{LINKS}))(?:{WORDS})"
)
# Parts that are no address without another part beside them.
PART = re.compile(
    r"(?<!\w)(?:(?i:b[âa]t(?:iment)?\.?|esc(?:alier)?\.?|appt\.?|app(?:artement|\.)|porte|entr[ée]e|hall|tour|"
    r"chambre|[ée]tage|bo[îi]te)"
    rf"{SPACE}?(?:n[°º]{SPACE}?)?(?:\d{{1,4}}[A-Z]?|[A-Z]\d{{0,3}})|\d{{1,2}}{SPACE}?(?:er|[eè]me|e|ÈME|"
    rf"EME){SPACE}(?i:[ée]tage)"
    rf"|RDC|(?i:rez-de-chaussée)|(?:B\.?P\.?|C\.?S\.?|TSA){SPACE}?\d{{1,5}})(?:{SPACE}(?:gauche|droite|face))?(?!\w|"
    rf"[.,/]\d)"
)
CLUES = words_of("""
    rue avenue av ave boulevard bd bld bvd allée allées all impasse imp quai chemin ch chem ruelle sentier faubourg fbg
    venelle esplanade rond route rte lotissement square montée place pl cours passage voie villa clos cité résidence rés
    hameau promenade traverse domaine mail parvis lot porte chaussée côte sente cour lieu lieudit za zi zac z
""")
PART_CLUES = words_of("""
    bât bâtiment esc escalier appt app appartement porte entrée hall tour chambre étage boîte rdc rez bp b cs c tsa
    bp1 cs1 tsa1 bp10 bp100 bp1000 cs10000
""")
# 12 rue Pasteur à Lyon, avec son mari
TOWN_BEHIND = re.compile(
    rf"(?: à|,){SPACE}(?P<town>{TOWN})(?={SPACE}?(?:[,.;)\n]|$)|{SPACE}(?:depuis|avec|et|où|chez)\b)"
)
BESIDE = re.compile(r"[\s,;–-]{1,4}")
SAME_LINE = re.compile(r"[ \u00a0,–-]{0,4}")


def find_addresses(clues: Clues, towns: list[Span]) -> Iterator[Span]:
    """Streets and named places with the town behind them; buildings, floors and boxes beside them or beside `towns`."""
    text = clues.text
    strong = [Span(*found.span(), "ADRESSE") for pattern in (STREET, PLACE) for found in clues.matches(pattern, CLUES)]
    parts = [Span(*found.span(), "ADRESSE") for found in clues.matches(PART, PART_CLUES)] if strong or towns else []
    known = {span.start: span for span in (*strong, *towns)}
    ends = {span.end for span in (*strong, *towns)}
    parts.sort()
    for in_order in (parts, parts[::-1], parts):  # bât. B, 3e étage, 12 rue ...: each makes the next an address
        for part in in_order:
            if part.start not in known and _is_beside(text, part, known, ends):
                known[part.start] = part
                ends.add(part.end)
    for span in strong:
        if found := WITH_POSTCODE.match(text, span.end + 1):  # 12 rue du Port 29200 Brest
            yield Span(*found.span("zip"), "ZIP")
            yield Span(*found.span("town"), "VILLE")
        if town := TOWN_BEHIND.match(text, span.end):
            yield Span(*town.span("town"), "VILLE")
    yield from _joined(text, sorted(span for span in known.values() if span.label == "ADRESSE"))


def _is_beside(text: str, part: Span, starts: dict[int, Span], ends: set[int]) -> bool:
    after, before = (
        BESIDE.match(text, part.end),
        re.compile(r"[\s,;–-]{1,4}$").search(text, max(0, part.start - 4), part.start),
    )
    return bool((after and after.end() in starts) or (before and before.start() in ends))


def _joined(text: str, spans: list[Span]) -> Iterator[Span]:
    """One span for parts of one line with nothing but a comma between them."""
    whole: Span | None = None
    for span in spans:
        if whole and span.start <= whole.end or whole and SAME_LINE.fullmatch(text, whole.end, span.start):
            whole = Span(whole.start, max(whole.end, span.end), "ADRESSE")
            continue
        if whole:
            yield whole
        whole = span
    if whole:
        yield whole
