"""IPP, NDA, telephones, e-mail and web addresses."""

import pytest
from marked_text import marked

from alibert_common.errors import InputError
from preprocess.pseudonymisation.find import Rules

FOUND = """
IPP | {IPP|8001234567}
N° de séjour | {NDA|220012345}
IPP : {IPP|8001234567}
IPP n° {IPP|80 0123 4567}, vu en consultation
NIP {IPP|0012345678}
N° patient : {IPP|123456789}
Identifiant permanent du patient : {IPP|P12345678}
NDA : {NDA|123456789}
N° dossier : {NDA|20230012}
Dossier n° {NDA|784512369}
N° de séjour : {NDA|301245789}
IEP {NDA|130045678}
Tél. : {TEL|01 23 45 67 89}
Tel {TEL|0123456789}
joignable au {TEL|06.12.34.56.78} le matin
Fax:{TEL|01-23-45-67-89}
{TEL|+33 (0)1 23 45 67 89}
{TEL|+33 1 23 45 67 89}
{TEL|0033 6 12 34 56 78}
{TEL|0033612345678}
{TEL|+262 262 12 34 56}
{TEL|+590 590 12 34 56}
numéro vert {TEL|0 800 123 456}
{TEL|08 00 12 34 56}
tél {TEL|0612 345 678}
Portable : {TEL|06 12 34 56 78} / domicile : {TEL|04 78 12 34 56}
tél : {TEL|(0)1 23 45 67 89}
Secrétariat : {TEL|01 23 45 67 89} - {TEL|01 23 45 67 90}
poste {TEL|4512}, poste n° {TEL|34512}
téléphone {TEL|+32 2 555 12 12}
{MAIL|jean.dupont@chu-lyon.fr} et {MAIL|J_DUPONT+rdv@sub.hopital.org}.
écrire à {MAIL|secretariat (at) hopital.fr}, merci
{MAIL|dupont@ap-hp.fr}; suite
voir {URL|https://www.chu-lyon.fr/rdv?id=12}, puis {URL|www.doctolib.fr}.
({URL|http://hopital.fr/a(1})
rendez-vous sur {URL|doctolib.fr} ou {URL|sante.gouv.fr/vaccins}
""".strip().split("\n")
NOT_FOUND = """
sous IPP 40 mg le matin
IPP : oui, IPP 20 mg x 2
relais IPP 80 mg en bolus puis 8 mg/h
le dossier 12 a été revu
composer le 15, le 18 ou le 112
tél. 3114 ou 36 46, joindre au 15
Plaquettes 152000, leucocytes 12500
hémoglobine 12.5 13.2 11.8 10.9 g/dL
ratio 01/02, 0.12 puis 0.34 et 0.56
PMID 31234567
au poste de soins, poste 4
TA 12/8 13/7 14/8 12/7 13/8
diurèse 1500 2000 1800 mL
lot 0123456789012
EVA 0 1 2 3 4 5 6 7 8 9
2 g/j, max.4 g
Na 140 K 4.0 Cl 100 HCO3 24
p.ex. le matin
rapport E/e' 12, fr 18/min
""".strip().split("\n")


@pytest.mark.parametrize("sentence", FOUND)
def test_the_number_is_found_to_the_character(sentence):
    text, spans = marked(sentence)
    assert Rules().find(text) == spans


@pytest.mark.parametrize("sentence", NOT_FOUND)
def test_other_numbers_stay(sentence):
    assert Rules().find(sentence) == []


@pytest.mark.parametrize(
    "pattern, sentence",
    [
        (r"\b7\d{9}\b", "séjour de {IPP|7001234567}"),
        (r"\bdos\.\s*(?P<id>\d+)", "dos. {IPP|12345} ouvert"),
        (r"\b(80|90)\d{8}\b", "vu {IPP|8001234567} ici"),
        (r"\b(?P<type>HX)-(?P<id>\d{4})", "HX-{IPP|1234}"),
    ],
)
def test_a_hospital_gives_its_own_pattern(pattern, sentence):
    text, spans = marked(sentence)
    assert Rules(ipp=(pattern,)).find(text) == spans
    assert Rules().find(text) == []


@pytest.mark.parametrize("pattern, said", [("(7", "cannot be read"), (r"\d*", "the empty text")])
def test_a_pattern_that_cannot_work_is_refused(pattern, said):
    with pytest.raises(InputError, match=said):
        Rules(nda=(pattern,)).find("texte")
