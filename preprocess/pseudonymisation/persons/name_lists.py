"""Lists of first names and surnames, one name a line; the shipped ones are of INSEE."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from alibert_common.errors import InputError
from alibert_common.files import read_text
from preprocess.pseudonymisation.clues import words_of
from preprocess.pseudonymisation.words import folded

LISTS = Path(__file__).parents[1] / "lists"
FIRST_NAMES, SURNAMES = LISTS / "first_names.txt", LISTS / "surnames.txt"
# Surnames and first names that are words too: in lower case, and where a sentence begins, they are taken for the word.
WORDS = frozenset(
    folded(word)
    for word in """
    petit grand gros long court blanc noir brun roux rouge rose gris vert blond beau bon bonne fort doux sage vieux
    jeune gay gai riche fin franc sec sourd muet moyen mauvais masse masson barre baron barbe bec bouche bras brunet
    boucher boulanger berger marchand marin mercier meunier charpentier carpentier chevalier tailleur potier cordier
    couturier tisserand verrier maçon lemaitre maitre prévost maréchal page pages comte duc roi roy prince noble
    clerc moine abbé parent cousin neveu oncle voisin ami bourgeois normand breton picard lombard allemand langlois
    fontaine rivière roche rocher pierre moulin colline coste côte vallée val mont bois buisson forest forêt champ
    champs prairie pré jardin grenier maison porte pont tour marche place rue chemin etang lac mer riviere noyer
    poirier pommier chêne olive olivier lilas laurier fleur fleury rosier violette marguerite capucine iris anis
    prune cerise merle renard loup loiseau oiseau lièvre cerf mouton agneau bœuf taureau cheval coq poulain poule
    pigeon corbeau faucon lion janvier mars avril mai juin juillet août septembre octobre novembre décembre lundi
    mardi noël toussaint pascal pâques matin midi soir hiver été printemps jour nuit beaucoup toujours jamais bonnet
    chauvin claire clair clément constant constance prudence patience espérance victoire france paris marine aimé
    aimée désiré désirée parfait modeste innocent juste vaillant hardy hardi courtois sauvage samson salmon major
    mineur majeur second premier dernier tiers quart tissier lame laine coton fil aiguille corde cordon chaîne
    anneau clou couteau marteau mallet marteau pic pieu barreau sang coeur cœur corps tête pied jambe cou dos os
    peau œil rate foie rein poumon sein ventre cuisse hanche coude bain bains eau vin sel sucre pain lait miel
    beurre huile potage soupe repas diner goutte verre tasse lot lots pas point suite cas fait signe forme test chat
    """.split()
)  # fmt: skip


@dataclass(frozen=True)
class NameLists:
    """First names and surnames, without case and accents."""

    first: frozenset[str]
    last: frozenset[str]

    @cached_property
    def first_clues(self) -> frozenset[bytes]:
        """The words of lines that can hold a first name."""
        return words_of(*self.first)

    @cached_property
    def last_clues(self) -> frozenset[bytes]:
        """The words of lines that can hold a surname."""
        return words_of(*self.last)

    def is_first(self, word: str) -> bool:
        """Whether the word is a first name, or is composed of them: Anne-Lise, but not Martin-Durruty."""
        name = folded(word)
        parts = name.split("-")
        composed = len(parts) > 1 and (
            self.first.issuperset(parts) or parts[0] in self.first and parts[0] not in self.last
        )
        return name in self.first or composed

    def is_last(self, word: str) -> bool:
        """Whether the word is a surname, or one of two joined by a hyphen."""
        name = folded(word)
        return name in self.last or ("-" in name and any(part in self.last for part in name.split("-")))


def read_names(file: Path) -> list[str]:
    """The names of a file in its order; '#' begins a comment. Raises InputError for a file without a name."""
    names = [line.partition("#")[0].strip() for line in read_text(file).split("\n")]
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        raise InputError(f"{file}: no name; give one name a line.")
    return names


@lru_cache(4)
def name_lists(first_names: Path = FIRST_NAMES, surnames: Path = SURNAMES) -> NameLists:
    """The names of two files."""
    first, last = (frozenset(map(folded, read_names(file))) for file in (first_names, surnames))
    return NameLists(first, last)
