"""What test items are drawn and training items counted by: documents, where the data say which these are."""

from collections.abc import Sequence

PATIENTS = "patients"  # where the recipe says who they are
SENTENCES = "sentences"
QUESTIONS = "questions"
ALONE = {"similarity": "pairs", "choice": QUESTIONS, "ranking": QUESTIONS}  # each for itself; groups are only of copies
WITHOUT_DOCUMENTS = (
    "The data do not name the document of each sentence, so sentences are treated as independent. They are not: the "
    "intervals are too narrow and p is too small."
)


def unit_of(kind: str, format: str, records: Sequence[dict]) -> str:
    """The name of the groups in predictions.jsonl; kind and format as in the recipe.

    Column files without document lines, and relations without a document, are sentences. Questions about one text are
    a document.
    """
    if kind in ALONE:
        return ALONE[kind]
    alone = all(record["group"] == record["id"] for record in records)
    if kind == "ner":
        by_sentence = format == "iob" and not any("\n" in record["text"].strip() for record in records)
    else:
        by_sentence = kind == "relations" and (alone or format == "chemprot")  # whose group is the sentence
    if by_sentence:
        return SENTENCES
    return QUESTIONS if alone and kind == "extractive_qa" else "documents"
