"""Names that stand for a disease, a sign, a score or a device, and words that only look like names of persons."""

import re

from preprocess.pseudonymisation.words import CAPITALISED, SPACE, folded

# What is named after a person: "maladie de Parkinson", "score de Glasgow", "sonde de Foley".
NAMED_AFTER = """
    maladie maladies syndrome syndromes signe signes score scores test tests échelle échelles classification critère
    critères manœuvre manoeuvre manoeuvres bactérie bacille bacilles germe virus parasite sonde sondes drain canule
    cathéter aiguille pince lame valve prothèse clou broche vis plaque attelle corset collier ceinture lit masque
    embout lunettes cathétérisme opération intervention technique voie incision abord point points ligne triangle
    espace angle indice index rapport loi règle équation formule coefficient méthode procédé coloration milieu
    gélose réaction phénomène réflexe épreuve triade tétrade pentade trépied loge canal ligament muscle artère veine
    nerf ganglion ganglions ampoule sphincter anse cercle polygone capsule glande glandes cul-de-sac trompe trompes
    tendon faisceau corps cellules cellule fibres îlots nodule nodules kyste diverticule hernie fracture luxation
    entorse anévrisme ulcère gangrène phlegmon angine chorée ataxie paralysie myopathie dystrophie démence aphasie
    aire épilepsie névralgie algie arthrite rhumatisme thyroïdite néphropathie glomérulonéphrite purpura lymphome
    sarcome tumeur maladie-de mal fièvre stade grade type protocole essai étude programme régime pompe électrode
    stimulateur filtre greffe lambeau plastie anneau arthrodèse ostéotomie suture nœud laparotomie solution sérum
    soluté liqueur pommade sirop eau vaccin plan thérapie groupe facteur anticorps antigène protéine déficit allèle
    mutation gène chromosome zone ostéochondrite échelles-de questionnaire inventaire grille tableau courbe
    diagramme périmètre mesure œsophage métaplasie endocardite estomac contracture contractures doigt genou main
    pied tubercule membrane disque bandelette foramen trou fosse exercices massage respiration dyspnée pouls souffle
    bruit galop triade-de lupus psoriasis pemphigoïde érythème
""".split()
WORDS = frozenset(map(folded, NAMED_AFTER))
AFTER_WORD = re.compile(
    rf"(?<!\w)(?i:{'|'.join(sorted({*NAMED_AFTER, *WORDS}))})"
    rf"(?:{SPACE}[a-zéèêà]+)?{SPACE}(?:(?:de la|de l['’]|de|du|des|d['’]|selon|à la|en|le|la|type){SPACE}?)?"
    rf"(?:{CAPITALISED}(?:{SPACE}-{SPACE}?|-{SPACE}|{SPACE}?[–,&]{SPACE}?|{SPACE}(?:(?:et|de la|de|du|ou){SPACE})?))*$"
)
LETTERS = re.compile("[a-z-]+")
REACH = 70  # characters before a name in which such a word stands
# Capitalised words beside a name that are no part of it: functions, places of work, examinations, times, greetings.
NO_NAMES = frozenset(
    folded(word)
    for word in """
    service services unité pôle secteur chef chefs praticien praticienne hospitalier hospitalière hôpital hopital
    chu chr ch clinique centre cabinet interne externe sénior senior assistant assistante attaché médecin médecins
    docteur dr pr professeur madame monsieur mademoiselle mme mlle mr m mm me maître patient patiente nom prénom
    prénoms né née date cardiologue cardiologie pneumologue pneumologie neurologue neurologie gériatre gériatrie
    urologue urologie urgences urgentiste chirurgien chirurgienne chirurgie radiologue radiologie oncologue
    oncologie psychiatre psychiatrie pédiatre pédiatrie gynécologue gynécologie dermatologue dermatologie
    rhumatologue rhumatologie anesthésiste anesthésie réanimateur réanimation néphrologue néphrologie hématologue
    hématologie endocrinologue endocrinologie diabétologue gastro gastroentérologue ophtalmologue ophtalmologie orl
    infirmier infirmière ide ibode iade as ash kiné kinésithérapeute pharmacien pharmacienne secrétaire secrétariat
    généraliste traitant référent tel tél téléphone fax mail email adresse rue avenue boulevard bp cs objet motif
    compte rendu cr crh cro lettre courrier consultation hospitalisation entrée sortie examen clinique antécédents
    atcd traitement traitements conclusion évolution histoire irm tdm scanner ecg eeg emg ett eto echo écho radio rx
    nfs crp bnp inr tp tca hba1c ta fc fr sao2 spo2 temp poids taille imc hta dnid did avc ait idm bpco sep vih vhb
    vhc sida hiv oap fa acfa tvp ep tabac alcool rpps finess adeli nir ipp nda nip ins le la les un une des il elle
    on nous vous je ce cette ces et ou où mais donc car si au aux en par pour sur dans sans sous avec depuis dès
    lors puis ainsi aucun aucune absence pas bien cher chère confrère cordialement confraternellement amitiés merci
    suite vu vue reçu reçue adressé adressée suivi suivie est était sera présente bonjour lundi mardi mercredi jeudi
    vendredi samedi dimanche janvier février mars avril mai juin juillet août septembre octobre novembre décembre
    signé validé rédigé dicté relu fait lu page dossier numéro sexe âge masculin féminin copie copies destinataire
    destinataires département fédération institut faculté université ancien ancienne consultant responsable
    coordinateur coordinatrice directeur directrice cadre ophtalmo cardio pneumo neuro vers chez hier aujourd'hui
    demain euro samu smur ssr ehpad usld had rcp staff bloc étage box lit chambre salle
    """.split()
)


def is_eponym(text: str, start: int) -> bool:
    """Whether the name that begins here stands behind a word for what it was given to."""
    before = text[max(0, start - REACH, text.rfind("\n", 0, start) + 1) : start]
    return not WORDS.isdisjoint(LETTERS.findall(folded(before))) and bool(AFTER_WORD.search(before))
