"""Addresses, postcodes with towns, hospitals."""

import pytest
from marked_text import marked

from preprocess.pseudonymisation.find import Rules

FOUND = """
{ADRESSE|12 bis, rue du Général-de-Gaulle}
demeurant {ADRESSE|3 avenue Victor Hugo}, {ZIP|75013} {VILLE|PARIS CEDEX 13}
{ADRESSE|4 rue des lilas}, {ZIP|69003} {VILLE|Lyon}
habite {ADRESSE|rue Victor Hugo} depuis peu
{ADRESSE|128, bd de la République}|{ADRESSE|Bât. B, 3e étage}|{ZIP|F-69003} {VILLE|Lyon}
{ADRESSE|Résidence Les Tilleuls, Appt 12}|{ADRESSE|7 impasse du Moulin}|{ZIP|44000} {VILLE|NANTES}
{ADRESSE|lieu-dit La Croix Blanche}, {ZIP|29200} {VILLE|Brest}
{ADRESSE|BP 123}|{ZIP|01000} {VILLE|BOURG-EN-BRESSE CEDEX}
{ADRESSE|1 place de la Mairie, CS 41234}|{ZIP|35000} {VILLE|Rennes Cedex 7}
{ADRESSE|2 rue du 8 mai 1945}, {ZIP|97400} {VILLE|Saint-Denis}
{ADRESSE|45 av. Jean Jaurès} - {ZIP|94240} {VILLE|L'Haÿ-les-Roses}
{ZIP|85000} {VILLE|La Roche-sur-Yon}
elle habite à {VILLE|Villeurbanne} avec son mari
domicilié à {VILLE|Saint-Étienne}, marié
né à {VILLE|Aix-en-Provence} et vit à {VILLE|Le Mans}
originaire de {VILLE|Brest}
il vit seul à {VILLE|Nantes} depuis un an
Lieu de naissance : {VILLE|Oran}
suivi à {VILLE|Lyon}
Fait à {VILLE|Lyon}, le 3 mars 2023
{VILLE|Lyon}, le 3 mars 2023
{ADRESSE|12 rue Pasteur} à {VILLE|Lyon}
Demeurant {ADRESSE|12 rue du Port} {ZIP|29200} {VILLE|Brest}.
{ADRESSE|12 rue Pasteur} chez lui ; hospitalisé au 3e étage, chambre 12
adressé par les urgences de {VILLE|Brest}
le Dr Trinquet, cardiologue à {VILLE|Nantes}
{VILLE|Villeurbanne} ({ZIP|69100})
Code postal : {ZIP|69100} Ville : {VILLE|Villeurbanne}
{HOPITAL|CHU de Nantes}, puis {HOPITAL|hôpital Necker}
suivie à l'{HOPITAL|Hôpital Saint-Louis}
{HOPITAL|clinique des Cèdres} et {HOPITAL|CH de Vienne}
{HOPITAL|Centre hospitalier universitaire de Rennes}
{HOPITAL|Hospices Civils de Lyon}
{HOPITAL|EHPAD Les Glycines}
transfert vers {HOPITAL|HEGP} ce jour
""".strip().split("\n")
NOT_FOUND = """
né à Terme, hospitalisé à Domicile puis suivi à Distance
il a chuté dans la rue devant chez lui
elle traverse la rue avec difficulté, marche en avenue
1 place assise, 2 cours de kinésithérapie
voie veineuse périphérique, voie orale
hospitalisé au 3e étage, chambre 12
TA basse, BP 120/80
Plaquettes : 75013 Globules blancs : 12500
GB 12500 Neutrophiles 69000
Ferritine à 15000 puis 12000
10000 UI par jour
leucocytes à 15000 Polynucléaires 80 %
infection à Klebsiella, secondaire à Escherichia
adressé à Madame la Directrice
allergie à Augmentin, relais à Lovenox
service de cardiologie, unité de soins
hôpital de jour, hôpital de semaine
Hôpital de Jour de gériatrie, CHU Urgences, CH IRM
à l'hôpital, clinique rassurante
score de Lille à 0,3, critères de Milan
maladie de Lyme, fièvre de Malte
CH3 et CHU sans précision
Institut de formation
route départementale barrée
""".strip().split("\n")
PLACES = ("ADRESSE", "ZIP", "VILLE", "HOPITAL")


@pytest.mark.parametrize("sentence", FOUND)
def test_the_place_is_found_to_the_character(sentence):
    text, spans = marked(sentence.replace("|{", "\n{"))
    assert [span for span in Rules().find(text) if span.label in PLACES] == spans


@pytest.mark.parametrize("sentence", NOT_FOUND)
def test_other_words_stay(sentence):
    assert [sentence[span.start : span.end] for span in Rules().find(sentence) if span.label in PLACES] == []
