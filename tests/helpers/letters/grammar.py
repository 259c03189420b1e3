"""The grammar of invented clinical prose. No person, town or hospital in it exists.

A slot `{name}` is one of the rules of that name, `{2-9}` a whole number, `{1,5-9,9}` a number with one decimal.
"""

SECTIONS = {
    "Motif d'hospitalisation": "reason",
    "Antécédents": "past",
    "Mode de vie": "life",
    "Histoire de la maladie": "history",
    "Examen clinique": "examination",
    "Examens complémentaires": "imaging",
    "Évolution dans le service": "course",
    "Compte rendu opératoire": "operation",
    "Conclusion": "conclusion",
    "Au total": "conclusion",
    "Suivi et conseils": "advice",
}
LISTED = {
    "Antécédents": "past_item",
    "Traitement de sortie": "drug",
    "Diagnostics": "diagnosis",
    "Rendez-vous": "visit",
}

RULES = {
    "first": "Anaïs Maëlle Zoé Chloé Noémie Inès Jiří Łucja Ștefan Åsa Loïc Gaëtan Hervé Yoann Çağla Wiêslaw Siobhán "
    "Rémi Thaïs Ángel Björn Aurèle Cœline".split(),
    "last": "Vermandeau Brésillac Le\u00a0Quéantec Œillard Tournebœuf Kowalczuk-Łęcka Dvořákowska Nguyễnval N'Dourissa "
    "D'Aubresson Sørlund-Petit Çelikbaş Ionăscu Müllerat Fauchère Esquibal Groëllan Pontivyer Harispéry Ñuñezal "
    "Mac\u00a0Orvel Jœllinck Brunaultier Castérède".split(" "),
    "town": "Valmorin-sur-Aubrette Saint-Ouëlan Bréchaumont Le\u00a0Châtellier-Œuvre Montjœux L'Isle-d'Ardemer "
    "Roquebrète Pont-l'Évière Nouâtreville Crécy-lès-Bois".split(" "),
    "hospital": ["Centre hospitalier de {town}", "CHU de {town}", "Hôpital Saint-Éloïque", "Clinique du Bœuf-Blanc"]
    + ["Groupe hospitalier {town} – {town}", "Polyclinique de l'Îlette"],
    "service": ["Service de cardiologie", "Service de néphrologie et d'hémodialyse", "Pôle de gériatrie aiguë"]
    + ["Unité d'hépato-gastro-entérologie", "Service d'oncologie médicale", "Service de chirurgie viscérale"]
    + ["Département de pédiatrie", "Service d'accueil des urgences", "Médecine interne – Maladies systémiques"],
    "street": ["{2-140}, rue des Écrevisses", "{1-60} bis, avenue de l'Œuvre", "{3-90}, chemin du Vieux-Four"]
    + ["{1-30}, place de la Forêt-Noire", "BP n° {10-99}", "Résidence « Les Chênes », bât. {1-9}"],
    "postal": ["{10000-95999} {town}"],
    "phone": ["0{1-5} {10-99} {10-99} {10-99} {10-99}"],
    "mail": ["secretariat{1-99}@hopital.example", "accueil.cardio{1-9}@chu.example"],
    "month": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "date": ["{1-28} {month} 20{10-25}", "{10-28}/0{1-9}/20{10-25}", "1er {month} 20{10-25}"],
    "person": ["{first} {last}"],
    "doctor": ["Dr {first} {last}", "Pr {first} {last}", "Docteur {last}"],
    "role": ["Chef de service", "Praticien hospitalier", "Chef de clinique – assistante", "Interne", "Cadre de santé"]
    + ["Médecin attaché", "Secrétariat"],
    "patient": ["la patiente", "le patient", "M. {last}", "Mme {last}"],
    "who": ["votre patiente, âgée de {18-97} ans,", "ce patient de {18-97} ans", "cette nourrice de {30-60} ans"]
    + ["ce jeune homme de {15-29} ans", "cette femme de {18-97} ans, G{2-5}P{1-4}", "ce maçon retraité de {61-90} ans"],
    "side": ["droit", "gauche"],
    "sided": ["droite", "gauche", "bilatérale"],
    "symptom": ["une dyspnée d'effort stade {2-4} de la NYHA", "des douleurs thoraciques rétrosternales constrictives"]
    + ["une altération de l'état général avec perte de {3-15} kg en {2-6} mois", "des œdèmes des membres inférieurs"]
    + ["une fièvre à {38-40},{1-9} °C avec frissons", "un épisode de rectorragies", "des céphalées en casque"]
    + ["une hémoptysie de faible abondance", "un ictère cutanéo-muqueux", "des vomissements post-prandiaux précoces"]
    + ["une chute mécanique de sa hauteur", "une dysarthrie d'apparition brutale", "des lombalgies inflammatoires"],
    "disease": ["une hypertension artérielle", "un diabète de type 2 non insulino-requérant", "une BPCO post-tabagique"]
    + ["une fibrillation auriculaire paroxystique", "une insuffisance rénale chronique de stade {2-4}"]
    + ["une polyarthrite rhumatoïde séropositive", "un œsophage de Barrett", "une hypothyroïdie substituée"]
    + ["un adénocarcinome du côlon {side} opéré", "une pancréatite aiguë lithiasique", "une maladie cœliaque"]
    + ["un syndrome d'apnées du sommeil appareillé", "un goitre multinodulaire euthyroïdien"],
    "molecule": "bisoprolol ramipril furosémide metformine apixaban amiodarone lévothyroxine pantoprazole "
    "amoxicilline paracétamol prednisone méthotrexate atorvastatine tramadol oxazépam gabapentine".split(),
    "dose": ["{1-9}0 mg", "{1-9} g", "{1,1-9,9} mg", "{1-9}00 mg", "½ comprimé", "{10-99} UI/kg", "{25-75} µg"],
    "schedule": ["matin et soir", "le matin à jeun", "toutes les {4-8} h si besoin", "× {2-3}/j", "au coucher"]
    + ["pendant {5-21} jours", "un jour sur deux", "1 fois par semaine, le lundi"],
    "drug": ["{molecule} {dose}, {schedule}", "{molecule} {dose} {schedule}", "{molecule} LP {dose} : {schedule}"],
    "change": ["majoré à {dose}", "arrêté devant la bradycardie", "relayé par voie orale", "réintroduit à J{2-9}"],
    "reason": [
        "{who} a été adressé par les urgences pour {symptom}.",
        "Bilan de {symptom} dans un contexte de {disease}.",
    ]
    + ["Hospitalisation programmée du {date} au {date} pour {symptom} chez {who} suivi pour {disease}."],
    "past": ["On retrouve {disease}, {disease} et {disease}.", "Pas d'allergie médicamenteuse connue."]
    + ["Sur le plan chirurgical : appendicectomie en 19{60-99}, prothèse totale de hanche {sided} en 20{10-20}."]
    + ["Tabagisme sevré (≈ {10-60} paquets-années) ; consommation d'alcool occasionnelle, < {1-3} verres/j."]
    + ["Dans la famille, un infarctus du myocarde chez le père à {40-70} ans ; la sœur a {disease}."],
    "life": ["Vit seule à domicile, au {1-6}e étage sans ascenseur ; aide-ménagère {1-5} h par semaine."]
    + ["Ancien ouvrier d'une verrerie, exposé à l'amiante ; autonome (ADL {4-6}/6, GIR {2-6})."]
    + ["Le périmètre de marche est limité à {20-500} m ; l'entourage (nièce, voisins) est très présent."],
    "history": ["Depuis {2-12} semaines, {patient} rapporte {symptom}, puis {symptom}."]
    + ["L'épisode débute le {date} par {symptom}, sans facteur déclenchant ; le SAMU est alors appelé."]
    + ["Devant la persistance des signes, un traitement par {drug} a été instauré par le médecin traitant."]
    + ["À l'arrivée : PA {9-20}/{5-11} cmHg, FC {50-140}/min, SpO₂ {85-99} % en air ambiant, EVA {1-9}/10."]
    + ["Aucun contage récent ; « je me sens oppressé dès l'escalier », précise {patient}."],
    "examination": ["Poids {45-120} kg, taille 1,{50-95} m, IMC {18-40},{1-9} kg/m² ; T° {36-39},{1-9} °C."]
    + ["Les bruits du cœur sont réguliers, souffle systolique {1-6}/6 au foyer aortique, sans irradiation."]
    + ["À l'auscultation pulmonaire, râles crépitants de la base {sided}, sans sibilants ni tirage."]
    + ["L'abdomen est souple, dépressible, indolore ; foie débordant de {2-6} cm, pas de splénomégalie."]
    + ["Sur le plan neurologique : Glasgow {13-15}, pas de déficit sensitivo-moteur, ROT présents et symétriques."]
    + ["Œdèmes blancs, mous, prenant le godet jusqu'à mi-cuisse ; mollets souples, signe de Homans négatif."],
    "imaging": ["Échographie cardiaque du {date} : FEVG à {20-70} %, VG non dilaté, PAPS {25-70} mmHg."]
    + ["Le scanner thoraco-abdomino-pelvien montre une lésion de {5-60} × {5-60} mm du lobe supérieur {side}."]
    + ["ECG : rythme sinusal à {50-110}/min, PR {120-240} ms, QTc {380-520} ms, sans trouble de la repolarisation."]
    + ["IRM cérébrale : hypersignaux T2-FLAIR de la substance blanche, d'allure vasculaire (Fazekas {1-3})."]
    + ["L'endoscopie œso-gastro-duodénale retrouve une gastrite antrale ; biopsies n° {1000-9999} en cours."],
    "course": ["L'évolution est favorable sous {drug} ; l'apyrexie est obtenue à J{2-6}."]
    + ["Le {molecule} a été {change}, le {molecule} {change}."]
    + ["On note à J{3-9} une décompensation avec {symptom}, qui a conduit à une surveillance de {24-72} h en USC."]
    + ["La créatininémie passe de {150-400} à {60-149} µmol/L après remplissage par {1-3} L de sérum salé à 0,9 %."]
    + ["Après discussion collégiale (RCP du {date}), il est décidé de surseoir à l'intervention."]
    + ["La kinésithérapie a permis une remise en charge dès le {2-9}e jour ; l'œdème s'est résorbé."],
    "operation": ["Sous anesthésie générale, patient en décubitus dorsal, abord par cœlioscopie, {3-5} trocarts."]
    + ["Exérèse en bloc avec marges ≥ {2-10} mm, hémostase soigneuse, fermeture plan par plan au fil 2/0."]
    + ["Pertes sanguines estimées à {50-900} mL ; durée d'incision-fermeture : {30-240} min."],
    "conclusion": ["Il s'agit donc d'une poussée de {disease}, révélée par {symptom}."]
    + ["Au terme du bilan, {disease} est retenu ; il n'y a pas d'argument pour {disease}."]
    + ["Retour à domicile le {date} avec {drug} et {drug}."],
    "advice": ["Nous vous proposons de contrôler l'ionogramme, la NFS et l'INR dans {5-15} jours."]
    + ["Il convient d'éviter les AINS ; l'objectif tensionnel est < {13-14}/{8-9} cmHg."]
    + ["Une consultation est prévue le {date} à {8-17} h {10-59} avec le {doctor}."]
    + ["En cas de {symptom}, nous restons joignables au {phone} (24 h/24)."],
    "past_item": ["{disease}, depuis 20{10-20}", "appendicectomie en 19{60-99}", "{disease} (suivi : {doctor})"]
    + ["fracture de l'extrémité distale du radius {side}"],
    "diagnosis": ["{disease}", "{disease} compliquée de {symptom}", "{symptom}, sans étiologie retrouvée"],
    "visit": [
        "{date} : consultation avec le {doctor}",
        "échographie de contrôle dans {2-9} mois",
        "{date}, {8-17} h 30",
    ],
    "opening": ["Cher confrère,", "Chère consœur, cher confrère,", "Madame, Monsieur,", "Mon cher ami,"],
    "thanks": ["Nous avons reçu en consultation {patient}, que vous nous aviez adressé pour {symptom}."]
    + ["Je vous remercie de m'avoir confié {who} qui présente {symptom}."]
    + ["Votre patient(e) a séjourné dans notre unité du {date} au {date}."],
    "closing": ["Bien confraternellement,", "Veuillez croire, cher confrère, à l'assurance de nos sentiments dévoués."]
    + ["En restant à votre disposition, je vous prie d'agréer mes salutations les meilleures."],
}

RESULTS = [  # name, unit, low, high, decimals
    ("Hémoglobine", "g/dL", 7, 17, 1),
    ("Leucocytes", "10⁹/L", 2, 25, 1),
    ("Plaquettes", "10⁹/L", 40, 500, 0),
    ("Créatinine", "µmol/L", 45, 450, 0),
    ("DFG (CKD-EPI)", "mL/min/1,73 m²", 10, 110, 0),
    ("Urée", "mmol/L", 2, 30, 1),
    ("Sodium", "mmol/L", 120, 150, 0),
    ("Potassium", "mmol/L", 3, 6, 1),
    ("CRP", "mg/L", 5, 300, 0),
    ("Bilirubine conjuguée", "µmol/L", 3, 120, 0),
    ("γ-GT", "UI/L", 15, 900, 0),
    ("Troponine T hs", "ng/L", 3, 900, 0),
    ("NT-proBNP", "pg/mL", 60, 9000, 0),
    ("HbA1c", "%", 5, 12, 1),
    ("TSH", "mUI/L", 0, 9, 2),
    ("Ferritine", "µg/L", 10, 900, 0),
    ("PaO₂", "mmHg", 50, 100, 0),
    ("pH artériel", "–", 7, 8, 2),
]
