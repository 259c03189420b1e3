"""The compounds of French that are written with a hyphen, as pairs of what is before it and behind it.

Sources: IN is the Lexique des règles typographiques en usage à l'Imprimerie nationale; RO the Rectifications de
l'orthographe (Journal officiel, 6 December 1990); AF the Dictionnaire de l'Académie française, 9th edition; "usage" is
how French medical texts mostly write it, where the dictionaries say nothing or both.
"""

import re
from typing import NamedTuple


class Compound(NamedTuple):
    """Two parts, in lower case, that a hyphen joins."""

    before: re.Pattern  # all of the word before the hyphen, the elided article left out
    after: re.Pattern  # the word behind it
    example: str
    unlike: str  # one word that is divided similarly, which the rule does not find
    source: str


def _compound(before: str, after: str, example: str, unlike: str, source: str) -> Compound:
    return Compound(re.compile(before), re.compile(after), example, unlike, source)


VERBS = (
    "ai|as|a|est|sont|était|étaient|sera|seront|soit|ont|avait|avaient|aura|peut|peuvent|pouvait|pourrait|puis|doit|"
    "doivent|devrait|faut|fait|font|dit|veut|va|vont|vient|semble|convient|existe|reste|suffit|paraît|sait|pense|"
    r"[^\W\d]{2,}(?:ez|ons)"
)
PRONOUNS = "je|tu|il|elle|on|nous|vous|ils|elles|ce|moi|toi|le|la|les|lui|leur|en|y"
UNITS = "et|une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingts?"
FAMILY = "pères?|mères?|parents|fils|filles?|frères?|sœurs?|oncles?|tantes?|enfants?|neveux?|nièces?"
MONTHS = "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
# Parts of the body: both parts of "fémoro-tibial" name one.
PLACES = (
    "antéro|postéro|supéro|inféro|médio|latéro|fronto|pariéto|temporo|occipito|crânio|fémoro|tibio|péronéo|huméro|"
    "radio|cubito|scapulo|acromio|sterno|cléido|costo|thoraco|lombo|sacro|ilio|coxo|pelvi|recto|vésico|urétéro|génito|"
    "bucco|maxillo|naso|oto|rhino|broncho|pleuro|auriculo|atrio|ventriculo|artério|aorto|cérébro|cranio|musculo|ostéo|"
    "tendino|médico|socio"
)
LEARNED = "auto|micro|macro|gastro|cardio|hépato|neuro|psycho|uro|néphro|immuno|endo|bio|électro|pneumo|hémato"
VOWEL = "[aeiouyàâäéèêëîïôöùûüœæ]"

COMPOUNDS = (
    _compound(VERBS, PRONOUNS, "est-ce", "est-ival", "IN"),
    _compound(r".*-t", "il|elle|on|ils|elles", "a-t-il", "adap-té", "IN"),
    _compound(r".+", "t-(?:il|elle|on|ils|elles)", "semble-t-elle", "trai-té", "IN"),
    _compound(r".+-à", r"\w+", "c'est-à-dire", "vis-ible", "AF"),
    _compound(r".+", r"à-\w+", "vis-à-vis", "at-teinte", "AF"),
    _compound("celui|celle|ceux|celles|cas|jours?|mois|fois|ceux|heures?|personnes?", "ci", "celui-ci", "mer-ci", "IN"),
    _compound("(?!voi|de)..+", "là", "celle-là", "voi-là", "IN"),
    _compound("moi|toi|lui|elle|soi|nous|vous|eux|elles", "mêmes?", "lui-même", "elle-ment", "IN"),
    _compound("quelques", "une?s", "quelques-uns", "quel-conque", "IN"),
    _compound(
        "ci|là|au|par|en|jusque",
        "joint(?:e?s?)|dessus|dessous|après|contre|haut|bas|delà|dedans|dehors|devant|derrière|là",
        "au-dessus", "ci-catrice", "IN",
    ),
    _compound(r"vingt|trente|quarante|cinquante|soixante|quatre|(?:.+-)?(?:vingt|dix|et)", UNITS, "vingt-cinq",
              "vingt-aine", "RO"),
    _compound(r".+-(?:vingt|et)|soixante|dix", "sept|huit|neuf|dix|onze", "dix-huit", "dix-ième", "RO"),
    _compound("après|arrière|demi|semi", r"\w{3,}.*", "après-midi", "aprè-té", "AF"),
    _compound("avant", "(?!ag).+", "avant-bras", "avant-age", "AF"),
    _compound("sous", "(?!cri|trac|trai[rs]|sign).+", "sous-cutané", "sous-cription", "AF"),
    _compound("post", "(?!al|er|ur|ul|ich).+", "post-opératoire", "post-ure", "usage"),
    _compound("non", "(?!chal|ant|agé).+", "non-fumeur", "non-chalant", "AF"),
    _compound("quasi", "(?!ment).+", "quasi-totalité", "quasi-ment", "AF"),
    _compound("ex", "fum.*|toxico.*|alcool.*|époux|épouse|mari|femme|conjointe?|compagn.*|usag.*|patron.*", "ex-fumeur",
              "ex-périence", "AF"),
    _compound("mi", f"temps|parcours|chemin|doses?|cuisses?|mollets?|hauteur|distance|journée|{MONTHS}", "mi-temps",
              "mi-nute", "AF"),
    _compound("contre", f"{VOWEL}.*|jour|ordres?|visites?|pulsion|pression|choc", "contre-indication", "contre-dire",
              "AF"),
    _compound("anti", "[iy].*|âge", "anti-inflammatoire", "anti-biotique", "AF"),
    _compound("intra|extra|infra|supra|ultra", "[aiu].*", "intra-utérin", "intra-veineux", "usage"),
    _compound("pré", "é.*", "pré-éclampsie", "pré-vention", "usage"),
    _compound(LEARNED, f"{VOWEL}.*", "gastro-entérite", "gastro-scopie", "usage"),
    _compound(rf"(?:.+-)?(?:{PLACES})", r"(?!graph|log|scop|thérap|tomi|plast|ectom|pnée|path|pneum|pore).{4,}",
              "fémoro-tibial", "radio-graphie", "usage"),
    _compound("grands?|petits?|beaux?|belles?|demi", FAMILY, "grand-mère", "grand-issant", "AF"),
    _compound("bien|mal|peut", "être", "peut-être", "mal-adie", "AF"),
    _compound("nouveaux?|mort|premiers?|derniers?", "née?s?", "nouveau-né", "mort-alité", "AF"),
    _compound("sages?|aides?|comptes?|week|centre|rendez|burn|check|follow|chefs?|court|libre|garde|gardes|porte|laisser",
              "femmes?|soignante?s?|rendus?|end|ville|vous|out|up|lieu|circuits?|service|malades?|aller", "sage-femme",
              "porte-ur", "AF"),
)  # fmt: skip
