"""A fine-tuned model of every family, used as its card says: the answers are those that were scored."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from card_code import BLOCK, answers, code_of
from tiny_models import write_roberta
from tokenizers import Tokenizer, processors

from downstream import finetune

PROTOCOL = "batch: 8\nlearning_rate: 5.0e-3\nepochs: 12\nsource: chosen so that a tiny model learns\n"
ORGANS, DRUGS = ("foie", "rein", "cuisse"), ("aspirine", "paracétamol")
SIZES = {"train": 32, "dev": 6, "test": 6}
TABLE = "format: table\nlabels: [organ, drug]\n"
FAMILIES = {  # recipe, form of the data
    "entities": ("kind: ner\nformat: jsonl\ntypes: [organ, drug]", "entities"),
    "entities_by_type": ("kind: ner\nformat: jsonl\ntypes: [organ, drug]\nnested: per_type", "entities"),
    "label": (f"kind: classification\n{TABLE}reader: {{text: first, label: label}}", "rows"),
    "labels": (
        f"kind: classification\n{TABLE}multi_label: true\nreader: {{text: some, label: labels, separator: '+'}}",
        "rows",
    ),
    "pair": (f"kind: classification\n{TABLE}reader: {{text: first, second: second, label: label}}", "rows"),
    "relation": (f"kind: relations\n{TABLE}reader: {{text: first, label: label}}", "rows"),
    "likeness": (
        "kind: similarity\nformat: table\nreader: {first: first, second: second, score: score}",
        "rows",
    ),
    "choice": (
        "kind: choice\nformat: options\nreader: {question: first, options: {a: a, b: b}, right: right}",
        "rows",
    ),
    "ranking": (
        "kind: ranking\nformat: ranking\nreader: {question: first, candidate: second, right: same, id: number}",
        "candidates",
    ),
    "reading": ("kind: extractive_qa\nformat: squad", "questions"),
}
FAMILIES["vectors"] = FAMILIES["ranking"]
FAMILIES["labels_attended"] = FAMILIES["labels"]
FORMS = {"vectors": "bi-encoder", "labels_attended": "label-attention"}  # the others have the plain head
WITHOUT_PAIRS = ("likeness", "reading")  # of a model whose tokenizer has no form for pairs


def text_of(number: int) -> tuple[str, str]:
    """A text and what its label depends on."""
    word = (*ORGANS, *DRUGS)[number % 5]
    return f"le patient {('et', 'a', 'du')[number % 3]} {word} {'de' * (number % 2)}", word


def row(number: int) -> dict:
    first, word = text_of(number)
    second, other = text_of(number * 3 + 1)
    kinds = ["organ" if one in ORGANS else "drug" for one in (word, other)]
    candidates = (ORGANS[number % 3], DRUGS[number % 2])
    return {
        "first": first,
        "second": f"{second} {word}",
        "label": kinds[0],
        "some": f"{word} {other}" if number % 2 else word,
        "labels": "+".join(dict.fromkeys(kinds[: 1 + number % 2])),
        "score": float(kinds[0] == kinds[1]) * 4 + number % 2,
        "a": candidates[number % 2],
        "b": candidates[1 - number % 2],
        "right": "ba"[number % 2],  # the drug
    }


def written(form: str, numbers: range) -> str:
    if form == "questions":
        return json.dumps({"data": [{"paragraphs": [question(number) for number in numbers]}]})
    if form == "candidates":
        records = [
            {"number": str(number), "first": text_of(number)[0], "second": word, "same": str(int(right))}
            for number in numbers
            for word in ORGANS[:2] + DRUGS
            for right in [(word in ORGANS) == (text_of(number)[1] in ORGANS)]
        ]
    else:
        records = [document(number) if form == "entities" else row(number) for number in numbers]
    return "".join(json.dumps(one) + "\n" for one in records)


def document(number: int) -> dict:
    """Two lines with an entity each."""
    text, found = "", []
    for shift in (0, 1):
        line, word = text_of(number + shift)
        start = len(text) + line.index(word)
        found.append({"start": start, "end": start + len(word), "label": "organ" if word in ORGANS else "drug"})
        text += f"{line}\n"
    return {"text": text, "entities": found}


def question(number: int) -> dict:
    """What is asked for is in the text, but of every fourth."""
    context, word = text_of(number)
    answers = [] if number % 4 == 3 else [{"text": word, "answer_start": context.index(word)}]
    asked = {"id": str(number), "question": "une fièvre" if not answers else "la douleur", "answers": answers}
    return {"context": context, "qas": [asked | {"is_impossible": not answers}]}


def inputs(name: str, number: int) -> list:
    """What `answer` is called with for a test item."""
    one = row(number)
    return {
        "entities": [document(number)["text"]],
        "entities_by_type": [document(number)["text"]],
        "label": [one["first"]],
        "labels": [one["some"]],
        "labels_attended": [one["some"]],
        "relation": [one["first"]],
        "choice": [one["first"], [one["a"], one["b"]]],
        "ranking": [one["first"], [*ORGANS[:2], *DRUGS]],
        "vectors": [one["first"], [*ORGANS[:2], *DRUGS]],
        "reading": ["une fièvre" if number % 4 == 3 else "la douleur", one["first"]],
    }.get(name, [one["first"], one["second"]])


def expected(name: str, record: dict) -> object:
    """The answer that was scored, in the form of the card's."""
    said = record["predicted"]
    if name.startswith("entities"):
        return [[one["start"], one["end"], one["label"]] for one in said]
    if name == "choice":
        return [number for number, logit in enumerate(said) if logit > 0] or [said.index(max(said))]
    if name in ("ranking", "vectors"):
        return sorted(range(len(said)), key=lambda number: -said[number])
    if name == "likeness":
        return pytest.approx(said, abs=1e-4)
    if name.startswith("labels"):
        return sorted(said)
    return {"reading": [*said, ""][0]}.get(name, said[0] if name in ("label", "pair") else said)


def told(name: str, answer: object) -> object:
    """The card's answer as JSON has it, labels in one order."""
    return sorted(answer) if name.startswith("labels") else json.loads(json.dumps(answer))


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of one seed for each family, through the command."""
    root = tmp_path_factory.mktemp("families")
    for folder in ("tiny", "without_pairs"):
        write_roberta(root / folder, width=32)
    tokenizer = Tokenizer.from_file(str(root / "tiny" / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(root / "tiny" / "tokenizer.json"))
    (root / "protocols").mkdir()
    (root / "protocols" / "tuned.yaml").write_text(PROTOCOL)
    with pytest.MonkeyPatch.context() as patch:
        for picture in ("draw_scores", "draw_curves"):  # seconds, of what is not asked here
            patch.setattr(f"downstream.experiment.results.{picture}", lambda *_: None)
        return {name: run(root, name, recipe, form) for name, (recipe, form) in FAMILIES.items()}


def run(root: Path, name: str, recipe: str, form: str) -> Path:
    ending = "json" if form == "questions" else "jsonl"
    splits, start = [], 0
    for split, size in SIZES.items():
        numbers = range(start, start := start + size)
        (root / f"{name}-{split}.{ending}").write_text(written(form, numbers), encoding="utf-8")
        splits.append(f"{split}: {name}-{split}.{ending}")
    text = f"task: {name}\n{recipe}\ndata: .\nsource: https://example.org\nsplits: {{{', '.join(splits)}}}\n"
    (root / f"{name}.yaml").write_text(text)
    model = root / ("without_pairs" if name in WITHOUT_PAIRS else "tiny")
    parts = ["--model", model, "--output", root / "runs" / name, "--device", "cpu", "--seeds", "1"]
    parts += ["--form", FORMS[name]] if name in FORMS else []
    finetune.main([str(root / f"{name}.yaml"), *map(str, parts)])
    asked = [inputs(name, number) for number in numbers]
    (root / "runs" / name / "inputs.json").write_text(json.dumps(asked), encoding="utf-8")
    return root / "runs" / name


def scored(name: str, run: Path) -> list:
    """The test items' answers."""
    lines = (run / "seed-1" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    return [expected(name, one) for one in map(json.loads, lines) if one["split"] == "test"]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_code_on_the_card_answers_what_was_scored(runs, name):
    found = answers(runs[name])
    assert [told(name, one) for one in found] == scored(name, runs[name])
    assert len({json.dumps(one) for one in found}) > 1  # a model that has learned


def test_the_page_of_the_docs_shows_the_same_code(runs, repository):
    shown = BLOCK.findall((repository / "docs/howto/using_models.md").read_text(encoding="utf-8"))
    assert {name: code_of(run) in shown for name, run in runs.items() if name != "relation"} == dict.fromkeys(
        FAMILIES.keys() - {"relation"},
        True,  # a relation's is that of a label with another text
    )


@pytest.mark.skipif(
    not os.environ.get("ALIBERT_TRANSFORMERS_4"), reason="no folder with transformers 4 (recipes/test.sh)"
)
def test_so_it_does_with_the_other_major_of_transformers(runs, repository):
    paths = [os.environ["ALIBERT_TRANSFORMERS_4"], str(repository), str(repository / "tests" / "helpers")]
    command = [sys.executable, "-m", "card_code", "4", *map(str, runs.values())]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=repository, env=environment, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for (name, run), found in zip(runs.items(), json.loads(done.stdout.splitlines()[-1]), strict=True):
        assert [told(name, one) for one in found] == scored(name, run), name
