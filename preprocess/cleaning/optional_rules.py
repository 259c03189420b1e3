"""Rules of preprocess.clean that suit one kind of source, by the name that `--also` takes.

They are off unless asked for: a line of figures is a result in a hospital letter and a table row in a web page.
"""

import re

from preprocess.cleaning.rules import LineTest, Rule


def mostly_figures(line: str) -> bool:
    """Whether the line has ten digits and letters or more, and at least two digits a letter."""
    digits, letters = sum(map(str.isdigit, line)), sum(map(str.isalpha, line))
    return digits + letters >= 10 and digits >= 2 * letters


def cells_of_figures(line: str) -> bool:
    """Whether the line has three cells or more between tabs or bars, at least half of them figures without a letter."""
    cells = [cell for cell in re.split(r"[\t|]", line) if cell.strip()]
    figures = [cell for cell in cells if any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))]
    return len(cells) >= 3 and 2 * len(figures) >= len(cells)


LINK = (
    r"accueil|plan du site|contact(?:ez-nous)?|mentions légales|accessibilité|aller au (?:contenu|menu)(?: principal)?|"
    r"(?:retour en )?haut de (?:la )?page|retour (?:en haut|à l['’]accueil|au sommaire)|page (?:suivante|précédente)|"
    r"imprimer(?: (?:cette|la) page)?|partager(?: (?:sur|cette|la|par) \w+){0,2}|envoyer à un ami|lire la suite|"
    r"en savoir plus|voir (?:plus|aussi)|se (?:dé)?connecter|(?:dé)?connexion|s['’](?:inscrire|abonner)|inscription|"
    r"newsletter|menu(?: principal)?|rechercher|télécharger(?: (?:le|en) pdf)?|facebook|twitter|linkedin|youtube"
)
WEB = (
    Rule(
        "lines of links",
        re.compile(rf"\A\W*(?:{LINK})(?:\W+(?:{LINK}))*\W*\Z", re.IGNORECASE),
        example="Accueil | Plan du site | Mentions légales",
        unchanged="Accueil du patient aux urgences à 8 h",
        reason="the menus of web pages, the same on each",
    ),
    Rule(
        "notices on cookies, scripts and copyright",
        re.compile(
            r"\bcookies?\b.{0,100}\b(?:accept|refus|consent|navigat|navigu|site|audience|publicit|navigateur)\w*|"
            r"\b(?:accept|refus|consent|param[èé]tr|utilis)\w*.{0,60}\bcookies?\b|"
            r"\bjavascript\b.{0,60}\b(?:désactivé|activé|activer|navigateur)\b|"
            r"\A\W*(?:©|copyright\b|\(c\) ?(?:19|20)\d\d)|\btous droits (?:de reproduction )?réservés\b",
            re.IGNORECASE,
        ),
        example="En poursuivant, vous acceptez l'utilisation de cookies.",
        unchanged="Le patient a mangé deux cookies avant le malaise.",
        reason="notices that are the same on every page",
    ),
    Rule(
        "lines of a script",
        re.compile(
            r"\bfunction\s*\w*\s*\([^)]*\)\s*\{|\bdocument\.\w+\(|\bvar \w+\s*=|"
            r"</?(?:div|span|script|style|table|td|tr|li|ul|br|img|p|a)\b[^<>]*>",
            re.IGNORECASE,
        ),
        example='var liens = []; document.getElementById("menu");',
        unchanged="Fonction (VG) conservée, var < 5 %, p < 0,05 et a > 3",
        reason="what a web page runs is not what it says",
    ),
    Rule(
        "heads of e-mails",
        re.compile(
            r"\A\W*(?:de|à|a|cc|cci|from|to|sent|répondre à|reply-to|return-path)\s*:.*\S@\S|"
            r"\A\W*(?:message-id|mime-version|content-type|x-[\w-]+|received)\s*:",
            re.IGNORECASE,
        ),
        example="De : Dr Martin <martin@chu-exemple.fr>",
        unchanged="À : 8 h, température 38,5 °C. Objet : demande d'avis",
        reason="names and addresses, no sentence",
    ),
)
ARTICLES = (
    Rule(
        "lines of a bibliography",
        re.compile(
            r"\b(?:19|20)\d\d\b[^.;]{0,20};\s?\d{1,4}\s?(?:\([^()]{1,15}\)\s?)?:\s?[A-Za-z]?\d|"  # 2010;87(3):293-301
            r"\bGoogle Scholar\b|\bdoi\s*:\s*10\.\d|\bdoi\.org/10\.\d|"
            r"\A\W*\d{0,3}\W*(?:[A-ZÀ-Ý][\w'’-]+ [A-Z]{1,3}, ){2}"
        ),
        example="12. Roux AB, Petit C, Blanc D et al. Rev Exemple. 2010;87(3):293-301.",
        unchanged="Le 12/03/2010 ; 87 (3) ans. Roux et al. ont décrit 45 cas en 2010 (tableau 3).",
        reason="names, titles and numbers of other texts, in PubMed's style or with its links",
    ),
)
TABLES = (
    Rule(
        "lines of mostly figures",
        LineTest(mostly_figures),
        example="Groupe A 112,5 (13,1) 114,2 (12,8) 0,03",
        unchanged="Hb 12,3 g/dL, Na 140, K 4,2, Ca 2,35 (12/03/2021)",
        reason="two digits a letter: rows of a table, but series of results too, as 'LDH 300 > 280 > 250 > 240'",
    ),
    Rule(
        "rows of a table",
        LineTest(cells_of_figures),
        example="Durée du séjour | 12,5 | 14,2 | 0,03",
        unchanged="Hb\t12,3\tg/dL\tN : 13 à 17",
        reason="three cells or more between tabs or bars, at least half of them numbers",
    ),
)
OPTIONAL = {"web": WEB, "articles": ARTICLES, "tables": TABLES}


def short_lines(length: int) -> Rule:
    """BioALBERT's rule (Naseem et al. 2022, 'Pre-training BioALBERT'), there with a length of 20. The spaces around a
    line do not count."""
    return Rule(
        f"lines of fewer than {length} characters",
        LineTest(lambda line: len(line.strip()) < length),
        example="x" * (length - 1),
        unchanged="x" * length,
        reason="BioALBERT leaves them out: headings and fragments of its articles and notes, which give little context",
    )
