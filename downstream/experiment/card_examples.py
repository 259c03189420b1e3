"""How the fine-tuned model of each family is used, as its card and docs/howto/using_models.md show it.

The code of every family defines `answer`, which gives what was scored. tests/end_to_end/test_pipelines.py runs it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from downstream.tasks.base import Task
from downstream.tasks.candidates import Ranking
from downstream.tasks.classification import TextClassification
from downstream.tasks.extractive_qa import ExtractiveAnswers
from downstream.tasks.ner import NamedEntities
from downstream.tasks.relations import MARKS, Relations
from downstream.tasks.similarity import Similarity

SENTENCE = '"Le patient a une douleur du foie."'
SECOND = '"Douleur du foie."'
LONG = (
    "The pipeline cuts nothing: a text of more tokens than the model has positions for ends in an error, and "
    "`truncation=True` would drop its end. The scoring read such texts in overlapping windows of {longest} "
    "tokens and took the mean of their outputs."
)


class Usage(NamedTuple):
    """tag: the hub's name of the task; name: in words; code: Python, run beside the folder `model`; limits: what else
    a user has to know, in sentences."""

    tag: str
    name: str
    code: str
    limits: str


def usage_of(task: Task, item: Any, longest: int) -> Usage:
    """Of the task's models, which read an item of it in sequences of at most so many tokens."""
    if isinstance(task, NamedEntities):
        return _tagger(task) if task.recipe.nested in ("concatenated", "per_type") else _entities(task, longest)
    if isinstance(task, ExtractiveAnswers):
        return _reading(task, longest)
    makers: dict[type, Callable] = {TextClassification: _labels, Relations: _relations, Similarity: _similarity}
    return makers.get(type(task), _candidates)(task, item, longest)


def _entities(task: NamedEntities, longest: int) -> Usage:
    code = '''from transformers import pipeline

find = pipeline("token-classification", model="model", aggregation_strategy="simple")


def answer(text):
    """(start, end, label) of the entities, in characters of the text, which is read a line at a time."""
    found, start = [], 0
    for line in text.split("\\n"):
        found += [(start + one["start"], start + one["end"], one["entity_group"]) for one in find(line)]
        start += len(line) + 1
    return found


print(answer("Douleur du foie.\\nFièvre, traitée par aspirine."))
'''
    limits = (
        "The pipeline asks every token and may begin or end an entity inside a word, where the scoring took a word's "
        "tag from its first token: a model that is unsure of a word answers differently in the two. It cuts off what "
        f"goes beyond the tokenizer's limit, without a word, where the scoring read windows of {longest} tokens. "
        '`downstream.tag.Tagger("model")` gives exactly what was scored.'
    )
    if task.recipe.sequence == "window":
        limits += " This model was trained on several lines at once, which a line alone is not."
    return Usage("token-classification", "named entity recognition", code, limits)


def _tagger(task: NamedEntities) -> Usage:
    code = '''from downstream.tag import Tagger

tag = Tagger("model")


def answer(text):
    """(start, end, label) of the entities, in characters of the text."""
    return [tuple(span) for span in tag([text])[0]]


print(answer("Douleur du foie.\\nFièvre, traitée par aspirine."))
'''
    why = {
        "concatenated": "a label is all types of a word, joined by +, of which entities have still to be made",
        "per_type": "a token has a tag for each type, of which a pipeline takes one, without B- and I-",
    }
    limits = f"No `pipeline` finds the entities of this model: {why[task.recipe.nested]}. `downstream.tag` does."
    return Usage("token-classification", "named entity recognition", code, limits)


def _labels(task: TextClassification, item: Any, longest: int) -> Usage:
    return Usage(
        "text-classification",
        "text classification",
        _of_texts(task, task.pairs(item)[0][1] is not None),
        LONG.format(longest=longest)
        + " Documents were scored by the labels of all their texts." * task.recipe.by_group,
    )


def _relations(task: Relations, item: Any, longest: int) -> Usage:
    marks = [f"{opening}...{closing}" for opening, closing in MARKS]
    shown = {
        "replaced": "Each of the two mentions is replaced by its type in capitals, as in `@DRUG$`",
        "marked": f"The first argument stands in `{marks[0]}`, the second in `{marks[1]}`",
    }
    example = {
        "replaced": '"@DRUG$ et @DISEASE$."',
        "marked": '"<< Aspirine >> et [[ fièvre ]]."',
    }
    how = task.recipe.show
    limits = f"{shown[how]}; a text with three mentions is read once for each pair. {LONG.format(longest=longest)}"
    return Usage("text-classification", "relation extraction", _of_texts(task, False, example[how]), limits)


def _of_texts(task: Any, paired: bool, example: str = SENTENCE) -> str:
    """Code for a text or a pair, with one label or several."""
    names, read = ("text", "text") if not paired else ("first, second", '{"text": first, "text_pair": second}')
    several = getattr(task.recipe, "multi_label", False)
    if several:
        call = f'classify({read}, top_k=None, function_to_apply="sigmoid")'
        told, result = (
            f'"""The labels whose probability is above {task.recipe.threshold:g}."""',
            f'[one["label"] for one in {call} if one["score"] > {task.recipe.threshold:g}]',
        )
    else:
        told, result = (
            '"""The likeliest label; `top_k=None` gives all, best first."""',
            (f'classify({read}, top_k=None)[0]["label"]'),
        )
    return f"""from transformers import pipeline

classify = pipeline("text-classification", model="model")


def answer({names}):
    {told}
    return {result}


print(answer({example if not paired else f"{SENTENCE}, {SECOND}"}))
"""


def _similarity(task: Similarity, item: Any, longest: int) -> Usage:
    code = f'''from transformers import pipeline

compare = pipeline("text-classification", model="model", function_to_apply="none")


def answer(first, second):
    """How alike the two texts are, on the scale of the training data."""
    return compare({{"text": first, "text_pair": second}}, top_k=None)[0]["score"]


print(answer({SENTENCE}, {SECOND}))
'''
    return Usage("text-classification", "sentence similarity", code, LONG.format(longest=longest))


def _candidates(task: Task, item: Any, longest: int) -> Usage:
    ranks = isinstance(task, Ranking)
    told, result = (
        ("The numbers of the candidates, best first.", "sorted(range(len(shares)), key=lambda number: -shares[number])")
        if ranks
        else (
            "The numbers of the candidates that are more likely right than not, or of the likeliest.",
            "[number for number, share in enumerate(shares) if share > 0.5] or [shares.index(max(shares))]",
        )
    )
    code = f'''from transformers import pipeline

judge = pipeline("text-classification", model="model", function_to_apply="sigmoid")


def answer(question, candidates):
    """{told}"""
    pairs = [{{"text": question, "text_pair": candidate}} for candidate in candidates]
    shares = [judge(pair, top_k=None)[0]["score"] for pair in pairs]
    return {result}


print(answer("Où est la douleur ?", ["le foie", "le rein"]))
'''
    name = "ranking of answers" if ranks else "multiple choice"
    return Usage("text-classification", name, code, LONG.format(longest=longest))


def _reading(task: ExtractiveAnswers, longest: int) -> Usage:
    nothing = (
        "    if (first[0] + last[0]).item() > best:  # both ends on the first token: the text does not answer\n"
        '        return ""\n'
    )
    code = f'''import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("model")
model = AutoModelForQuestionAnswering.from_pretrained("model").eval()


def answer(question, text):
    """The likeliest stretch of the text, of at most {task.recipe.longest_answer} tokens."""
    read = tokenizer(question, text, return_tensors="pt", return_offsets_mapping=True)
    offsets = read.pop("offset_mapping")[0].tolist()
    inside = [number for number, part in enumerate(read.sequence_ids()) if part == 1]
    with torch.no_grad():
        output = model(**read)
    first, last = output.start_logits[0], output.end_logits[0]
    spans = [(a, b) for a in inside for b in inside if a <= b < a + {task.recipe.longest_answer}]
    best, begin, end = max(((first[a] + last[b]).item(), a, b) for a, b in spans)
{nothing if task.may_be_none else ""}    return text[offsets[begin][0] : offsets[end][1]].strip()


print(answer("Où est la douleur ?", "Le patient a une douleur du foie."))
'''
    limits = (
        "transformers 5 has no pipeline for question answering any more; this code runs with 4.57, too. Question and "
        f"text must fit into {longest} tokens: the scoring read longer texts in windows that overlap by half, and took "
        "the likeliest answer of all."
    )
    return Usage("question-answering", "extractive question answering", code, limits)
