"""The words that announce a name: titles, roles, signatures, relatives, births, functions."""

import re

from preprocess.pseudonymisation.clues import words_of
from preprocess.pseudonymisation.persons.name_parts import SEQUENCE, WORDS, Order
from preprocess.pseudonymisation.words import CAPITALISED, LETTER, SPACE

TITLE = (
    r"(?:(?<![DdPp]r )(?<![DdPp]r\. )(?<!eur )M\.|MM\.|Mr\.?|MR\.?|M(?=[ \u00a0][A-Z]{2})|Mmes?\.?|MME|mmes?|"
    r"Mlles?\.?|MLLE|mlle|Mesdames|"
    r"Messieurs|[Mm]onsieur|MONSIEUR|"
    r"[Mm]adame|MADAME|[Mm]ademoiselle|[Dd]rs?\.?|DR\.?|[Dd]octeure?s?|DOCTEUR|[Pp]rs?\.?|PR\.|[Pp]rofesseure?s?|"
    r"PROFESSEUR|Pre|"
    r"Ma[îi]tre|Me(?=[ \u00a0][A-Z][a-zé]+\b)|Sœur|Soeur|Père(?=[ \u00a0][A-Z])|[ÉE]pouse|[ée]pouse|[ée]p\.|ép[ .]|"
    r"(?:[Nn]ée|NÉE|NEE)(?:\(e\))?|[Vv]euve|VEUVE|vve|[Ll]e petit|[Ll]a petite|[Ll]['’]enfant|[Ee]nfant|ENFANT|"
    r"[Bb]ébé|BEBE)"
)
TITLED = re.compile(
    rf"(?<![\w.'’-])(?:{TITLE}(?:(?<=\.)|(?!\w)){SPACE}*(?:/{SPACE}?|"
    rf"l[ea]{SPACE}(?={TITLE}(?!\w)))?)+(?P<name>{SEQUENCE})"
)
# "MM. Dupont et Martin", "les Drs Petit et Roux"
SECOND = re.compile(rf"(?:,|{SPACE}et|{SPACE}/|{SPACE}&){SPACE}(?P<name>{SEQUENCE})")
PLURAL = re.compile(r"(?:MM|Mmes|Mlles|Drs|Prs|Docteurs|Professeurs|Messieurs|Mesdames)\b")
LOWER_TITLED = re.compile(
    rf"(?<![\w'’-])(?:mme|mlle|melle|m\.|mr|monsieur|madame|dr|docteur|pr|professeur|patiente?{SPACE}?:){SPACE}+"
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
    r"(?:[Pp]atient(?:e|\(e\))?|PATIENTE?|[Nn]oms?|NOMS?|[Ii]dentité|IDENTITE|[Ii]nternes?|[Ee]xternes?|[Ss][ée]nior|"
    r"IDE|"
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
    rf"(?<![\w-]){ROLE}{ROLE_MORE}{SPACE}*(?:\(s\))?{SPACE}*[:=|]{SPACE}*(?:{TITLE}{SPACE}+)*(?P<name>{SEQUENCE})"
)
AFTER_FIRST = re.compile(
    rf"(?<!\w)(?:[Pp]rénoms?|PR[ÉE]NOMS?)(?:\(s\))?(?: usuel)?{SPACE}*[:=|]{SPACE}*(?P<name>{SEQUENCE})"
)
SIGNED = re.compile(
    rf"(?<!\w)(?i:signée?|rédigée?|validée?|dictée?|relue?|saisie?|réalisée?|écrite?|frappée?|vue?|reçue?|examinée?|"
    rf"adressée?|"
    rf"contresignée?|interprétée?|effectuée?|prescrite?|opérée?|"
    rf"accompagnée?){SPACE}(?:[ée]lectroniquement{SPACE})?(?:(?:par|de|avec){SPACE})?"
    rf"(?:l['’]interne|l['’]IDE|{TITLE})?{SPACE}?:?{SPACE}*(?P<name>{SEQUENCE})"
)
# What else stands behind a role or a verb and a colon, with a capital: "Mère : Diabète", "Opérée : Cholécystectomie".
# Behind NAME, also such a word is a name.
NAME = re.compile(r"nom|identité|identite|destinataire|signataire", re.IGNORECASE)
CLINICAL = re.compile(
    r"\w{2,}(?:ments?|tions?|sions?|ectomie|tomie|stomie|plastie|scopie|pathie|algie|émies?|urie|pnée|graphie|logie|"
    r"thérapie|tension|cilline|mycine|prazole|sartan|statine|olol|cyclique|tiques?|riques?|ites?)|"
    r"diab[èe]te|infarctus|marche|cancer|asthme|avc|hta|bpco|terme|domicile|soins?|repas|toilette|douleurs?|fièvre|"
    r"toux|chute|sortie|entrée|retour|visite|avis|bilan|suivi|contrôle|rien|aucune?|oui|non|stable|autonome|décédée?s?|"
    r"vivante?s?|santé|bonne?|bien|sevrage|régime|perfusion|prise|sonde|selles|urines|plaie|change|lever|coucher",
    re.IGNORECASE,
)
RELATIVES = """
    épouse époux mari femme fils fille mère père frère sœur soeur neveu nièce conjoint conjointe compagne compagnon ami
    amie voisin voisine tante oncle cousin cousine
"""
STAFF = """
    interne infirmière infirmier IDE kinésithérapeute secrétaire psychologue orthophoniste externe confrère consœur
    collègue
"""
OF_WHOM = (
    rf"du patient|de la patiente|de garde|du service|d[eu]{SPACE}{TITLE}{SPACE}{CAPITALISED}(?:{SPACE}{CAPITALISED})?"
)


def _person(words: str) -> re.Pattern:
    """Such a word, of whom, and a name; one capitalised word is enough."""
    return re.compile(
        rf"(?<!\w)(?i:{'|'.join(words.split())})(?:{SPACE}(?:{OF_WHOM}))?(?:{SPACE}|,{SPACE}|{SPACE}?\({SPACE}?)"
        rf"(?P<name>{SEQUENCE})"
    )


RELATIVE, MEMBER = _person(RELATIVES), _person(STAFF)
# Jean Dupont, né le 3 mars 1950; DUPONT Jean (03/03/1950)
BORN = re.compile(
    rf"(?<![\w'’.-])(?P<name>{WORDS}),?{SPACE}{{1,3}}\(?(?:[Nn][ée]{{1,2}}(?:\(e\))?{SPACE}(?:le|en|à)\b|DDN\b|"
    rf"(?:\d\d?[/.-]\d\d?[/.-](?:\d\d){{1,2}}|\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:er)?{SPACE}{LETTER}+{SPACE}\d{{4}})\))"
)
# Léa est une enfant de 6 ans
CHILD = re.compile(
    rf"(?<![\w'’.-])(?P<name>{CAPITALISED}){SPACE}est{SPACE}une?{SPACE}(?:enfant|garçon|fille|petite? f|petit g|"
    rf"nourrisson|bébé|"
    rf"adolescente?|nouveau-née?)"
)
# Jean DUPONT, cardiologue
FUNCTION = """
    interne externe praticien praticienne chef médecin cardiologue pneumologue neurologue gériatre urologue
    chirurgien chirurgienne radiologue oncologue psychiatre pédiatre gynécologue dermatologue rhumatologue
    anesthésiste infirmier infirmière cadre kinésithérapeute psychologue diététicienne secrétaire assistante
    pharmacien pharmacienne endocrinologue néphrologue hématologue gastroentérologue ophtalmologiste réanimateur
    urgentiste généraliste
"""
WITH_FUNCTION = re.compile(
    rf"(?<![\w'’.-])(?P<name>{WORDS}){SPACE}?(?:,|\(|[–-]){SPACE}?(?:{'|'.join(FUNCTION.split())}|IDE)\b"
)
ORDERS: dict[re.Pattern, Order] = {AFTER_ROLE: "surname", RELATIVE: "first name alone", CHILD: "first name alone"}
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
RELATIVE_WORDS, STAFF_WORDS = words_of(RELATIVES), words_of(STAFF)
BORN_WORDS = words_of("né née nés ne nee e DDN 1950 50")
CHILD_WORDS = words_of("enfant garçon fille petit petite nourrisson bébé adolescent adolescente nouveau")
FUNCTION_WORDS = words_of(FUNCTION, "IDE")
ANNOUNCING = {
    TITLED: TITLE_WORDS,
    AFTER_ROLE: ROLE_WORDS,
    SIGNED: SIGN_WORDS,
    RELATIVE: RELATIVE_WORDS,
    MEMBER: STAFF_WORDS,
    BORN: BORN_WORDS,
    CHILD: CHILD_WORDS,
    WITH_FUNCTION: FUNCTION_WORDS,
}
FIRST_WORDS = words_of("prénom prénoms")
