"""What test items are drawn and training items counted by: documents, where the data say which these are."""

from collections.abc import Sequence

SENTENCES = "sentences"
ALONE = {"similarity": "pairs", "choice": "questions", "ranking": "questions", "extractive_qa": "questions"}
WITHOUT_DOCUMENTS = (
    "The data do not say which sentences are of one document, so sentences are taken for independent. They are not: "
    "intervals are too narrow, and p too small."
)


def unit_of(kind: str, format: str, records: Sequence[dict]) -> str:
    """The name of the groups in predictions.jsonl; kind and format as in the recipe.

    Column files without document lines, and relations without a document, are sentences. Other items that are each a
    group of their own are what they are in their family.
    """
    alone = all(one["group"] == one["id"] for one in records)
    if kind == "ner":
        by_sentence = format == "iob" and not any("\n" in one["text"].strip() for one in records)
    else:
        by_sentence = kind == "relations" and (alone or format == "chemprot")  # whose group is the sentence
    if by_sentence:
        return SENTENCES
    return ALONE.get(kind, "documents") if alone else "documents"
