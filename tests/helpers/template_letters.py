"""Letters of invented patients, made from templates: most lines are equal, a few fields differ.

    python tests/helpers/template_letters.py 20000 --seed 1 > letters.txt

A letter has some 2 kB. Each depends on the seed and its number only, so memory does not grow with their count. A
quarter of them are follow-ups: a letter before with a few words edited, as a physician carries it forward.
"""

import argparse
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

FOLLOW_UPS = 0.25  # share of the letters
REACH = 200  # letters before, at most, where the letter that is followed up stands
EDITED = (0.01, 0.08)  # share of the words that a follow-up edits
OPTIONAL = 0.6  # share of the letters that have a given optional paragraph

FIELDS = {
    "name": "Martin Bernard Thomas Petit Robert Richard Durand Dubois Moreau Laurent Simon Michel Lefebvre Leroy Roux "
    "David Bertrand Morel Fournier Girard Bonnet Dupont Lambert Fontaine Rousseau Vincent Muller Lefevre Faure Andre "
    "Mercier Blanc Guerin Boyer Garnier Chevalier Francois Legrand Gauthier Garcia Perrin Robin Clement Morin",
    "first": "Jeanne Marie Louise Camille Claire Anne Sophie Julie Pierre Jean Paul Louis Jacques Henri Luc Marc Yves "
    "Odile Simone Nadia Karim Fatima Ahmed Linh Chiara Pablo Irena Aminata Moussa Yasmine Théo Léa Hugo Manon",
    "month": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "town": "Lyon Nantes Lille Rennes Angers Tours Dijon Metz Nancy Brest Caen Rouen Pau Nice Toulon Limoges Poitiers",
    "drug": "amoxicilline paracétamol furosémide bisoprolol ramipril metformine atorvastatine apixaban levothyroxine "
    "prednisone oméprazole amlodipine salbutamol insuline morphine gabapentine sertraline allopurinol méthotrexate",
    "sign": "dyspnée toux fièvre asthénie céphalées vertiges nausées prurit œdèmes palpitations lombalgies "
    "arthralgies amaigrissement insomnie diarrhée constipation myalgies paresthésies dysphagie hémoptysie",
    "organ": "foie rein rate poumon cœur pancréas côlon estomac thyroïde prostate vessie utérus genou hanche rachis",
    "disease": "hypertension artérielle,diabète de type 2,asthme,fibrillation auriculaire,hypothyroïdie,goutte,"
    "insuffisance rénale chronique,BPCO,polyarthrite rhumatoïde,migraine,dépression,ostéoporose,épilepsie,psoriasis",
    "course": "stable,en amélioration,en aggravation progressive,fluctuante,sans particularité,à surveiller,rassurante",
}
VALUES = {name: words.split("," if "," in words else " ") for name, words in FIELDS.items()}
RECORD = "{disease} connue depuis {year}, traitée par {drug} {dose} mg par jour, évolution {course}."
SPECIALITIES = {
    "cardiologie": ("ECG", "échocardiographie", "rythme sinusal", "auscultation cardiaque", "insuffisance cardiaque"),
    "pneumologie": ("spirométrie", "scanner thoracique", "murmure vésiculaire", "auscultation", "exacerbation"),
    "neurologie": ("EEG", "IRM cérébrale", "réflexes ostéotendineux", "examen moteur", "crise convulsive"),
    "rhumatologie": ("radiographie", "échographie articulaire", "mobilité du rachis", "palpation", "poussée"),
    "endocrinologie": ("HbA1c", "échographie thyroïdienne", "poids", "examen des pieds", "hypoglycémie"),
    "néphrologie": ("créatininémie", "échographie rénale", "pression artérielle", "examen des fosses lombaires", "OAP"),
    "gastroentérologie": ("bilan hépatique", "coloscopie", "transit", "palpation abdominale", "hémorragie digestive"),
    "oncologie": ("scanner", "TEP", "état général", "palpation des aires ganglionnaires", "neutropénie fébrile"),
}
# Each line: its text, and whether it is in every letter. A template takes the terms of its speciality in {0} to {4}.
LINES = (
    ("Service de {speciality}, centre hospitalier de {town}, secrétariat ouvert du lundi au vendredi de 9 h à 17 h", 1),
    ("{town}, le {day} {month} {year}, dossier numéro {number}", 1),
    ("Cher confrère, je vous remercie de m'avoir adressé {first} {name}, âgé(e) de {age} ans, en {speciality}.", 1),
    ("Motif de la consultation : {sign} et {sign} depuis {small} semaines, dans un contexte de {disease}.", 1),
    ("Antécédents : " + RECORD, 1),
    ("Autre antécédent : " + RECORD, 0),
    ("Pas d'allergie médicamenteuse connue à ce jour. Tabagisme estimé à {small} paquets-années, pas d'alcool.", 0),
    ("Traitement habituel : {drug} {dose} mg le matin, {drug} {dose} mg le soir, {drug} si besoin.", 1),
    ("À l'examen, la tension artérielle est à {systole}/{small} mmHg, le pouls à {pulse} par minute, régulier.", 1),
    ("Le poids est de {pulse} kg, la saturation de {small} % en air ambiant, la température de 37,{digit} degrés.", 0),
    ("L'état général est conservé. L'{3} ne retrouve pas d'anomalie franche, en dehors d'une gêne du {organ}.", 1),
    ("Les mollets sont souples et indolores, il n'existe pas de signe de phlébite ni d'œdème des membres.", 0),
    ("L'examen complémentaire du jour ({0}) montre une situation {course}, comparable à celle de {month} {year}.", 1),
    ("La {1} réalisée le {day} {month} retrouve une image de {small} mm du {organ}, {course}.", 0),
    ("Le bilan biologique : hémoglobine {small},{digit} g/dL, CRP {small} mg/L, créatinine {pulse} µmol/L.", 1),
    ("Le contrôle de {2} est {course}, et le patient dit ressentir moins de {sign} depuis la dernière visite.", 0),
    ("Au total, le tableau est celui d'une {disease} {course}, avec {sign}, sans argument pour une {4}.", 1),
    ("Je propose de poursuivre {drug} à {dose} mg par jour et d'introduire {drug} {dose} mg pendant {small} jours.", 1),
    ("Les règles d'hygiène de vie ont été rappelées : activité physique régulière, alimentation variée, sommeil.", 0),
    ("Le patient a été informé des signes qui doivent l'amener à consulter en urgence, en particulier une {4}.", 1),
    ("Une nouvelle {1} sera programmée dans {digit} mois, avec un contrôle de {2} et un bilan biologique.", 0),
    ("Je le reverrai en consultation le {day} {month} prochain, et reste à votre disposition pour tout avis.", 1),
    ("En vous remerciant de votre confiance, je vous prie de croire, cher confrère, à mes salutations dévouées.", 1),
    ("Docteur {first} {name}, praticien hospitalier, service de {speciality}, copie au dossier du patient", 1),
)  # fmt: skip


class Letter(NamedTuple):
    """Lines of a letter, its template, and the number of the letter that it follows up or None."""

    lines: list[str]
    template: str
    follows: int | None

    @property
    def text(self) -> str:
        """The lines, one below the other."""
        return "\n".join(self.lines)


class Fields(dict):
    """Draws a value for every field of a line."""

    def __init__(self, draw: Random, template: str):
        super().__init__(speciality=template)
        self.draw = draw

    def __missing__(self, name: str) -> str:
        ranges = {"day": (1, 28), "year": (1990, 2025), "number": (10**6, 10**7), "age": (18, 99), "small": (2, 60),
                  "dose": (1, 500), "systole": (90, 180), "pulse": (45, 120), "digit": (0, 9)}  # fmt: skip
        return str(self.draw.randint(*ranges[name])) if name in ranges else self.draw.choice(VALUES[name])


def first_letter(number: int, seed: int) -> Letter:
    """The letter of this number if it is no follow-up."""
    draw = Random(seed * 10**10 + number)
    template = draw.choice([*SPECIALITIES])
    fields, terms = Fields(draw, template), SPECIALITIES[template]
    chosen = [line for line, always in LINES if always or draw.random() < OPTIONAL]
    for index, line in enumerate(chosen):
        for place, term in enumerate(terms):
            line = line.replace(f"{{{place}}}", term)
        chosen[index] = line.format_map(fields)
    return Letter(chosen, template, None)


def letter(number: int, seed: int) -> Letter:
    """The letter of this number."""
    draw = Random(seed * 10**10 + number + 5 * 10**9)
    if not number or draw.random() >= FOLLOW_UPS:
        return first_letter(number, seed)
    follows = number - draw.randint(1, min(number, REACH))
    before, share = first_letter(follows, seed), draw.uniform(*EDITED)
    lines = [
        " ".join(draw.choice(VALUES["sign"]) if draw.random() < share else word for word in line.split())
        for line in before.lines
    ]
    return Letter(lines, before.template, follows)


def letters(count: int, seed: int) -> Iterator[Letter]:
    """Stream the letters from number 0."""
    return (letter(number, seed) for number in range(count))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, help="number of letters")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = parser.parse_args()
    for one in letters(options.count, options.seed):
        print(one.text, end="\n\n")


if __name__ == "__main__":
    main()
