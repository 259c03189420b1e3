from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_text import marked

from preprocess.pseudonymisation.clues import Clues
from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.forms.dates import find_dates, shifted

FOUND = """
vu le {DATE|14/02/2023}, le {DATE|14-02-23} et le {DATE|14.02.2023}
le {DATE|14 février 2023} puis le {DATE|14 fevrier 2023} et le {DATE|14 FÉVRIER 2023}
depuis le {DATE|1er mars}, revu le {DATE|3 mars}
en {DATE|mars 2023}, en {DATE|02/2023}, en {DATE|févr. 2023}
{DATE|2023-02-14} ; {DATE|2023-02-14T08:30} ; {DATE|20230214}
rendez-vous {DATE|lundi 3 mars} à 14h30
{DATE|Mardi 14/02/2023} : stable
née le {DATE_NAISSANCE|3/4/1950}, 42 ans
né à Paris le {DATE_NAISSANCE|3 mars 1950}
Date de naissance : {DATE_NAISSANCE|03/04/1950}
DDN : {DATE_NAISSANCE|03.04.50}
née Durand le {DATE_NAISSANCE|03/04/1950}
amené le {DATE|3 mars} par les pompiers
du {DATE|12/02} au {DATE|14/02/2023}
{DATE|14/02/2023}-{DATE|16/02/2023}
le {DATE|12/02} à 8h
opéré en {DATE|2019}, suivi depuis {DATE|2015}
cholécystectomie ({DATE|1998})
{DATE|1998} : appendicectomie
entre {DATE|2010} et {DATE|2015}
début {DATE|mars}, depuis {DATE|janvier}, mi-{DATE|avril}
le {DATE|14-févr-2023} et le {DATE|14/fev/2023}
le {DATE|3 sept. 2022} et le {DATE|3 Sept 2022}
le {DATE|14 mars 23} au soir
le {DATE|14 / 02 / 2023}
Entrée:{DATE|14/02/2023}
du {DATE|3 au 7 mars 2023}, les {DATE|3, 4 et 5 mars}, du {DATE|3 au 7/03/2023}
du {DATE|03/03-07/03/2023}, {DATE|01/03/23}-{DATE|07/03/23}
née le {DATE_NAISSANCE|3.4.50}, née le {DATE_NAISSANCE|03041950}
export {DATE|20230214101500}
vu le {DATE|10/10/10}
""".strip().split("\n")
NOT_FOUND = """
TA 13/8, puis 120/80
1/2 comprimé, 2/3 du temps, au 1/3 moyen
score 10/10, EVA 3/10, Apgar 10/10
posologie 1-0-1 ou 1/1/1 pendant 5 jours
version 2.3.1 du logiciel, version 12.4.10
ratio 12/24, rapport 1/20
codes I50.1, S72.0 et E11.9
tumeur T2N0M0, stade 3
pendant 3 mois, durant 15 jours, il y a 2 ans
2000 mL par jour, en 2000 ml
NaCl 9/1000, dilution 1/2000
12/08 mmHg au bras droit
environ 2000 cellules, 2019 patients
le 31/02/2023 ou le 45/12/2023
patient de 42 ans
Dix mai, il a mal
0,12/03
3 sept comprimés
HLA B27, vitamine B12 2000 µg
QT 400/440 ms
14h30, à 8h15
lot 12-34-01-02-03, série 1-14-02-2023
valeur 3,14/02/23
Novorapid 10/8/12 UI puis Lantus 12/10/20
Apgar 9/10/10, PA 14/07/80
Tramadol 10-10-10, Modopar 1/1/01
version 3.4.50
dossier 03041950
""".strip().split("\n")
FORMS = {
    "{0:%d/%m/%Y}", "{0:%d-%m-%Y}", "{0:%d.%m.%y}", "{0:%d/%m/%y}", "{0:%Y-%m-%d}", "{0:%Y-%m-%dT08:30}", "{0:%Y%m%d}",
    "{0:%d %m %Y}", "{1} {2} {0.year}", "{1} {3} {0.year}", "{4} {1} {2} {0.year}", "{4} {0:%d/%m/%Y}",
    "{1} {2} {0:%y}", "{5} {0:%d-%m-%y}",
}  # fmt: skip
MONTHS = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
CAPITALS = "JANVIER FEVRIER MARS AVRIL MAI JUIN JUILLET AOUT SEPTEMBRE OCTOBRE NOVEMBRE DECEMBRE".split()
DAYS = "lundi mardi mercredi jeudi vendredi samedi dimanche".split()


def write(form: str, day: date) -> str:
    """The date in a form; these tables are not those of the code."""
    number = "1er" if day.day == 1 else str(day.day)
    name = DAYS[day.weekday()]
    return form.format(day, number, MONTHS[day.month - 1], CAPITALS[day.month - 1], name, name.capitalize())


@pytest.mark.parametrize("sentence", FOUND)
def test_the_date_is_found_to_the_character(sentence):
    text, spans = marked(sentence)
    dates = [span for span in Rules().find(text) if span.label.startswith("DATE")]
    assert dates == spans
    assert all(shifted(text[span.start : span.end], 40) for span in dates)


@pytest.mark.parametrize("sentence", NOT_FOUND)
def test_other_numbers_stay(sentence):
    assert [found.span for found in find_dates(Clues(sentence))] == []


@given(st.sampled_from(sorted(FORMS)), st.dates(date(1970, 1, 1), date(2060, 1, 1)), st.integers(-3000, 3000))
def test_a_full_date_moves_by_days_and_back_in_its_form(form, day, days):
    text = write(form, day)
    moved = shifted(text, days)
    assert moved == write(form, day + timedelta(days))
    assert shifted(moved, -days) == text


@given(st.dates(date(1970, 1, 1), date(2060, 1, 1)))
def test_the_parts_of_a_date_are_known(day):
    found = next(find_dates(Clues(f"vu le {day.day} {MONTHS[day.month - 1]} {day.year}.")))
    assert (found.written.day, found.written.month, found.written.year) == (day.day, day.month, day.year)


@pytest.mark.parametrize(
    "text, days, moved",
    [
        ("4/3/2023", 10, "14/3/2023"),
        ("04 mars 2023", -1, "03 mars 2023"),
        ("2 mars", -1, "1er mars"),
        ("28 février", 1, "1er mars"),
        ("29 février", 1, "1er mars"),
        ("12/02", 20, "04/03"),
        ("3 mars", 365, "3 mars"),
        ("Lundi 3 mars", 9, "Mercredi 12 mars"),
        ("mars 2023", 45, "avril 2023"),
        ("MARS 2023", -60, "JANVIER 2023"),
        ("12/2023", 31, "01/2024"),
        ("décembre 2023", 31, "janvier 2024"),
        ("mars", 30, "avril"),
        ("2019", 300, "2020"),
        ("2019", 100, "2019"),
        ("14 feb 2023", 30, "16 mar 2023"),
        ("February 2023", 30, "March 2023"),
        ("14 avr. 2023", 30, "14 mai. 2023"),
        ("31/12/99", 1, "01/01/00"),
        ("14/02/2023", 10**7, None),
        ("mars 2023", 10**7, None),
        ("2019", -(10**6), None),
        ("lundi", 3, None),
        ("120/80", 3, None),
    ],
)
def test_shorter_forms_move_as_the_docstring_says(text, days, moved):
    assert shifted(text, days) == moved


@pytest.mark.parametrize(
    "text, days, moved",
    [
        ("3 au 7 mars 2023", 10, "13 au 17 mars 2023"),
        ("3 au 7 mars 2023", -5, "26 février au 2 mars 2023"),
        ("3 au 7 mars", -10, "21 au 25 février"),
        ("28 au 2 mars 2023", 1, "1er au 3 mars 2023"),
        ("3, 4 et 5 mars", 28, "31 mars, 1er et 2 avril"),
        ("3 au 7/03/2023", -5, "26/02 au 02/03/2023"),
        ("03/03-07/03/2023", 300, "28/12-01/01/2024"),
        ("30 au 3 mars 2023", 1, None),
    ],
)
def test_days_that_share_a_month_move_with_their_date(text, days, moved):
    assert shifted(text, days) == moved
