"""Towns with their postcodes or after words that name them, and hospitals."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import Clues, words_of
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import CAPITALISED, LINKS, SPACE, UPPER

# Saint-Étienne, BOURG EN BRESSE, L'Haÿ-les-Roses, Aix-en-Provence, St Malo, La Roche sur Yon
TOWN = (
    rf"(?:[Ll]['’]|L[Aa] |L[Ee][Ss]? )?{CAPITALISED}"
    rf"(?:{SPACE}(?!CEDEX|Cedex)(?:(?:{LINKS}{SPACE}?){{0,3}}{CAPITALISED}))*"
    rf"(?:{SPACE}(?:[Cc]edex|CEDEX)(?:{SPACE}\d\d?)?|{SPACE}\d\d?(?:er|e|ème|ÈME|EME|E)\b)?"
)
POSTCODE = rf"(?P<zip>(?:F(?:R)?{SPACE}?-{SPACE}?)?(?:0[1-9]|[1-8]\d|9[0-5]|9[78])\d{{3}})"
WITH_POSTCODE = re.compile(rf"(?<![\w.,/+-]){POSTCODE}(?:{SPACE}|{SPACE}?[,-]{SPACE}?)(?P<town>{TOWN})")
# Villeurbanne (69100); at the end of a line "Villeurbanne 69100"
BEHIND_TOWN = re.compile(
    rf"(?:(?<=\(){POSTCODE}\)|(?<=[{SPACE[1:-1]}]){POSTCODE}[ \u00a0]*$)".replace("(?P<zip>", "(?:"), re.M
)
TOWN_BEFORE = re.compile(rf"(?<!\w)(?P<town>{TOWN}),?{SPACE}?\(?$")
NAMED_POSTCODE = re.compile(rf"\b(?:[Cc]ode [Pp]ostal|CODE POSTAL|C\.?P\.?){SPACE}*:?{SPACE}*{POSTCODE}\b")
MAY_NAME_TOWN = re.compile(rf"(?:(?: à| sur| vers| de){SPACE}|d['’]|: *)[{UPPER}]")  # a quicker test than TOWN_AFTER
# What else stands behind "hospitalisé à".
NO_TOWN_AFTER = re.compile(
    r"(?:[Ll]['’])?(?i:h[ôo]pita|clinique|polyclinique|ch[ru]{0,2}\b|ehpad|ssr\b|usld|had\b|mme?\b|m\.|madame|"
    r"monsieur|mlle|dr\b|docteur|"
    r"pr\b|professeur|no[ëe]l|p[âa]ques|toussaint|urgences|institut|centre|maison|service|ide\b|[jh]\d|(?:terme|domicile|froid|long|court|jeun|distance|temps|"
    r"r[ée]animation|chaud|risque|l['’]?[ée]tranger|vie)\b)"
)
REACH = 45  # characters before a postcode for its town
# Counts of a blood sample are written before such words, as a postcode is before its town.
NO_TOWN = re.compile(
    r"(?i:leuco|plaq|neutro|lympho|h[ée]mat|globul|polynucl|[ée]osino|mono|ui\b|u/|gb\b|gr\b|pnn|copies|cfu|ufc|"
    r"elements|"
    r"éléments|unit|cellules|germes|colonies|mg|ml|bact|tsa\b|bp\b|cedex)|(?:(?!L[AE]\b|L['’])[A-Z]{1,2}|LDH|CPK|HTA|"
    r"IRM|ECG|ASAT|"
    r"ALAT|CRP|BNP|DDN|TEL|FAX)\b"
)
ADDRESS_BEFORE = re.compile(
    r"(?:(?:^|\n)[ \u00a0]*(?:[Aa]dresse|ADRESSE)?[ \u00a0:]*|(?i:[àa]|habit\w*|domicili\w*|demeurant|adresse|ville|"
    r"commune)"
    r"[ \u00a0]*:?[ \u00a0]*|[,(–-][ \u00a0]*)$"
)
LIVING = """
    habite habitait habitant vit vivait vivant réside résidait résidant domicilié domiciliée domiciliés demeure
    demeurait demeurant né née nés déménage déménagé hospitalisé hospitalisée opéré opérée suivi suivie transféré
    transférée muté mutée installé installée scolarisé scolarisée travaille travaillait travaillant consulte
    consulté consultait retourne retourné retournée rentre rentré rentrée exerce exerçait exerçant décédé décédée
    institutionnalisé institutionnalisée adressé adressée cabinet exerçant médecin généraliste cardiologue
    pneumologue neurologue chirurgien urologue radiologue oncologue psychiatre pédiatre gynécologue dermatologue
    rhumatologue gériatre infirmier infirmière kinésithérapeute pharmacien pharmacienne notaire
""".split()
LIVES = rf"(?i:{'|'.join(LIVING)}|né\(e\))"
WITH_WHOM = (
    r"(?: (?:actuellement|seule?|désormais|maintenant|toujours|récemment|habituellement|depuis \d{4}|en famille|"
    r"en maison de retraite|en EHPAD|en foyer|en appartement|avec (?:son|sa|ses) \w+|en maison)){0,2}"
)
TOWN_AFTER = re.compile(
    rf"(?:(?<!\w){LIVES}{WITH_WHOM} (?:à|sur|vers|près de|dans la région de)"
    rf"|(?<!\w)(?:[Dd]octeur|[Dd]r|[Pp]r)\.?{SPACE}{CAPITALISED}(?:{SPACE}{CAPITALISED}){{0,3}} à"
    rf"|(?<![\w-])[Nn][ée]{{1,2}}(?:\(e\))? le[ :]{{1,3}}[\w/.-]+(?: \w+ \d{{4}})? à|\boriginaire de|"
    rf"\burgences d(?:e|['’])|\bmairie de|"
    rf"\bcommune d(?:e|['’])"
    rf"|(?<!\w)(?:[Vv]ille|VILLE|[Cc]ommune|[Ll]ieu de naissance|LIEU DE NAISSANCE)[ \u00a0]*:){SPACE}*(?P<town>{TOWN})"
)
# In the place of a letter's date: "Lyon, le 3 mars 2023".
TOWN_OF_LETTER = re.compile(
    rf"(?<![^\n])[ \u00a0]*(?:[Ff]ait à )?(?P<town>(?:L[aes]{{1,2}} )?{CAPITALISED}),{SPACE}?[Ll]e (?=\d|lundi|mardi|"
    rf"mercredi|jeudi|"
    rf"vendredi|samedi)[^\n]{{3,25}}(?![^\n])"
)
HOSPITAL = re.compile(
    r"(?<!\w)(?:C\.?H\.?(?:R\.?)?U\.?|CHRU|CHR|CHIC?|CH|GHU|GHT|GHI?|HIA|CLCC|C\.H\.|EHPAD|USLD|SSR|CMP|HAD|"
    r"[Hh][ôo]pita(?:l|ux)|"
    r"H[ÔO]PITA(?:L|UX)|(?:[Pp]oly)?[Cc]linique|(?:POLY)?CLINIQUE|[Cc]entre [Hh]ospitalier|CENTRE HOSPITALIER|"
    r"[Gg]roupe(?:ment)? [Hh]ospitalier|[Hh]ospices [Cc]ivils|[Mm]aternité|MATERNITE|[Ii]nstitut|INSTITUT|"
    r"[Mm]aison de (?:retraite|santé)|[Ff]oyer|[Cc]entre (?:de (?:rééducation|dialyse|soins)|médical|anticancéreux)|"
    r"[Cc]entre"
    r"|[Ll]aboratoire|[Pp]harmacie|[Cc]abinet (?:médical|de radiologie))"
    r"(?: (?:[Uu]niversitaire|UNIVERSITAIRE|[Rr]égional|REGIONAL|[Ii]ntercommunal|[Ss]pécialisé|[Pp]rivée?|militaire|"
    r"[Dd][’']instruction des [Aa]rmées|psychiatrique|européen|local))*"
    rf"{SPACE}(?:(?:{LINKS}|DE LA|DE|DU|DES|D['’]|LES?|"
    rf"LA){SPACE}?){{0,2}}(?P<name>{CAPITALISED}(?:{SPACE}(?!et |à )(?:{LINKS}{SPACE}?){{0,2}}{CAPITALISED}){{0,3}})"
)
# Of these a name is said without the word for a hospital.
KNOWN = re.compile(
    r"(?<!\w)(?:AP-?HP|AP-?HM|HEGP|HCL|Pitié[- ]Salpêtrière|(?:La )?Salpêtrière|Lariboisière|Gustave[- ]Roussy|"
    r"Kremlin-Bicêtre)(?!\w)"
)
NO_NAME = re.compile(
    r"(?i:jour|semaine|nuit|référence|nous|service|dr|docteur|pr|urgences?|m|mme)$|[A-Z]{1,2}\d*$|(?:IRM|TDM|USI|SAU|"
    r"ECG|IV|SC|PO)$"
)

POSTCODES = words_of("75013")
DATES = words_of("le")
TOWN_WORDS = words_of(*LIVING, "docteur dr pr originaire urgences mairie commune ville naissance")
HOSPITAL_WORDS = words_of("""
    chu c h chru chr chi chic ch ghu ght gh ghi hia clcc ehpad usld ssr cmp had hôpital hôpitaux clinique polyclinique
    centre groupe groupement hospices maternité institut maison foyer laboratoire pharmacie cabinet
""")
KNOWN_WORDS = words_of("ap hp aphp hm aphm hegp hcl salpêtrière lariboisière gustave kremlin")


def find_towns(clues: Clues) -> Iterator[Span]:
    """Postcodes with their towns where an address may stand, and towns after words such as "habite à"."""
    text = clues.text
    for found in clues.matches(WITH_POSTCODE, POSTCODES):
        if not NO_TOWN.match(found["town"]) and _is_in_address(text, found):
            yield from _both(found)
    for found in clues.matches(BEHIND_TOWN, POSTCODES):
        town = TOWN_BEFORE.search(text, max(0, found.start() - REACH), found.start())
        if town and not NO_TOWN.match(town["town"]):
            yield Span(*town.span("town"), "VILLE")
            yield Span(found.start(), found.start() + len(found[0].rstrip(") ")), "ZIP")
    for start, end in clues.lines(TOWN_WORDS):
        if MAY_NAME_TOWN.search(text, start, end):
            for found in TOWN_AFTER.finditer(text, start, end):
                yield from _both(found)
    for pattern, words in ((NAMED_POSTCODE, POSTCODES), (TOWN_OF_LETTER, DATES)):
        for found in clues.matches(pattern, words):
            yield from _both(found)


def find_hospitals(clues: Clues) -> Iterator[Span]:
    """Hospitals and other places of care with a name of their own: "CHU de Nantes", but no "service de cardiologie"."""
    for found in clues.matches(HOSPITAL, HOSPITAL_WORDS):
        if not NO_NAME.match(found["name"]):
            yield Span(found.start(), found.end(), "HOPITAL")
    for found in clues.matches(KNOWN, KNOWN_WORDS):
        yield Span(found.start(), found.end(), "HOPITAL")


def _is_in_address(text: str, found: re.Match) -> bool:
    """Whether an address may stand here: at the start of a line, after a comma, or with CEDEX or F- in it."""
    return (
        found["zip"].startswith("F")
        or "cedex" in found["town"].lower()
        or bool(ADDRESS_BEFORE.search(text, max(0, found.start() - 20), found.start()))
    )


def _both(found: re.Match) -> Iterator[Span]:
    if found.re is TOWN_AFTER and NO_TOWN_AFTER.match(found["town"]):
        return
    for group, label in (("zip", "ZIP"), ("town", "VILLE")):
        if found.re.groupindex.get(group) and found[group]:
            yield Span(*found.span(group), label)
