import pytest
from marked_text import marked

from preprocess.pseudonymisation.find import Rules
from preprocess.pseudonymisation.persons.name_lists import FIRST_NAMES, SURNAMES, name_lists, read_names

FOUND = """
Patient : {NOM|DUPONT} {PRENOM|Jean}
Nom : {NOM|TRINQUET}  Prénom : {PRENOM|Assia}
Nom de naissance : {NOM|Le Goff}
Nom de naissance | {NOM|LE GALL}
Prénom | {PRENOM|Assia}
IDE : {NOM|Clément}
Nom : {NOM|Marche}
Patient : {NOM|Gomes}
Mme {NOM|Trinquet} vue ce jour
M. {NOM|TRINQUET} est sorti
Monsieur {PRENOM|Jean-Pierre} {NOM|DURAND}
Mlle {NOM|Horellou}, née {NOM|Baldauf}
le Dr {PRENOM|A.} {NOM|Le Goff} et le Pr {NOM|Trinquet}
Docteur {PRENOM|J-P.} {NOM|Trinquet}
Dr {NOM|TRINQUET} {PRENOM|J.}
Monsieur le Professeur {NOM|Trinquet}
MM. {NOM|Trinquet} et {NOM|Horellou}
les Drs {NOM|Trinquet}, {NOM|Horellou} et {NOM|Baldauf}
Maître {NOM|Trinquet}, tuteur
Madame {NOM|de la Tour}, Mme {NOM|d'Almeida}, M. {NOM|Van Casteleyn}, M. {NOM|El Haddou}
Mme {NOM|MARTIN-DURRUTY} {PRENOM|Anne-Marie}
M. {PRENOM|Nathalie} {NOM|EL JENDOUBI}
Mme {NOM|O'Brady}
Rédigé par : {PRENOM|Sophie} {NOM|Trinquet}, interne
Signé : {PRENOM|J.} {NOM|MOREL}
interne : {NOM|Trinquet}
IDE {PRENOM|Sophie} {NOM|Martin}
son fils {PRENOM|Paul} et sa fille {PRENOM|Léa}
l'épouse du patient, {PRENOM|Monique}, est inquiète
mme {NOM|trinquet} sort demain
{PRENOM|Sophie} {NOM|Bernard} a été revue
{NOM|BERNARD} {PRENOM|Sophie} a été revue
{PRENOM|Nathalie} {NOM|El Jendoubi} sort demain
vu avec {PRENOM|Nathalie} {NOM|TRINQUET} ce jour
Mme {NOM|Trinquet} va bien. {NOM|Trinquet} sort. Bilan de {NOM|TRINQUET}, dossier {NOM|trinquet}
M. {NOM|Petit} a un petit épanchement. Petit épanchement. Le bilan de {NOM|Petit} est bon
M. {NOM|Petit} : un foie plus petit
Mme {NOM|Poitrinal} souffre de la poitrinal
Mme {NOM|Péniguel}, et {NOM|PENIGUEL} encore
Mme {NOM|Martin-Durruty} : {NOM|Durruty} va bien
Mme {NOM|Trinquet} HTA traitée
Mme {NOM|Trinquet} FRCV élevé
Patient : {NOM|Martin} {PRENOM|Thomas}
M. {PRENOM|Thomas} {NOM|Martin}
Mme {PRENOM|Nathalie} {NOM|Le GOFF}
Dr {NOM|Trinquet} Service de Cardiologie
Dr {NOM|Trinquet} Cardiologue
Dr {NOM|Parkinson} : maladie de Parkinson
""".strip().split("\n")
NOT_FOUND = """
IDE : Pansement refait. Kiné : Marche dans le couloir
Mère : Diabète. Père : Infarctus à 50 ans
Patient : Apyrétique. Opérée : Cholécystectomie
Prescrit : Amoxicilline. Contact : Isolement
maladie de Parkinson, signe de Babinski
score de Glasgow à 15, échelle de Borg
syndrome de Guillain-Barré, sonde de Foley
M. tuberculosis sensible, M. catarrhalis
la maladie de Charcot-Marie-Tooth
classification de Child-Pugh, manœuvre de Lasègue
syndrome de Gilles de la Tourette
tests de Paul Martin négatifs
Lovenox, Kardegic, Augmentin et Doliprane
PR 160 ms, QRS fins
sous Dr, en M, stade M1
Madame la Directrice, Monsieur le Président
Monsieur va bien, Madame est sortie
mme vue ce jour, mme est stable, mme présente une toux
née prématurément, né à terme
Escherichia coli, E. COLI, S. AUREUS
son fils est venu, sa fille aussi
sa fille AVS, son mari SDF, signé DMP
IDE à domicile, interne de garde
Patient : stable, patient : 42 ans
signé électroniquement
réalisé par voie coelioscopique
Claire amélioration, Rose pâle
Claire Amélioration des signes
Femme née en Algérie
SCANNER THORACIQUE SANS INJECTION
Conclusion : Tumeur Neuro-endocrine
""".strip().split("\n")


@pytest.mark.parametrize("sentence", FOUND)
def test_the_name_is_found_to_the_character(sentence):
    text, spans = marked(sentence)
    assert Rules().find(text) == spans


@pytest.mark.parametrize("sentence", NOT_FOUND)
def test_other_words_stay(sentence):
    assert [sentence[span.start : span.end] for span in Rules().find(sentence)] == []


@pytest.mark.parametrize(
    "known, sentence",
    [
        (["Péniguel"], "le dossier {NOM|peniguel} et {NOM|PENIGUEL}, {NOM|Péniguel}"),
        (["JEAN-PIERRE", "TRINQUET"], "{PRENOM|jean pierre} {NOM|trinquet}, dit {PRENOM|Jean-Pierre}"),
        (["MARTIN DURRUTY"], "{NOM|Martin-Durruty} ou {NOM|DURRUTY}, voire {NOM|martin}"),
        (["Petit", "Anne"], "un petit kyste ; {PRENOM|anne} {NOM|petit} ; mme {NOM|petit} ; {NOM|Petit}"),
        (["N'Guyen"], "{NOM|n'guyen} et {NOM|N’GUYEN}"),
        (["Parkinson"], "maladie de {NOM|Parkinson}"),
        (["Trần"], "vu {NOM|TRAN} ce jour"),
        (["Morel"], "morelle, chamorel, {NOM|Morel}"),
        (["Wassila"], "Prénom : {PRENOM|Wassila}. Revu {PRENOM|wassila}"),
    ],
)
def test_known_names_are_found_in_any_writing(known, sentence):
    text, spans = marked(sentence)
    assert Rules().find(text, known) == spans


def test_the_shipped_lists_say_their_source_and_have_no_name_twice():
    for file in (FIRST_NAMES, SURNAMES):
        head = file.read_text(encoding="utf-8")
        assert "INSEE" in head and "Licence Ouverte" in head
        names = [line for line in head.split("\n") if line and not line.startswith("#")]
        assert names == read_names(file) and len(names) == 500


def test_other_lists_are_read_with_comments(tmp_path):
    first, last = tmp_path / "first.txt", tmp_path / "last.txt"
    first.write_text("# of the hospital\nGwendal\n\nWassila # rare\n", encoding="utf-8")
    last.write_text("Trinquet\n", encoding="utf-8")
    text, spans = marked("vu {PRENOM|Wassila} {NOM|Trinquet}, puis Sophie Bernard")
    assert Rules(lists=name_lists(first, last)).find(text) == spans


def test_a_list_without_a_name_is_refused(tmp_path):
    from alibert_common.errors import InputError

    file = tmp_path / "empty.txt"
    file.write_text("# nothing\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"empty\.txt: no name; give one name a line"):
        name_lists(file, SURNAMES)
