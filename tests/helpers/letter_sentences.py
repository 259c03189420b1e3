"""Sentences of invented clinical letters. <LABEL field> is an identifier; the other words identify nobody.

The HELD_OUT ones were not read while the rules of preprocess.pseudonymisation were written: they measure them.
"""

HEADERS = """
Patient : <NOM LAST> <PRENOM First>, né le <DATE_NAISSANCE birth>
Nom : <NOM LAST>|Prénom : <PRENOM First>|Date de naissance : <DATE_NAISSANCE birth>
Nom de naissance : <NOM LAST> - Prénom : <PRENOM First> - Sexe : F - DDN : <DATE_NAISSANCE birth>
<HOPITAL hospital>|Service de cardiologie|Secrétariat : <TEL phone> - Fax : <TEL phone2>
IPP : <IPP ipp> - NDA : <NDA nda>
Concerne : Mme <NOM LAST> <PRENOM First>, née <NOM Last2> le <DATE_NAISSANCE birth>|N° SS : <SECU nir>
<ADRESSE street>|<ZIP zip> <VILLE TOWN>|Tél. <TEL phone>
Adresse : <ADRESSE street>, <ZIP zip> <VILLE Town>
M. <PRENOM First> <NOM LAST>|<ADRESSE street>|<ADRESSE building>|<ZIP zip> <VILLE TOWN_CEDEX>
<VILLE Town>, le <DATE date>
Dossier n° <NDA nda> - Entrée le <DATE date>, sortie le <DATE date2>
NIR <SECU nir_bare> - e-mail <MAIL mail>
Nom de famille : <NOM LAST>   Prénom(s) : <PRENOM First>   Né(e) le : <DATE_NAISSANCE birth> à <VILLE Town>
Médecin traitant : Dr <NOM Doctor> - Correspondant : Pr <PRENOM I.> <NOM Doctor2>
<NOM LAST> <PRENOM First> (<DATE_NAISSANCE birth>) - IPP <IPP ipp>
Identité du patient : <PRENOM First> <NOM LAST>, née le <DATE_NAISSANCE birth> à <VILLE Town>
N° de séjour : <NDA nda>|N° de sécurité sociale : <SECU nir>
<HOPITAL hospital>|<ADRESSE street>|<ADRESSE box>|<ZIP zip> <VILLE TOWN_CEDEX>|Standard : <TEL phone>
Madame <PRENOM First> <NOM LAST>|<ADRESSE building_and_street>|<ZIP zip> <VILLE TOWN>
Date de l'examen : <DATE date>    Prescripteur : Dr <NOM DOCTOR>
NOM : <NOM LAST>|PRENOM : <PRENOM First>|NE(E) LE : <DATE_NAISSANCE birth>|N° IPP : <IPP ipp>
Patient(e) : <NOM LAST> <PRENOM First> - Né(e) le <DATE_NAISSANCE birth> - Séjour n° <NDA nda>
<HOPITAL hospital> - <ADRESSE street> - <ZIP zip> <VILLE Town> - <TEL phone>
Mme <NOM LAST> <PRENOM First>|Née le <DATE_NAISSANCE birth>|Assurée n° <SECU nir>
A l'attention du Dr <NOM DOCTOR>|<ADRESSE street>|<ZIP zip> <VILLE TOWN>
Compte rendu d'hospitalisation du <DATE date> au <DATE date2>|Patient : M. <PRENOM First> <NOM LAST>
""".strip().split("\n")

SENTENCES = """
Mme <NOM Last> a été vue ce jour en consultation.
Monsieur <NOM Last> est hospitalisé depuis le <DATE date> pour dyspnée.
Cher confrère, je vous remercie de m'avoir adressé M. <NOM LAST>, âgé de 62 ans.
J'ai revu votre patiente, Madame <PRENOM First> <NOM Last>, le <DATE date>.
Elle habite à <VILLE Town> avec son mari et ses deux enfants.
Le patient vit seul au <ADRESSE street>, <ZIP zip> <VILLE Town>.
Son fils <PRENOM Kin> est joignable au <TEL phone>.
Sa fille, Mme <NOM Last2>, a été prévenue par téléphone au <TEL phone2>.
Personne de confiance : <PRENOM Kin> <NOM LAST> (épouse), tél : <TEL phone>.
Le dossier a été discuté avec le Dr <NOM Doctor> et le Pr <NOM Doctor2> le <DATE date>.
L'infirmière <PRENOM Kin> <NOM Doctor> a constaté une rougeur au point de ponction.
Le résultat sera envoyé à <MAIL mail> dans la semaine.
Appendicectomie en <DATE year>, cholécystectomie en <DATE month> au <HOPITAL hospital>.
Transféré du <HOPITAL hospital> le <DATE date> pour la suite de la prise en charge.
<PRENOM First> <NOM Last> présente une toux sèche depuis trois semaines.
<NOM Last> <PRENOM First> sera revu le <DATE date2>.
M. et Mme <NOM Last> ont été reçus ensemble par l'équipe.
Au retour à domicile, mme <NOM last> gardait une douleur modérée.
Madame <NOM Last> dit que M. <NOM Last> ne l'aide pas au quotidien. L'entourage de madame <NOM Last> est présent.
Rendez-vous pris le <DATE weekday> à 14h30 avec le Dr <PRENOM Kin> <NOM DOCTOR>.
Dernière injection le <DATE short>, prochaine le <DATE date2>.
Il a été opéré à <VILLE Town> par le Dr <NOM Doctor> en <DATE year>.
Compte rendu adressé au docteur <NOM Doctor>, <ADRESSE street>, <ZIP zip> <VILLE TOWN>.
Informations sur <URL url> ou au <TEL phone>.
Appel de l'interne de garde (<PRENOM Kin> <NOM DOCTOR>, poste <TEL extension>).
Entretien avec l'épouse du patient, <PRENOM Kin>, inquiète de la perte de poids.
La patiente, Mme <PRENOM First> <NOM Last>, a été adressée par son médecin, le Dr <PRENOM I.> <NOM Doctor>.
Nous avons reçu en urgence Monsieur <NOM LAST> dans la nuit du <DATE date> au <DATE date2>.
Le compagnon de Mme <NOM Last> (<PRENOM Kin>) est d'accord avec ce projet.
Elle est née à <VILLE Town> et travaille à <VILLE Town2>.
Contacter le secrétariat du Pr <NOM Doctor2> (<TEL phone>) pour la suite.
Pose d'un pacemaker au <HOPITAL hospital> en <DATE month>, contrôlé le <DATE short>.
Le frère du patient, <PRENOM Kin> <NOM Last>, a été joint hier.
Pas de nouvelle de M. <NOM Last> depuis <DATE year>.
Accord de l'anesthésiste (Dr <NOM DOCTOR>) obtenu le <DATE date>.
Merci d'envoyer l'ordonnance à <MAIL mail> ou par fax au <TEL phone2>.
Le <DATE date>, m. <NOM last> a fait un malaise en sortant de chez lui, <ADRESSE street> à <VILLE Town>.
<PRENOM First> est un enfant de 6 ans scolarisé en CP.
Suivi par le docteur <PRENOM Kin> <NOM Doctor> à <VILLE Town> depuis <DATE year>.
Vu avec <PRENOM Kin> <NOM Doctor>, interne du service, et Mme <NOM Doctor2>, cadre de santé.
Monsieur <PRENOM First> <NOM Last>, 71 ans, consulte pour une lombalgie.
Elle est suivie par le Dr <PRENOM Kin> <NOM Doctor>, cardiologue à <VILLE Town>.
Mme <NOM Last> est veuve, mère de deux enfants, et demeure <ADRESSE street> à <VILLE Town>.
Sa sœur <PRENOM Kin> l'accompagne, son numéro est le <TEL phone>.
Nous remercions le docteur <NOM Doctor> et l'équipe du <HOPITAL hospital> pour leur accueil.
L'intervention a été réalisée par le Pr <PRENOM I.> <NOM DOCTOR> le <DATE date>.
Un courriel a été envoyé au Dr <NOM Doctor2> (<MAIL mail>).
Prochain contrôle en <DATE month> dans le service du Pr <NOM Doctor>.
M. <NOM LAST> a été transféré vers le <HOPITAL hospital> dans l'après-midi du <DATE date>.
Mr <NOM Last> nous a quittés le <DATE date2>, sa famille a été avertie.
Patient opéré d'une hernie en <DATE year> puis d'une cataracte en <DATE month>.
Madame <NOM Last> et son mari <PRENOM Kin> souhaitent un second avis.
Avis pris auprès de <PRENOM Kin> <NOM DOCTOR>, pharmacien.
Le bilan du <DATE short> retrouve une anémie chez Mme <NOM LAST>.
Reçu ce jour M. <NOM Last> <PRENOM First>, envoyé par les urgences de <VILLE Town>.
""".strip().split("\n")

SIGNATURES = """
Bien confraternellement,|Dr <PRENOM I.> <NOM Doctor>
Docteur <PRENOM Kin> <NOM DOCTOR>|Praticien hospitalier
Signé électroniquement par <PRENOM Kin> <NOM DOCTOR> le <DATE date>
Pr <PRENOM I.> <NOM DOCTOR> - Chef de service|<HOPITAL hospital>
Rédigé par : <PRENOM Kin> <NOM Doctor>, interne|Validé par : Dr <NOM DOCTOR2>
Copie : Dr <NOM Doctor2>, <ZIP zip> <VILLE TOWN>
Avec mes salutations confraternelles.|<PRENOM Kin> <NOM DOCTOR>, cardiologue
Docteur <PRENOM I.> <NOM Doctor>|Tél. secrétariat : <TEL phone>|<MAIL mail>
Dicté le <DATE date>, relu et validé par le Dr <NOM Doctor>
Cordialement,|Pr <PRENOM Kin> <NOM DOCTOR>|Ligne directe : <TEL phone>
Dr <NOM DOCTOR> <PRENOM Kin>|Chef de clinique
Lettre dictée par le Dr <PRENOM I.> <NOM Doctor> et validée le <DATE date>
""".strip().split("\n")

PLAIN = """
La maladie de Parkinson est stable sous lévodopa 100 mg trois fois par jour.
Signe de Babinski absent, manœuvre de Lasègue négative à droite.
Score de Glasgow à 15, échelle de Borg à 3/10.
Antécédent de syndrome de Guillain-Barré sans séquelle.
Sonde de Foley en place, diurèse 1500 mL par 24 h.
Culture positive à M. tuberculosis, sensible à la rifampicine.
Plaquettes 152000/mm3, leucocytes 12500/mm3, hémoglobine 12,4 g/dL.
TA 13/8, pouls 72, SpO2 98 % en air ambiant.
TA 120/80 mmHg au bras droit, 125/85 mmHg au bras gauche.
Paracétamol 1 g 1-0-1 si douleur, sans dépasser 3 g par jour.
EVA 3/10 au repos, 6/10 à la mobilisation.
Tumeur classée T2N0M0, grade SBR II, Ki67 à 20 %.
Code CIM-10 : I50.1, J96.0 et E11.9.
Logiciel de dosimétrie version 2.3.1, champ de 10 x 10 cm.
Traitement par Lovenox 4000 UI par jour pendant 10 jours.
Sous IPP 40 mg le matin, Kardegic 75 mg le midi.
Il a chuté dans la rue et a été relevé par des passants.
Le patient a marché 2/3 du temps sans aide.
Patient de 42 ans, fumeur à 20 paquets-années.
Maladie de Lyme éliminée, sérologie Coxsackie négative.
Classification de Child-Pugh A5, score MELD à 8.
Allergie à l'Augmentin signalée par la patiente.
Hospitalisé au 3e étage, secteur B, chambre double.
En cas d'urgence composer le 15 ou le 112.
Antibiothérapie par Rocéphine puis relais par Oflocet.
La fracture de Pouteau-Colles a été réduite au bloc.
Petit épanchement pleural gauche, un grand kyste rénal simple.
Le service de pneumologie a donné son accord pour un transfert.
L'hôpital de jour de gériatrie propose un bilan mémoire.
Échographie Doppler des troncs supra-aortiques sans sténose.
Créatinine 98 µmol/L, clairance selon Cockcroft à 65 mL/min.
Fraction d'éjection mesurée à 55 % selon Simpson.
La ligne de Blaschko n'est pas concernée, test de Schirmer normal.
Sérologie VIH négative, AgHBs négatif, CRP 45 mg/L.
Diabète de type 2 traité par metformine 1000 mg matin et soir.
Réflexe de Moro présent, Apgar 10/10 à 5 minutes.
ECG : rythme sinusal, PR 180 ms, QRS fins.
Contrôle dans 3 mois avec bilan sanguin et radiographie.
Infection à Escherichia coli puis à Klebsiella pneumoniae.
Les anticorps anti-Hu et anti-Ri sont absents.
Prescription de 2 comprimés matin, midi et soir pendant 7 jours.
Score de Framingham à 12 %, LDL 1,45 g/L.
Métastases du foie droit, segment VI, de 25 x 30 mm.
Thyroïdite de Hashimoto et maladie de Basedow dans la famille.
Le test de Coombs est négatif, la maladie de Crohn est en rémission.
Opération de Hartmann discutée, drain de Redon retiré à J2.
Score CHA2DS2-VASc à 4, HAS-BLED à 2.
Ferritine 15000 µg/L, troponine 0,04 puis 0,12 ng/mL.
PA 145/90 puis 130/80, EVA cotée à 2/10.
Prise de Doliprane 1000 mg et de Seresta 10 mg au coucher.
Hernie de Spiegel opérée, suites simples, ablation des fils à J10.
Il prend 3 cafés par jour et marche 30 minutes dans la rue.
Ostéotomie de Weil, attelle de Zimmer pour 3 semaines.
Mutation BRCA1 absente, récepteurs RE 90 %, RP 80 %, HER2 0.
Colonies de Staphylococcus aureus 10000/mL à l'ECBU.
Stade III de la New York Heart Association, BNP 850 pg/mL.
Maladie de Horton évoquée, biopsie de l'artère temporale négative.
Examen selon Bishop, score à 6, col favorable.
Vaccination par Prevenar 13 puis Pneumovax 23 à deux mois.
Potassium 4,1 mmol/L, sodium 138 mmol/L, DFG 58 mL/min/1,73 m2.
Le signe de Murphy est positif, point de McBurney indolore.
Reprise du Xarelto 20 mg le soir, arrêt de l'Aspegic.
Cotation CCAM HHFA011, GHM 06C091.
Poids 72,5 kg, taille 1,75 m, IMC 23,7 kg/m2.
Aiguille de Tuohy 18 G, cathéter de Swan-Ganz en place.
Marche avec deux cannes anglaises, périmètre 200 à 300 m.
Acide folique 5 mg/j, vitamine D 100000 UI par trimestre.
Rinne positif, Weber indifférent, Romberg négatif.
""".strip().split("\n")

HELD_OUT_HEADERS = """
Identification : <NOM LAST>, <PRENOM First> - F - <DATE_NAISSANCE birth> - N° <IPP ipp>
Urgences du <HOPITAL hospital>|Passage du <DATE date>, n° de passage <NDA nda>
Assuré : <SECU nir>|Bénéficiaire : <NOM LAST> <PRENOM First>
Expéditeur : <HOPITAL hospital>, <ADRESSE street>, <ZIP zip> <VILLE Town>|Destinataire : Dr <PRENOM Kin> <NOM DOCTOR>
Dr <PRENOM Kin> <NOM DOCTOR>|Médecine générale|<ADRESSE street>|<ZIP zip> <VILLE TOWN>|Tél : <TEL phone>
RE : Monsieur <NOM LAST> <PRENOM First> (né le <DATE_NAISSANCE birth>)
""".strip().split("\n")

HELD_OUT_SENTENCES = """
Chère amie, j'ai vu ce matin ta patiente Mme <NOM Last>.
Le fils aîné, <PRENOM Kin>, habite à <VILLE Town> et gère les papiers.
Transmission : <PRENOM First> a bien dormi, pas de plainte.
Appelé par <PRENOM Kin> (IDE) le <DATE date> vers 3h pour désaturation.
<NOM LAST> <PRENOM First>, 54 ans, amenée par les pompiers après une chute.
L'ordonnance a été faxée à la pharmacie au <TEL phone>.
D'après le Dr <NOM Doctor>, la lésion est stable depuis <DATE month>.
Pour mémoire : séjour au <HOPITAL hospital> du <DATE date> au <DATE date2>.
Voir avec <NOM Doctor> pour la date de la coronarographie.
Madame <NOM Last>-née <NOM Last2>- est institutrice à la retraite.
L'aide à domicile, Mme <PRENOM Kin> <NOM Last2>, passe deux fois par jour.
Sortie chez sa fille, <ADRESSE street>, <ZIP zip> <VILLE Town>.
Demande d'avis au Pr <PRENOM I.> <NOM Doctor2>, sans réponse au <DATE date2>.
Coordonnées de la famille : <TEL phone>, <MAIL mail>.
Le patient déclare : « je m'appelle <PRENOM First> <NOM Last> ».
""".strip().split("\n")

HELD_OUT_SIGNATURES = """
Fait le <DATE date>, <NOM DOCTOR> <PRENOM Kin>
<PRENOM I.> <NOM DOCTOR>, praticien attaché
Amitiés.|<PRENOM Kin> <NOM Doctor>
""".strip().split("\n")

HELD_OUT_PLAIN = """
Maladie de Dupuytren opérée à gauche, rétraction du quatrième doigt.
Épreuve de Rivermead faite, indice de Barthel à 85/100.
Perfusion de Ringer Lactate 500 mL sur 30 minutes.
Contact avec la famille demain, pas de directive anticipée.
Pneumopathie à Legionella pneumophila traitée par Tavanic.
Bandelette urinaire : leucocytes 500, nitrites positifs.
Ablation du drain de Kehr prévue, bilirubine 18 µmol/L.
Score de Marshall 2, index de Ranson à 3/11.
HbA1c 7,2 %, glycémie 1,26 g/L, Cl 102 mmol/L.
Consultation de contrôle avec une radiographie de face et de profil.
""".strip().split("\n")
