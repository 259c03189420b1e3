"""Names of persons after words that announce them (titles, headers, signatures, relatives), and by lists."""

import re
from collections.abc import Iterator

from preprocess.pseudonymisation.clues import Clues, words_of
from preprocess.pseudonymisation.persons.eponyms import NO_NAMES, is_eponym
from preprocess.pseudonymisation.persons.name_lists import WORDS, NameLists
from preprocess.pseudonymisation.persons.name_parts import (
    INITIAL,
    SEQUENCE,
    WRITTEN_PARTICLES,
    Order,
    name_end,
    parts_of,
)
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.words import CAPITALISED, LETTER, SPACE, UPPER, folded

TITLE = (
    r"(?:(?<!r )(?<!r\. )M\.|MM\.|Mr\.?|MR\.?|M(?=[ \u00a0][A-Z]{2})|Mmes?\.?|MME|mmes?|Mlles?\.?|MLLE|mlle|Mesdames|"
    r"Messieurs|[Mm]onsieur|MONSIEUR|"
    r"[Mm]adame|MADAME|[Mm]ademoiselle|[Dd]rs?\.?|DR\.?|[Dd]octeure?s?|DOCTEUR|[Pp]rs?\.?|PR\.|[Pp]rofesseure?s?|"
    r"PROFESSEUR|Pre|"
    r"Ma[îi]tre|Me(?=[ \u00a0][A-Z][a-zé]+\b)|Sœur|Soeur|Père(?=[ \u00a0][A-Z])|[ÉE]pouse|[ée]pouse|[ée]p\.|ép[ .]|"
    r"(?:[Nn]ée|NÉE|NEE)(?:\(e\))?|[Vv]euve|VEUVE|vve|[Ll]e petit|[Ll]a petite|[Ll]['’]enfant|[Ee]nfant|ENFANT|"
    r"[Bb]ébé|BEBE)"
)
TITLED = re.compile(rf"(?<![\w.'’-])(?:{TITLE}(?:(?<=\.)|(?!\w)){SPACE}*(?:/{SPACE}?|l[ea]{SPACE}(?={TITLE}(?!\w)))?)+(?P<name>{SEQUENCE})")
# "MM. Dupont et Martin", "les Drs Petit et Roux"
SECOND = re.compile(rf"(?:,|{SPACE}et|{SPACE}/|{SPACE}&){SPACE}(?P<name>{SEQUENCE})")
PLURAL = re.compile(r"(?:MM|Mmes|Mlles|Drs|Prs|Docteurs|Professeurs|Messieurs|Mesdames)\b")
LOWER_TITLED = re.compile(
    rf"(?<![\w'’-])(?:mme|mlle|melle|mr|monsieur|madame|dr|docteur|pr|professeur|patiente?{SPACE}?:){SPACE}+"
    rf"(?P<name>{LETTER}[\w'’-]+(?:{SPACE}{LETTER}[\w'’-]+)?)"
)
SHORT_TITLE = re.compile("mme|mlle|melle|mr")
NO_NAME_BEHIND = re.compile(
    r"(?:.*(?:[aâ]it|ée?|er[ao]|ant|ons)|est|a|va|ne|se|s|n|l|la|le|les|sa|son|et|ou|qui|que|y|en|dit|vue?|sort|"
    r"prend|vit|vient|part|"
    r"reste|parle|fait|peut|doit|veut|mange|dort|souffre|refuse|accepte|présente|revient|consulte|demande|signale|"
    r"rapporte|"
    r"décrit|bénéficie|nécessite|habite|marche|.{1,2})"
)
ROLE = (
    r"(?:[Pp]atiente?|PATIENTE?|[Nn]oms?|NOMS?|[Ii]dentité|IDENTITE|[Ii]nternes?|[Ee]xternes?|[Ss][ée]nior|IDE|"
    r"[Ii]nfirmi[eè]re?|"
    r"[Aa]ide[- ]soignante?|[Ss]ecrétaire|[Ss]ecrétariat|[Oo]pérateurs?|[Aa]ides?|[Cc]hirurgiens?|[Aa]nesthésistes?|"
    r"IADE|IBODE|"
    r"[Mm]édecins?|MEDECIN|[Cc]orrespondants?|[Dd]estinataires?|[Pp]rescripteur|[Cc]onsultants?|[Rr]esponsable|"
    r"[Cc]hef de service|"
    r"[Pp]ersonne (?:de confiance|à prévenir|à contacter)|[Cc]ontacts?|[Kk]inésithérapeute|[Kk]iné|"
    r"[Aa]ssistante? sociale|"
    r"[Pp]sychologue|[Dd]iététicienne?|[Tt]ut(?:eur|rice)|[Cc]urat(?:eur|rice)|[Aa]idante?|[Mm]ère|[Pp]ère|"
    r"[Cc]onjointe?|[Ff]ils|"
    r"[Ff]ille|[Éé]poux|[Ss]ignataire|[Aa]uteurs?|[Vv]alideur|[Pp]harmacien(?:ne)?|[Ss]age-femme|[Ee]xaminateur|"
    r"[Cc]opie|[Rr]adiologue|"
    r"[Nn]om et prénoms?|NOM ET PRENOM|[Nn]om,? [Pp]rénoms?|NOM,? PR[ÉE]NOM)"
)
ROLE_MORE = (
    r"(?: (?:de naissance|de famille|d['’]usage|usuel|marital|patronymique|de jeune fille|du patient|de la patiente|"
    r"traitante?|"
    r"adresseur|référente?|prescripteur|responsable|senior|de garde|DE NAISSANCE|D['’]USAGE|TRAITANT|DU PATIENT))?"
)
AFTER_ROLE = re.compile(
    rf"(?<![\w-]){ROLE}{ROLE_MORE}{SPACE}*(?:\(s\))?{SPACE}*[:=]{SPACE}*(?:{TITLE}{SPACE}+)*(?P<name>{SEQUENCE})"
)
AFTER_FIRST = re.compile(
    rf"(?<!\w)(?:[Pp]rénoms?|PR[ÉE]NOMS?)(?:\(s\))?(?: usuel)?{SPACE}*[:=]{SPACE}*(?P<name>{SEQUENCE})"
)
SIGNED = re.compile(
    rf"(?<!\w)(?i:signée?|rédigée?|validée?|dictée?|relue?|saisie?|réalisée?|écrite?|frappée?|vue?|reçue?|examinée?|"
    rf"adressée?|"
    rf"contresignée?|interprétée?|effectuée?|prescrite?|opérée?|"
    rf"accompagnée?){SPACE}(?:[ée]lectroniquement{SPACE})?(?:(?:par|de){SPACE})?"
    rf"(?:l['’]interne|l['’]IDE|{TITLE})?{SPACE}?:?{SPACE}*(?P<name>{SEQUENCE})"
)
# The relatives and the staff of a sentence: one capitalised word is enough.
PERSON = re.compile(
    rf"(?<!\w)(?:[Ss]on|[Ss]a|[Ss]es|leur|[Ll]e|[Ll]a|l['’]|une?|notre|votre)?{SPACE}?(?i:épouse|époux|mari|femme|"
    rf"fils|fille|mère|père|frère|"
    rf"sœur|soeur|neveu|nièce|conjointe?|compagne|compagnon|ami|amie|voisine?|tante|oncle|cousine?|interne|"
    rf"infirmière|infirmier|IDE|"
    rf"kinésithérapeute|secrétaire|psychologue|orthophoniste|externe|confrère|consœur|collègue)"
    rf"(?:{SPACE}(?:du patient|de la patiente|de garde|du service))?(?:{SPACE}|,{SPACE}|"
    rf"{SPACE}?\({SPACE}?)(?P<name>{SEQUENCE})"
)
INITIALED = re.compile(
    rf"(?<![\w.-])(?:(?!M\.)[{UPPER}]\.{SPACE}?(?:-?[{UPPER}]\.{SPACE}?)?(?P<after>{CAPITALISED})|"
    rf"(?P<before>{CAPITALISED}){SPACE}[{UPPER}]\.(?!\w))"
)
CAPITALS = re.compile(rf"(?<![\w'’.-])(?:[dD]['’])?{CAPITALISED}(?:{SPACE}(?:d[eu] |d['’]|de la )?{CAPITALISED})+")
ORDERS: dict[re.Pattern, Order] = {AFTER_ROLE: "surname", PERSON: "first name alone"}
TITLE_WORDS = words_of("""
    m mm mr mme mmes mlle mlles melle mesdames messieurs monsieur madame mademoiselle dr drs docteur docteure
    docteurs pr prs professeur professeure professeurs pre maître me soeur sœur père épouse ép née né veuve vve
    petit petite enfant bébé patient patiente
""")
ROLE_WORDS = words_of("""
    patient patiente nom noms identité interne internes externe externes sénior senior ide infirmier infirmière aide
    aides soignant soignante secrétaire secrétariat opérateur opérateurs chirurgien chirurgiens anesthésiste
    anesthésistes iade ibode médecin médecins correspondant correspondants destinataire destinataires prescripteur
    consultant consultants responsable chef personne contact contacts kinésithérapeute kiné assistant assistante
    psychologue diététicien diététicienne tuteur tutrice curateur curatrice aidant aidante mère père conjoint
    conjointe fils fille époux signataire auteur auteurs valideur pharmacien pharmacienne sage examinateur copie
    radiologue prénom prénoms
""")
SIGN_WORDS = words_of(*(
    word + ending
    for word in """
    signé rédigé validé dicté relu saisi réalisé écrit frappé vu reçu examiné adressé contresigné interprété effectué
    prescrit opéré accompagné
    """.split()
    for ending in (" ", "e ")
))  # fmt: skip
PERSON_WORDS = words_of("""
    épouse époux mari femme fils fille mère père frère sœur neveu nièce conjoint conjointe compagne compagnon ami amie
    voisin voisine tante oncle cousin cousine interne infirmière infirmier ide kinésithérapeute secrétaire psychologue
    orthophoniste externe confrère consœur collègue
""")
ANNOUNCING = {TITLED: TITLE_WORDS, AFTER_ROLE: ROLE_WORDS, SIGNED: SIGN_WORDS, PERSON: PERSON_WORDS}
SHORTEST = 3  # letters of a surname in capitals beside a first name


def announced(clues: Clues, lists: NameLists) -> Iterator[Span]:
    """Names after a title, a role and a colon, a signature, or a word for a relative."""
    text = clues.text
    for pattern, words in ANNOUNCING.items():
        for found in clues.matches(pattern, words):
            if pattern in (SIGNED, PERSON) and not _is_person(found["name"], lists):
                continue
            yield from _name(text, found, lists, ORDERS.get(pattern, "first name"))
            if pattern is TITLED and PLURAL.match(text, found.start()):
                yield from _others(text, found.end(), lists)
    for found in clues.matches(AFTER_FIRST, words_of("prénom prénoms")):
        yield Span(found.start("name"), name_end(text, *found.span("name")), "PRENOM")
    for found in clues.matches(LOWER_TITLED, TITLE_WORDS):
        yield from _in_lower_case(found, lists)


def listed(clues: Clues, lists: NameLists) -> Iterator[Span]:
    """A first name of the list beside a surname; an initial beside a surname of the list. No eponyms."""
    text = clues.text
    for found in clues.matches(CAPITALS, lists.first_clues):
        yield from _listed_pairs(text, found, lists)
    for found in clues.matches(INITIALED, lists.last_clues):
        word = found["after"] or found["before"]
        if lists.is_last(word) and folded(word) not in NO_NAMES and not is_eponym(text, found.start()):
            yield from parts_of(text, found.start(), found.end(), lists)


def _name(text: str, found: re.Match, lists: NameLists, order: Order = "first name") -> Iterator[Span]:
    start, end = found.span("name")
    end = name_end(text, start, end)
    if end > start:
        yield from parts_of(text, start, end, lists, order)


def _others(text: str, end: int, lists: NameLists) -> Iterator[Span]:
    while found := SECOND.match(text, end):
        yield from _name(text, found, lists)
        end = found.end()


def _is_listed(name: str, lists: NameLists) -> bool:
    words = re.findall(CAPITALISED, name)
    return any(lists.is_first(word) or lists.is_last(word) for word in words) or bool(re.match(INITIAL, name))


def _is_person(name: str, lists: NameLists) -> bool:
    """Whether a word after "son fils" or "signé" is a name: of the lists, or a capitalised word that is no acronym."""
    word = re.findall(CAPITALISED, name)[:1]
    return bool(word) and (_is_listed(name, lists) or (len(word[0]) > 2 and not word[0].isupper()))


def _in_lower_case(found: re.Match, lists: NameLists) -> Iterator[Span]:
    start = found.start("name")
    for word in re.finditer(rf"{LETTER}[\w'’-]*", found["name"]):
        first, last = lists.is_first(word[0]), lists.is_last(word[0])
        if (
            not (first or last)
            and not word.start()
            and SHORT_TITLE.match(found[0])
            and not NO_NAME_BEHIND.fullmatch(word[0])
        ):
            last = True
        if not (first or last) or folded(word[0]) in WORDS and word.start():
            return
        yield Span(
            start + word.start(), start + word.end(), "NOM" if last and not (first and not word.start()) else "PRENOM"
        )


def _listed_pairs(text: str, found: re.Match, lists: NameLists) -> Iterator[Span]:
    words = [word for word in re.finditer(CAPITALISED, found[0])]
    start = found.start()
    for number, word in enumerate(words):
        if not lists.is_first(word[0]) or folded(word[0]) in NO_NAMES:
            continue
        for other in _beside(words, number):
            if _is_surname(words[other][0], word[0], other > number, lists):
                first, last = sorted((word, words[other]), key=lambda part: part.start())
                if not is_eponym(text, start + first.start()):
                    yield from parts_of(text, start + first.start(), start + last.end(), lists)
                break


def _beside(words: list[re.Match], number: int) -> Iterator[int]:
    """The next and the previous word, beyond particles such as "Le" and "El"."""
    for step, end in ((1, len(words)), (-1, -1)):
        places = range(number + step, end, step)
        yield from [place for place in places if folded(words[place][0]) not in WRITTEN_PARTICLES][:1]


def _is_surname(word: str, beside: str, comes_after: bool, lists: NameLists) -> bool:
    """Whether a word beside a first name is a surname. One of no list is, in capitals or behind the first name."""
    name = folded(word)
    if name in NO_NAMES:
        return False
    if lists.is_last(word):
        return True
    said = len(name) >= SHORTEST and bool(re.search("[aeiouy]", name))
    return (
        said
        and folded(beside) not in WORDS
        and (comes_after or word.isupper())
        and not (word.isupper() and beside.isupper())
    )
