"""Other towns, streets and hospitals: names that many places in France have."""

import re
from collections.abc import Sequence

from preprocess.pseudonymisation.surrogates.numbers import other_number
from preprocess.pseudonymisation.surrogates.secret_key import Draws

# Large towns with their postcodes: their names tell little.
TOWNS = (
    ("75011", "Paris"), ("13005", "Marseille"), ("69003", "Lyon"), ("31000", "Toulouse"), ("06000", "Nice"),
    ("44000", "Nantes"), ("34000", "Montpellier"), ("67000", "Strasbourg"), ("33000", "Bordeaux"), ("59000", "Lille"),
    ("35000", "Rennes"), ("51100", "Reims"), ("42000", "Saint-Étienne"), ("76600", "Le Havre"), ("83000", "Toulon"),
    ("38000", "Grenoble"), ("21000", "Dijon"), ("49000", "Angers"), ("30000", "Nîmes"), ("63000", "Clermont-Ferrand"),
    ("72000", "Le Mans"), ("29200", "Brest"), ("37000", "Tours"), ("80000", "Amiens"), ("87000", "Limoges"),
    ("57000", "Metz"), ("25000", "Besançon"), ("45000", "Orléans"), ("76000", "Rouen"), ("68100", "Mulhouse"),
)  # fmt: skip
STREETS = (
    "rue des Lilas", "rue de l'Église", "rue du Moulin", "rue des Écoles", "place de la Mairie", "rue du Stade",
    "avenue de la Gare", "rue des Jardins", "rue du Château", "chemin des Vignes", "rue de la Fontaine",
    "impasse des Tilleuls", "rue des Acacias", "allée des Cèdres", "boulevard de la République", "rue du Lavoir",
)  # fmt: skip
HOSPITALS = ("des Tilleuls", "du Parc", "de la Vallée", "des Charmes", "du Val", "des Cèdres", "de la Plaine", "du Lac")
BOX = re.compile(r"(?i:bp|cs|tsa|boîte|boite|b\.p\.)\b")
HOUSE = re.compile(r"\d+")
KINDS = re.compile(r"(?i:chu|chru|chr|ch|chi|hôpital|hopital|clinique|centre hospitalier|polyclinique|ehpad|ssr|usld)")


def other_town(text: str, draws: Draws, beside: str = "") -> str:
    """The name of another town, the one of the postcode `beside` it; in capitals where the text is."""
    place = _place(beside or text.casefold(), draws)
    town = TOWNS[place if TOWNS[place][1].casefold() != text.casefold() or beside else place - 1][1]
    return town.upper() if text.isupper() else town


def other_postcode(text: str, draws: Draws) -> str:
    """The postcode of another town."""
    digits = "".join(sign for sign in text if sign.isdecimal())
    return text.replace(digits, TOWNS[_place(digits, draws)][0]) if digits in text else other_number(text, draws, "ZIP")


def _place(text: str, draws: Draws) -> int:
    """The number of a town; for a postcode, of one in another department."""
    place = draws.number("VILLE", text, len(TOWNS))
    return place - (TOWNS[place][0][:2] == text[:2])


def _other(text: str, names: Sequence[str], draws: Draws, label: str) -> str:
    """One of the names that is not in the text."""
    place = draws.number(label, text.casefold(), len(names))
    return names[place - (names[place].casefold() in text.casefold())]


def other_address(text: str, draws: Draws) -> str:
    """Another address: a box stays a box with another number, a house gets a street that many towns have."""
    if BOX.match(text):
        return other_number_after(BOX, text, draws)
    street = _other(text, STREETS, draws, "ADRESSE")
    number = HOUSE.match(text)
    other = f"{draws.number('house', text.casefold(), 98) + 1}{_between(text)} {street}" if number else street
    return other.upper() if text.isupper() else other


def _between(text: str) -> str:
    """The comma behind the number of a house, if there is one."""
    return "," if re.match(r"\d+(?: ?(?:bis|ter|quater))?,", text) else ""


def other_number_after(words: re.Pattern[str], text: str, draws: Draws) -> str:
    """The words at the start, and other digits behind them."""
    found = words.match(text)
    end = found.end() if found else 0
    return text[:end] + re.sub(r"\d", lambda digit: str(draws.number("box", text + str(digit.start()), 10)), text[end:])


def other_hospital(text: str, draws: Draws) -> str:
    """A hospital of the same kind with another name."""
    kind = KINDS.match(text)
    other = f"{kind[0] if kind else 'hôpital'} {_other(text, HOSPITALS, draws, 'HOPITAL')}"
    return other.upper() if text.isupper() and len(text) > 4 else other
