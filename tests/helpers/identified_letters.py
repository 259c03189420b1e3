"""Clinical letters of invented patients whose identifiers are known by construction.

    python tests/helpers/identified_letters.py --count 40 --seed 11 --made-names > train.jsonl

Half of the surnames and first names are in no list that the project ships; those of --made-names are in none, nor in
other letters. The fields are written by hand here, and owe nothing to the patterns of preprocess.pseudonymisation.
"""

import argparse
import json
import re
import unicodedata
from datetime import date, timedelta
from random import Random
from typing import NamedTuple

import letter_sentences as sentences

from preprocess.pseudonymisation.persons.name_lists import FIRST_NAMES, SURNAMES, read_names
from preprocess.pseudonymisation.spans import Span

COMMON = """Martin Bernard Petit Durand Moreau Lefèvre Roux Garnier Legrand Dupont Blanc Mercier Guérin Marchand Lopez
Fontaine Chevalier Garcia Faure Rousseau""".split()
RARE = """Trinquet Horellou Baldauf Dubernet Durepaire Marciniak Cocaud Burnichon Sadowski Lenogue Urrutia Chantreux
Vantomme Facchini Idiart Loubère Dutrieux Galabert Chamayou Jendoubi Stankovic Paillusson Batigne Trannoy Gibergues
Tessonneau Gleyzes Kolodziej Steinbach Leboutet Demangeat Péniguel Mosser Goasdoué Vanthuyne Mozziconacci Béjaoui
Momboisse Lamorlette Durruty Moutardier Bonelli Cucchi Lerouvillois Haddou Casteleyn Kheloufi Deroubaix Lance
Play N'Diaye Trần""".split() + [
    "Le Trinquet", "De Vantomme", "El Jendoubi", "Ben Haddou", "Trannoy-Mosser", "Martin-Durruty", "Van Casteleyn",
    "de la Batigne", "d'Urrutia", "O'Brady", "Da Fonseca",
]  # fmt: skip
FIRST = """Jean Marie Pierre Michel Françoise Monique Catherine Philippe Nathalie Isabelle Jacqueline Sylvie Nicolas
Camille Sophie Hélène Émilie Jean-Pierre Anne-Marie Théo Léa Karim Fatima Manon Hugo""".split()
RARE_FIRST = """Maïwenn Paloma Marouane Gwendal Kaïs Assia Oumar Aymen Ismaël Mustapha Mandy Jawad Igor Zohra Lisandro
Bérénice-Luce Ogier Sixtine Tugdual Enguerrand Wassila""".split()
TOWNS = {
    "Lyon": "69003", "Villeurbanne": "69100", "Nantes": "44000", "Bourg-en-Bresse": "01000", "Saint-Étienne": "42100",
    "Le Mans": "72000", "Aix-en-Provence": "13100", "L'Haÿ-les-Roses": "94240", "La Roche-sur-Yon": "85000",
    "Ajaccio": "20090", "Saint-Denis": "97400", "Brest": "29200", "Neuilly-sur-Marne": "93330", "Évreux": "27000",
}  # fmt: skip
STREETS = (
    "12 bis, rue du Général-de-Gaulle", "3 avenue Victor Hugo", "45, boulevard Jean Jaurès", "7 impasse des Lilas",
    "128 rue de la République", "5 allée Paul-Verlaine", "lieu-dit La Croix Blanche", "22 place Bellecour",
    "9 chemin du Moulin Vieux", "1 rue du 8 mai 1945", "14 quai Saint-Antoine", "6 rue des frères Lumière",
    "17 route de Vannes", "2 bd de la Liberté", "8 ter rue Pasteur", "33 cours Lafayette",
)  # fmt: skip
BUILDINGS = ("Bât. B, 3e étage", "Résidence Les Tilleuls", "Appt 12", "Bâtiment C", "Esc. 2, 4ème étage")
BOXES = ("BP 123", "CS 41234", "B.P. 7", "TSA 20001")
HOSPITALS = (
    "CHU de Nantes", "Hôpital Saint-Louis", "Clinique des Cèdres", "hôpital Édouard Herriot", "CH de Vienne",
    "CHRU de Brest", "Centre hospitalier Lyon Sud", "Institut Curie", "Hôpital Nord", "clinique Pasteur",
    "Centre Hospitalier Universitaire de Rennes", "EHPAD Les Glycines", "Polyclinique du Parc", "GHU Paris Nord",
)  # fmt: skip
MONTHS = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
DAYS = "lundi mardi mercredi jeudi vendredi samedi dimanche".split()
SITES = ("www.chu-exemple.fr", "https://www.hopital-exemple.fr/rdv?id=12", "doctolib.fr", "http://ars.sante.fr")
FIELD = re.compile(r"<(?P<label>\w+) (?P<field>[\w.]+)>")


class Letter(NamedTuple):
    """A letter, its patient, its identifiers in the order of the text, and the names that a database has."""

    id: str
    patient: str
    text: str
    spans: list[Span]
    known: list[str]


def bare(text: str) -> str:
    """The text without accents."""
    return "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))


def capitals(draw: Random, name: str) -> str:
    """The name in capitals, as most systems of hospitals write it: without accents half of the time."""
    return (bare(name) if draw.random() < 0.5 else name).upper()


def written(draw: Random, day: date, style: int | None = None) -> str:
    """A date in one of the forms that clinical letters have."""
    month = MONTHS[day.month - 1]
    first = f"{day.day}er" if day.day == 1 else f"{day.day}"
    forms = (
        f"{day:%d/%m/%Y}", f"{day:%d/%m/%y}", f"{day:%d-%m-%Y}", f"{day:%d.%m.%Y}", f"{first} {month} {day.year}",
        f"{day:%Y-%m-%d}", f"{day.day}/{day.month}/{day.year}", f"{first} {month.upper()} {day.year}",
        f"{day:%d.%m.%y}",
        f"{first} {bare(month)} {day.year}",
    )  # fmt: skip
    return draw.choice(forms) if style is None else forms[style]


def phone(draw: Random) -> str:
    """A number of a telephone."""
    digits = f"0{draw.randint(1, 9)}{draw.randrange(10**8):08}"
    pairs = [digits[place : place + 2] for place in range(0, 10, 2)]
    rest = " ".join(pairs)[1:]
    return draw.choice((" ".join(pairs), ".".join(pairs), digits, "-".join(pairs), f"+33 (0){rest}", f"+33 {rest}"))


def social_security(draw: Random, birth: date, spaced: bool) -> str:
    """A NIR with its key."""
    department = draw.choice(("75", "69", "2A", "2B", "13"))
    body = f"{draw.choice('12')}{birth:%y%m}{department}{draw.randint(1, 900):03}{draw.randint(1, 999):03}"
    key = 97 - int(body.replace("2A", "19").replace("2B", "18") if department[1] in "AB" else body) % 97
    if not spaced:
        return f"{body}{key:02}"
    return " ".join((body[0], body[1:3], body[3:5], body[5:7], body[7:10], body[10:], f"{key:02}"))


def made_name(draw: Random, names: list[str]) -> str:
    """The beginning of one name with the end of another: a name that a model can know by its place only."""
    while True:
        begin, end = draw.sample(names, 2)
        name = begin[: len(begin) // 2 + 1] + end[len(end) // 2 :].lower()
        if name.isalpha() and name not in {*names, *COMMON, *RARE, *FIRST, *RARE_FIRST}:
            return name


class Fields:
    """The fields of the sentences for one patient; what differs between letters is drawn by `draw`."""

    def __init__(self, patient: Random, made_names: bool = False):
        name = lambda: patient.choice(patient.choice((COMMON, RARE)))  # noqa: E731
        first = lambda: patient.choice(patient.choice((FIRST, RARE_FIRST)))  # noqa: E731
        if made_names:
            name = lambda: made_name(patient, read_names(SURNAMES))  # noqa: E731
            first = lambda: made_name(patient, read_names(FIRST_NAMES))  # noqa: E731
        self.last, self.last2, self.first, self.kin = name(), name(), first(), first()
        self.doctor, self.doctor2 = name(), name()
        self.birth = date(1930, 1, 1) + timedelta(patient.randrange(30000))
        self.town, self.town2 = patient.sample(sorted(TOWNS), 2)
        self.street, self.building, self.box = patient.choice(STREETS), patient.choice(BUILDINGS), patient.choice(BOXES)
        self.phone, self.phone2, self.hospital = phone(patient), phone(patient), patient.choice(HOSPITALS)
        self.ipp, self.nda = f"{patient.randrange(10**9, 10**10)}", f"{patient.randrange(10**7, 10**9)}"
        self.mail = f"{bare(self.first)}.{bare(self.last)}@exemple.fr".lower().replace(" ", "").replace("'", "")

    def value(self, field: str, draw: Random) -> str:
        """The words of a field."""
        own = {
            "Last": self.last, "Last2": self.last2, "First": self.first, "Kin": self.kin, "Doctor": self.doctor,
            "Doctor2": self.doctor2, "I.": f"{bare(self.kin)[0]}.", "Town": self.town, "Town2": self.town2,
            "zip": TOWNS[self.town], "building_and_street": f"{self.building}, {self.street}",
            "last": draw.choice((self.last, bare(self.last))).lower(),
            "extension": f"{draw.randint(1000, 9999)}", "url": draw.choice(SITES),
        }  # fmt: skip
        if field in own:
            return own[field]
        if field in ("LAST", "DOCTOR", "DOCTOR2", "TOWN"):
            return capitals(draw, own[field.capitalize()])
        if field == "TOWN_CEDEX":
            return f"{capitals(draw, self.town)} CEDEX {draw.choice(('', '0', '9'))}".rstrip().replace(" 0", " 03")
        if field == "birth":
            return written(draw, self.birth)
        if field.startswith("nir"):
            return social_security(draw, self.birth, field == "nir")
        day = date(2015, 1, 1) + timedelta(draw.randrange(3650))
        dates = {
            "date": written(draw, day), "date2": written(draw, day + timedelta(20)), "year": f"{day.year}",
            "month": draw.choice((f"{MONTHS[day.month - 1]} {day.year}", f"{day:%m/%Y}")), "short": f"{day:%d/%m}",
            "weekday": f"{DAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}".replace(" 1 ", " 1er "),
        }  # fmt: skip
        return dates[field] if field in dates else getattr(self, field)


def filled(template: str, fields: Fields, draw: Random) -> tuple[str, list[Span]]:
    """The sentence of a template, "|" being a line end, and its identifiers."""
    text, place, spans = "", 0, []
    for found in FIELD.finditer(template):
        text += template[place : found.start()].replace("|", "\n")
        start, place = len(text), found.end()
        text += fields.value(found["field"], draw)
        spans.append(Span(start, len(text), found["label"]))
    return text + template[place:].replace("|", "\n"), spans


def letter(number: int, seed: int, held_out: bool, made_names: bool = False) -> Letter:
    """The letter of this number; four letters in a row are of one patient."""
    patient = number // 4
    draw = Random(f"letter {seed} {number}")
    kinds = ("HEADERS", "SENTENCES", "PLAIN", "SIGNATURES")
    headers, within, plain, signatures = (
        getattr(sentences, ("HELD_OUT_" if held_out else "") + kind) for kind in kinds
    )
    body = draw.sample(within, draw.randint(3, 6)) + draw.sample(plain, draw.randint(5, 9))
    draw.shuffle(body)
    templates = [*draw.sample(headers, draw.randint(2, 3)), *body, draw.choice(signatures)]
    fields = Fields(Random(f"patient {seed} {patient}"), made_names)
    text, spans = "", []
    for template in templates:
        sentence, found = filled(template, fields, draw)
        spans += [Span(len(text) + start, len(text) + end, label) for start, end, label in found]
        text += sentence + draw.choice(("\n", "\n", " ") if template in body else ("\n",))
    return Letter(f"{seed}-{number}", f"{seed}-{patient}", text.rstrip(), spans, [fields.last, fields.first])


def letters(count: int, seed: int, held_out: bool = False, made_names: bool = False) -> list[Letter]:
    """Letters of numbers from 0. The held-out ones have other sentences throughout."""
    return [letter(number, seed, held_out, made_names) for number in range(count)]


def annotated_line(one: Letter) -> str:
    """The letter as a line of annotated JSON."""
    entities = [{"start": start, "end": end, "label": label} for start, end, label in one.spans]
    record = {"id": one.id, "patient": one.patient, "text": one.text, "entities": entities}
    return json.dumps(record, ensure_ascii=False)


def main() -> None:
    """Print annotated letters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, required=True, help="number of letters")
    parser.add_argument("--seed", type=int, required=True, help="of the letters")
    parser.add_argument("--held-out", action="store_true", help="letters of the sentences that no rule was made with")
    parser.add_argument("--made-names", action="store_true", help="names that are put together from parts of others")
    options = parser.parse_args()
    for one in letters(options.count, options.seed, options.held_out, options.made_names):
        print(annotated_line(one))


if __name__ == "__main__":
    main()
