"""The stage: what is replaced, the same for a patient everywhere, all else to the byte; nothing tells the key."""

import json
import sys
import types
import unicodedata

import pytest
from corpus_helpers import run
from identified_letters import letters

import preprocess.pseudonymise as pseudonymise_stage
from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.binarize import identifier_warning
from preprocess.documents.document import Document, document_files, read_documents, write_document
from preprocess.pseudonymisation.documents import Pseudonymiser
from preprocess.pseudonymisation.forms.nir import is_nir
from preprocess.pseudonymisation.page import shared_out
from preprocess.pseudonymisation.settings import Settings, identifiers
from preprocess.pseudonymisation.spans import Span
from preprocess.pseudonymisation.surrogates.numbers import digits_of
from preprocess.pseudonymisation.surrogates.places import (
    HOSPITALS,
    STREETS,
    TOWNS,
    other_address,
    other_hospital,
    other_postcode,
    other_town,
)
from preprocess.pseudonymisation.surrogates.secret_key import Draws, make_key, read_key
from preprocess.pseudonymisation.surrogates.surrogates import Surrogates
from preprocess.pseudonymisation.tagger import labels_of, tagger
from preprocess.pseudonymise import pseudonymise

KEY = bytes(range(32))
NAMES = (["Anne", "Paul", "Louise"], ["Martin", "Petit", "Roux", "Blanc"])


def of(text, patient="7", settings=None, **metadata):
    document = Document("CR-DUPONT-7", "cr", text.split("\n"), "", "2023-02-14", {"patient": patient} | metadata)
    return Pseudonymiser(settings or Settings(), KEY).of(document)


def without(text, places):
    """The text without what stands at these places."""
    kept, end = [], 0
    for start, stop, *_ in places:
        kept.append(text[end:start])
        end = stop
    return [*kept, text[end:]]


@pytest.mark.parametrize("with_tags", [False, True])
def test_all_other_text_is_unchanged_to_the_byte(with_tags):
    settings = Settings(positions=True, with_tags=with_tags)
    for letter in letters(60, 1):
        document, found = of(letter.text, letter.patient, settings)
        places = document.metadata["replacements"]
        spans = identifiers(letter.text, settings)
        assert without(document.text, places) == without(letter.text, spans) and len(places) == len(spans) > 0
        assert [label for _, _, label in places] == [span.label for span in spans] == [one.label for one in found]
        assert len(document.lines) == letter.text.count("\n") + 1


def surrogates(patient="7", key=KEY):
    return Surrogates(key, patient, *NAMES)


def other(label, text, patient="7"):
    return surrogates(patient).of(text, Span(0, len(text), label))


def test_a_name_gets_the_same_replacement_in_any_form():
    one = other("NOM", "Dupont")
    assert one in NAMES[1] and other("NOM", "DUPONT") == one.upper() and other("NOM", "dupont") == one.lower()
    assert other("NOM", "Dupônt") == one and other("PRENOM", "Dupont") in NAMES[0]
    assert other("NOM", "de la Tour-Dupont").startswith("de la ") and other("NOM", "de la Tour-Dupont").endswith(
        f"-{one}"
    )
    assert len(other("PRENOM", "J.")) == 2


def test_no_place_is_its_own_replacement():
    for number in range(40):
        draws = Draws(KEY, str(number))
        for code, town in TOWNS:
            assert other_town(town, draws) != town != other_town(town, draws, code)
            assert other_postcode(code, draws)[:2] != code[:2]
        for street in STREETS:
            assert street not in other_address(f"12 {street}", draws)
        for name in HOSPITALS:
            assert name not in other_hospital(f"Clinique {name}", draws)


def test_no_name_is_its_own_replacement():
    for patient in range(50):
        assert all(other("NOM", name, str(patient)) != name for name in NAMES[1])


def test_another_patient_and_another_key_give_other_replacements():
    drawn = {surrogates(str(number)).days for number in range(400)}
    assert len(drawn) > 200 and min(map(abs, drawn)) >= 183 and max(map(abs, drawn)) <= 548
    assert surrogates().days != surrogates(key=bytes(32)).days
    names = {other("IPP", "8001234567", str(number)) for number in range(50)}
    assert len(names) == 50


def test_dates_move_by_the_same_days():
    days = surrogates().days
    for text, moved in (("2023-02-14", "2023-02-15"), ("14/02/2023", "15/02/2023")):
        first, second = (other("DATE", date) for date in (text, moved))
        assert Surrogates(KEY, "7", *NAMES).date(text) == first != text and first != second
    assert other("DATE", "un jour de mai") == "[DATE]"
    assert abs(days) > 0 and of("Vu le 14/02/2023.")[0].date == other("DATE", "2023-02-14")


@pytest.mark.parametrize(
    "label, text, pattern",
    [
        ("TEL", "06 12 34 56 78", r"06 39 98 \d\d \d\d"),
        ("TEL", "0123456789", r"019900\d{4}"),
        ("TEL", "+33 (0)2.40.12.34.56", r"\+33 \(0\)2\.61\.91\.\d\d\.\d\d"),
        ("TEL", "+33 6 12 34 56 78", r"\+33 6 39 98 \d\d \d\d"),
        ("TEL", "+32 470 12 34 56", r"\+\d\d \d{3} \d\d \d\d \d\d"),
        ("TEL", "4512", r"\d{4}"),
        ("IPP", "80-0123A", r"\d\d-\d{4}[A-Z]"),
        ("MAIL", "jean.dupont@chu.fr", r"[0-9a-f]{8}@example\.org"),
        ("URL", "https://chu.fr/dupont", r"https://example\.org/[0-9a-f]{8}"),
        ("ZIP", "F-44000", r"F-\d{5}"),
        ("ADRESSE", "12, rue de la Paix", r"\d{1,2}, \w+ .+"),
        ("ADRESSE", "BP 1234", r"BP \d{4}"),
        ("HOPITAL", "CHU de Nantes", r"CHU d.+"),
        ("VILLE", "NANTES", r"[A-ZÉÎÇ -]+"),
    ],
)
def test_a_replacement_has_the_same_form(label, text, pattern):
    import re

    made = {other(label, text, str(patient)) for patient in range(20)}
    assert all(re.fullmatch(pattern, one) for one in made) and len(made) > 3


@pytest.mark.parametrize("text", ["1 80 06 2A 004 084 43", "280069901234567", "180-06-44-109-084-90"])
def test_a_social_security_number_stays_one(text):
    assert all(is_nir(other("SECU", text, str(patient))) for patient in range(30))
    assert all(len(other("SECU", text, str(patient))) == len(text) for patient in range(30))


def test_a_town_fits_the_postcode_before_it():
    from preprocess.pseudonymisation.surrogates.places import TOWNS

    text = "44000 Nantes"
    code, town = Span(0, 5, "ZIP"), Span(6, 12, "VILLE")
    made = {(surrogates(str(n)).of(text, code), surrogates(str(n)).of(text, town, code)) for n in range(40)}
    assert made <= set(TOWNS) and len(made) > 5


def test_what_tells_the_patient_besides_the_text_is_gone():
    document, _ = of("Le patient DUPONT tousse.", nom="DUPONT", service="cardio", settings=Settings(keep=("service",)))
    assert len(document.id) == 16 and "DUPONT" not in document.id
    assert document.metadata.keys() == {"patient", "service", "pseudonymised"} and document.metadata["patient"] != "7"
    again, _ = of("Autre texte.")
    assert again.metadata["patient"] == document.metadata["patient"] and again.id == document.id  # of the same document


def test_names_that_the_database_knows_are_found_in_any_form():
    settings = Settings(known=("nom",))
    document, found = of("monsieur żółkiewski tousse.", settings=settings, nom="ŻÓŁKIEWSKI")
    assert [one.text for one in found] == ["żółkiewski"] and "żółkiewski" not in document.text


def test_a_replacement_never_spans_lines():
    for letter in letters(40, 3):
        assert not any("\n" in letter.text[s.start : s.end] for s in identifiers(letter.text, Settings()))


@pytest.fixture
def corpus(tmp_path):
    """Two files of letters of 20 patients."""
    for name, seed in (("a", 1), ("b", 2)):
        with open(tmp_path / f"{name}.jsonl", "w", encoding="utf-8") as handle:
            for letter in letters(30, seed):
                metadata = {"patient": letter.patient}
                write_document(handle, Document(letter.id, name, letter.text.split("\n"), metadata=metadata))
    return [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]


def test_the_stage_gives_the_same_bytes_on_one_and_on_two_processes(corpus, tmp_path):
    key = tmp_path / "hospital.key"
    for name, engine in (("one", Engine(1)), ("two", Engine(2))):
        report = pseudonymise(corpus, tmp_path / name, Settings(), key, engine)
    shards = [[path.read_bytes() for path in document_files([tmp_path / name])] for name in ("one", "two")]
    assert shards[0] == shards[1] and report.noted["identifiers replaced (NOM)"] > 60
    assert key.stat().st_mode & 0o777 == 0o600
    documents = list(read_documents([tmp_path / "one"]))
    assert len(documents) == 60 and all(document.metadata["pseudonymised"] for document in documents)
    secret = key.read_text().strip()
    written = b"".join(path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file())
    assert secret.encode() not in written


def test_a_key_that_others_can_read_is_named(corpus, tmp_path, capsys):
    key = tmp_path / "a.key"
    for mode, warned in ((0o600, False), (0o644, True)):
        pseudonymise(corpus[:1], tmp_path / "out", Settings(), key)
        key.chmod(mode)
        pseudonymise(corpus[:1], tmp_path / "out", Settings(), key)
        assert ("others can read the key; run `chmod go= " in capsys.readouterr().err) == warned


def test_another_key_makes_it_anew_and_the_page_shows_what_was_replaced(corpus, tmp_path, capsys):
    output = tmp_path / "out"
    pseudonymise(corpus, output, Settings(samples=28), tmp_path / "one.key")
    page = (tmp_path / "out.check.html").read_text(encoding="utf-8")
    assert "Delete it" in page and 20 < page.count("<tr") < 60
    pseudonymise(corpus, output, Settings(samples=28), tmp_path / "one.key")
    assert "there already" in capsys.readouterr().err
    pseudonymise(corpus, output, Settings(samples=28), tmp_path / "two.key")
    assert "made anew; changed since: settings" in capsys.readouterr().err


def test_a_page_that_was_deleted_is_not_named_again(corpus, tmp_path, capsys):
    words = [str(corpus[0]), "--output", str(tmp_path / "out"), "--key", str(tmp_path / "a.key")]
    options = pseudonymise_stage.command_line().parse_args(words)
    pseudonymise_stage.run(options)
    assert "out.check.html, then delete it" in capsys.readouterr().out
    (tmp_path / "out.check.html").unlink()
    pseudonymise_stage.run(options)
    assert "check.html" not in capsys.readouterr().out


def test_bad_input_is_one_sentence(corpus, tmp_path):
    (tmp_path / "short.key").write_text("00ff\n")
    entity = {"start": 0, "end": 1, "label": "X"}
    (tmp_path / "bad.jsonl").write_text(json.dumps({"id": "1", "text": "x", "entities": [entity]}))
    turned = {"start": 4, "end": 1, "label": "NOM"}
    (tmp_path / "turned.jsonl").write_text(json.dumps({"id": "1", "text": "Dupont", "entities": [turned]}))
    (tmp_path / "empty").mkdir()
    out, key = ["--output", tmp_path / "out"], ["--key", tmp_path / "new.key"]
    for words, command in (
        ("short.key: holds no key of 32 bytes", [corpus[0], *out, "--key", tmp_path / "short.key"]),
        ("give documents, --output and --key", [corpus[0], *out]),
        ("--ipp .*cannot be read", [corpus[0], *out, *key, "--ipp", "("]),
        (r"--nda .*finds the empty text too", [corpus[0], *out, *key, "--nda", r"\d*"]),
        ("--key .*lies in .*out, which may be passed on", [corpus[0], *out, "--key", tmp_path / "out/hospital.key"]),
        ("line 1: no annotated text .label X is none of SECU", ["--annotated", tmp_path / "bad.jsonl"]),
        ("line 1: no annotated text .no place in the text: 4 to 1", ["--annotated", tmp_path / "turned.jsonl"]),
        ("no token-classification model", [corpus[0], *out, *key, "--tagger", tmp_path / "empty"]),
    ):
        with pytest.raises(InputError, match=words):
            pseudonymise_stage.run(pseudonymise_stage.command_line().parse_args(list(map(str, command))))
    assert not (tmp_path / "out").exists() and not (tmp_path / "new.key").exists()  # all is seen before any work


def test_an_annotated_set_is_scored_without_output(tmp_path):
    with open(tmp_path / "set.jsonl", "w", encoding="utf-8") as handle:
        for letter in letters(40, 5):
            entities = [{"start": start, "end": end, "label": label} for start, end, label in letter.spans]
            handle.write(json.dumps({"id": letter.id, "text": letter.text, "entities": entities}) + "\n")
    done = run("preprocess.pseudonymise", "--annotated", tmp_path / "set.jsonl")
    assert done.returncode == 0 and "documents with every identifier found: " in done.stdout
    assert any(line.split()[:3] == ["TEL", "1.000", "1.000"] for line in done.stdout.splitlines())


def test_a_model_of_eds_pseudo_adds_its_entities(monkeypatch, tmp_path):
    entity = types.SimpleNamespace(label_="NOM", start_char=3, end_char=9)
    other_kind = types.SimpleNamespace(label_="maladie", start_char=0, end_char=2)
    nlp = lambda text: types.SimpleNamespace(ents=[entity, other_kind])  # noqa: E731
    monkeypatch.setitem(sys.modules, "edsnlp", types.SimpleNamespace(load=lambda path: nlp))
    tagger.cache_clear()
    found = identifiers("le zorglu tousse", Settings(eds_pseudo=str(tmp_path)))
    tagger.cache_clear()
    assert found == [Span(3, 9, "NOM")]


def test_labels_of_published_models_are_known(tmp_path):
    assert labels_of(tmp_path, {"PER", "LOC", "MISC", "O"}) == {"PER": "NOM", "LOC": "VILLE"}
    with pytest.raises(InputError, match="its labels are MISC, O; give a model with labels such as NOM"):
        labels_of(tmp_path, {"MISC", "O"})


def test_binarize_warns_of_identifiers_in_text_that_was_not_pseudonymised(corpus, tmp_path):
    warning = identifier_warning([corpus])
    assert warning.startswith("60 documents that were not pseudonymised hold identifiers (social security numbers: ")
    pseudonymise(corpus, tmp_path / "out", Settings(), tmp_path / "one.key")
    assert identifier_warning([[tmp_path / "out"]]) == ""


def test_a_key_is_made_once_and_never_over_another_one(tmp_path, monkeypatch):
    for name in ("a.key", "b.key", "a.key"):
        make_key(tmp_path / name)
    key = read_key(tmp_path / "a.key")
    assert key != read_key(tmp_path / "b.key") and sorted(path.name for path in tmp_path.iterdir()) == [
        "a.key",
        "b.key",
    ]
    monkeypatch.setattr(type(tmp_path), "exists", lambda path: False)  # another command makes it in this moment
    make_key(tmp_path / "a.key")
    assert read_key(tmp_path / "a.key") == key


def test_a_key_that_changes_while_it_is_used_is_refused(corpus, tmp_path):
    make_key(tmp_path / "a.key")
    shard = pseudonymise_stage.PseudonymiseShard(Settings(), tmp_path / "a.key", "other", None)
    with pytest.raises(InputError, match="a.key: changed while it was used"):
        next(shard(0, [], None))


def test_accents_and_spaces_make_no_other_replacement():
    name, number = "Hérault", "1 80 03 75 116 001 51"
    assert other("NOM", unicodedata.normalize("NFD", name)) == other("NOM", name)
    digits = [digits_of(other("SECU", text)) for text in (number, number.replace(" ", ""))]
    assert digits[0] == digits[1] and digits_of(other("IPP", "80 1234")) == digits_of(other("IPP", "801234"))


@pytest.mark.parametrize("name", ["Page", "Avril", "Mai", "Cadre", "Léa", "Li", "Lebœuf", "Hérault"])
def test_any_name_that_the_database_knows_is_found(name):
    for text in (f"Madame {name} va bien.", f"Vu {name.upper()} ce jour.", f"Vu {unicodedata.normalize('NFD', name)}."):
        document, _ = of(text, settings=Settings(known=("nom",)), nom=name)
        assert name.lower() not in unicodedata.normalize("NFC", document.text).lower()
    spelled, _ = of("Vu LEBOEUF ce jour.", settings=Settings(known=("nom",)), nom="Lebœuf")
    assert "LEBOEUF" not in spelled.text


@pytest.mark.parametrize(
    "text", ["DURRUTI, Zoelis vu", "DURRUTI^ZOELIS vu", "Zoelis (Durruti) vu", "Zoelis_Durruti vu", "Zoelis‑Durruti vu"]
)
def test_signs_between_names_hide_none(text):
    document, _ = of(text, settings=Settings(known=("nom",)), nom="Zoelis Durruti")
    assert "durruti" not in document.text.lower() and "zoelis" not in document.text.lower()
    polish, _ = of("Mme Lukasz vue, Łukasz vu.", settings=Settings(known=("nom",)), nom="Łukasz")
    assert "ukasz" not in polish.text


def test_a_short_list_gives_no_replacements(tmp_path, capsys):
    (tmp_path / "names.txt").write_text("Dupont\nJean-Pierre\n")
    settings = Settings(first_names=str(tmp_path / "names.txt"), surnames=str(tmp_path / "names.txt"))
    settings.check()
    assert capsys.readouterr().err.count("names.txt: has 1 names, so that names of INSEE replace others.") == 2
    document, found = of("Mme Dupont tousse.", settings=settings)
    assert [one.text for one in found] == ["Dupont"] and "Dupont" not in document.text


def test_a_field_that_no_document_has_is_refused_and_samples_make_nothing_anew(corpus, tmp_path, capsys):
    make_key(tmp_path / "a.key")
    with pytest.raises(InputError, match="'nmo': no document has this field; check --known and --keep"):
        pseudonymise(corpus, tmp_path / "out", Settings(known=("nmo",)), tmp_path / "a.key")
    for samples in (5, 7):
        pseudonymise(corpus, tmp_path / "out", Settings(samples=samples), tmp_path / "a.key")
    assert "there already" in capsys.readouterr().err


def test_the_page_shares_its_rows_out():
    assert shared_out(7, {"NOM": 100, "TEL": 1, "DATE": 3, "URL": 0}) == {"NOM": 3, "TEL": 1, "DATE": 3, "URL": 0}
    assert sum(shared_out(200, {"NOM": 60, "IPP": 60}).values()) == 120


@pytest.mark.parametrize(
    "text", ["\u1112\u1161\u11ab", "\u0627\u0653", "\u05d0\u05bc\u05b7", "Mme Dupont ␟ ␟ tél 0612345678"]
)
def test_any_text_can_be_read_and_shown(text, tmp_path):
    with open(tmp_path / "a.jsonl", "w", encoding="utf-8") as handle:
        write_document(handle, Document("1", "s", [f"Mme Dupont {text} vue."]))
    pseudonymise([tmp_path / "a.jsonl"], tmp_path / "out", Settings(), tmp_path / "a.key")
    assert (tmp_path / "out.check.html").exists()
