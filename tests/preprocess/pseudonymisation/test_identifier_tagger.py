"""A model beside the rules: what it tags is found, in long lines too, in whole words, and joined with the rules'."""

import json
import shutil
from random import Random

import pytest
import safetensors.torch
import torch
from identified_letters import annotated_line, letters
from tiny_models import WORDS, write_roberta
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer

from alibert_common.errors import InputError
from alibert_common.files import read_text
from downstream.tasks import load_task
from preprocess.documents.document import Document
from preprocess.pseudonymisation import settings
from preprocess.pseudonymisation.documents import Pseudonymiser
from preprocess.pseudonymisation.score import read_annotated
from preprocess.pseudonymisation.settings import Settings, identifiers
from preprocess.pseudonymisation.spans import LABELS, Span
from preprocess.pseudonymisation.tagger import check_tagger, in_words, tagger

NAME = "Hépatite"  # two subwords; the model tags the first one only, as many published models do
LABEL_NAMES = {0: "O", 1: "B-PER", 2: "I-PER"}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of 32 subwords that tags NAME."""
    folder = write_roberta(tmp_path_factory.mktemp("tagger") / "model")
    config = AutoConfig.from_pretrained(folder, id2label=LABEL_NAMES, label2id={v: k for k, v in LABEL_NAMES.items()})
    torch.manual_seed(1)
    network = AutoModelForTokenClassification.from_config(config)
    tokenizer, draw = AutoTokenizer.from_pretrained(folder), Random(1)
    lines = [" ".join(draw.choice([*WORDS, NAME]) for _ in range(12)) for _ in range(64)]
    batch = tokenizer(lines, return_tensors="pt", padding=True, truncation=True)
    first = tokenizer(NAME, add_special_tokens=False)["input_ids"][0]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.03)
    for _ in range(25):
        loss = network(**batch, labels=(batch["input_ids"] == first).long()).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    network.save_pretrained(folder)
    return folder


def words(count, draw):
    return [draw.choice(WORDS) for _ in range(count)]


def test_what_the_model_tags_is_found_in_whole_words_whatever_the_length_of_the_line(model):
    draw = Random(2)
    for count in (3, 40, 400):  # of words; the model reads 32 subwords
        line = words(count, draw)
        for place in (0, count // 2, count - 1):
            line[place] = NAME
        text = f"le foie\n\n{' '.join(line)}, et le rein"
        found = list(tagger(model)(text))
        assert [text[start:end] for start, end, _ in found] == [NAME] * 3, count
        assert {label for *_, label in found} == {"NOM"}


def test_spans_of_the_model_are_joined_with_those_of_the_rules(model):
    text = f"le patient {NAME} traite M. Dupont, tél. 06 12 34 56 78\nvu par M. {NAME} le 12/03/2020"
    rules, both = (identifiers(text, Settings(tagger=folder)) for folder in ("", str(model)))
    first, second = text.index(NAME), text.rindex(NAME)
    assert Span(first, first + len(NAME), "NOM") in both and set(rules) <= set(both)
    assert [span for span in both if span.start == second] == [Span(second, second + len(NAME), "NOM")]


def test_a_rule_tells_the_kind_of_what_a_model_found_too(monkeypatch):
    text = "Vu par Dr Jean DUPONT-Zorglu, pneumologue"
    places = [(3, 20, "VILLE"), (30, 41, "NOM")]
    monkeypatch.setattr(settings, "tagger", lambda *_: lambda _: [Span(*place) for place in places])
    found = identifiers(text, Settings(tagger="any"))
    assert [(text[start:end], label) for start, end, label in found] == [
        ("par Dr", "VILLE"), ("Jean", "PRENOM"), ("DUPONT-Zorglu", "NOM"), ("pneumologue", "NOM"),
    ]  # fmt: skip


def test_what_the_model_tags_is_replaced(model):
    document = Document("1", "letters", [f"le patient {NAME} traite le foie"])
    other, replaced = Pseudonymiser(Settings(tagger=str(model)), bytes(32)).of(document)
    assert [one.text for one in replaced] == [NAME] and NAME not in other.text
    assert other.text.startswith("le patient ") and other.text.endswith(" traite le foie")


def test_a_word_has_one_label_and_signs_beside_it_stay():
    line = "M.Dupont-Martin, (Jean)."
    places = [(2, 4, "NOM"), (5, 7, "PRENOM"), (9, 10, "NOM"), (15, 16, "VILLE"), (18, 20, "PRENOM")]
    assert list(in_words(line, places)) == [Span(2, 8, "NOM"), Span(9, 15, "NOM"), Span(18, 22, "PRENOM")]


def test_a_folder_of_a_model_of_another_kind_is_refused(model, tmp_path):
    with pytest.raises(InputError, match="masked: no token-classification model with config.json"):
        check_tagger(write_roberta(tmp_path / "masked"))
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"id2label": {"0": "O", "1": "B-foie"}}))
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(InputError, match="its labels are O, foie; give a model with labels such as NOM"):
        check_tagger(tmp_path)


@pytest.mark.parametrize(
    "harm, words",
    [
        (lambda file, weights: file.write_bytes(file.read_bytes()[:-9]), "no token-classification model with weights"),
        (lambda file, weights: save(weights, "classifier.bias", None, file), "weights are not whole .classifier.bias"),
        (lambda file, weights: save(weights, "classifier.bias", "nan", file), "weights are not whole .classifier.bias"),
        (lambda file, weights: file.with_name("tokenizer.json").unlink(), "holds no tokenizer"),
    ],
)  # fmt: skip
def test_a_damaged_model_is_refused(model, tmp_path, harm, words):
    folder = shutil.copytree(model, tmp_path / "copy")
    harm(folder / "model.safetensors", safetensors.torch.load_file(folder / "model.safetensors"))
    with pytest.raises(InputError, match=words):
        check_tagger(folder)
        tagger(folder)


def save(weights, name, value, file):
    """Write the weights without one of them, or with a value in it."""
    old = weights.pop(name)
    more = {} if value is None else {name: old.fill_(float(value))}
    safetensors.torch.save_file(weights | more, file, {"format": "pt"})


def test_the_recipe_has_all_labels_and_its_sample_is_what_the_generator_makes(repository):
    recipe = load_task(repository / "recipes" / "finetune" / "pseudonymisation.yaml").recipe
    assert sorted(recipe.types) == sorted(LABELS)
    sample = repository / "recipes" / "sample" / "identified"
    made = {
        "train": letters(48, 11, made_names=True),
        "dev": letters(12, 12, made_names=True),
        "test": letters(20, 13, held_out=True),
    }
    for split, its in made.items():
        assert read_text(sample / f"{split}.jsonl").splitlines() == [annotated_line(one) for one in its]
    train, test = (names_in(sample / f"{split}.jsonl") for split in ("train", "test"))
    assert len(train) > 30 and not train & test


def names_in(file):
    """The names in a file of letters, without initials."""
    found = {(one.text[start:end], label) for one in read_annotated(file) for start, end, label in one.spans}
    return {name.casefold() for name, label in found if label in ("NOM", "PRENOM") and len(name) > 2}


def test_a_line_of_the_sample_is_json_with_a_patient(repository):
    for file in sorted((repository / "recipes" / "sample" / "identified").glob("*.jsonl")):
        records = [json.loads(line) for line in read_text(file).splitlines()]
        assert all(record["patient"] and record["entities"] for record in records)
