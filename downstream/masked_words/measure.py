"""All models ranked on all questions: what masked_words.json holds."""

import sys
from collections import Counter

from tqdm import tqdm

from downstream.masked_words import tables
from downstream.masked_words.fillers import MAX_PIECES, Filler, whole_words
from downstream.masked_words.questions import MIN_LETTERS, Candidates, QuestionSource, candidates_of
from downstream.masked_words.scoring import answers, cut_to_fit

MIN_CANDIDATES = 1000  # chance then has at most 1 in 200 among the first five; of fewer words it would look like skill
MEASURE = (
    "For a word of k pieces k masks are put in its place; its score is the sum of its pieces' log-probabilities, shown "
    "as the softmax over all candidates. Case is not regarded. Long words are held at a disadvantage, so a "
    "vocabulary that splits more words is, too."
)


def choose_candidates(sources: list[QuestionSource], fillers: list[Filler]) -> tuple[Candidates, str]:
    """The words of all sources, and where they are from; with fewer than MIN_CANDIDATES the vocabularies' words too."""
    words = sum((source.words for source in sources), Counter())
    origin = f"words of letters alone, of {MIN_LETTERS} or more, between spaces in the texts, and the expected words"
    if len({word.casefold() for word in words}) >= MIN_CANDIDATES:
        return candidates_of(words), origin
    for filler in fillers:
        words.update(dict.fromkeys(whole_words(filler.tokenizer), 0))  # the texts' counts stay
    return candidates_of(words), f"{origin}; fewer than {MIN_CANDIDATES:,}, so words of one piece of any model too"


def ask(fillers: list[Filler], sources: list[QuestionSource], top: int, seed: int, drawn: bool) -> dict:
    """All questions and answers: settings, shares by source, words by pieces, a row a question.

    drawn: whether a source is a text from which words were drawn, whose frequencies are a baseline.
    """
    candidates, origin = choose_candidates(sources, fillers)
    questions, cut = cut_to_fit([question for source in sources for question in source.questions], fillers)
    rows: list[dict] = [
        {"source": asked.source, "sentence": asked.sentence, "expected": asked.word, "answers": {}}
        for asked in questions
    ]
    models: dict[str, dict] = {}
    every = 0.5 if sys.stderr.isatty() else 60  # seconds; a log file gets a line a minute
    with tqdm(total=len(fillers) * len(questions), unit="word", mininterval=every) as bar:
        for filler in fillers:
            bar.set_description(filler.name, refresh=False)
            found, never = answers(filler, questions, candidates, top, bar.update)
            for row, answer in zip(rows, found, strict=True):
                row["answers"][filler.name] = answer
            pieces = tables.by_pieces(rows, filler.name)
            models[filler.name] = {"note": filler.note, "never_predicted": dict(never), "pieces": pieces}
    together = tables.of_one_piece(rows)
    scores = {name: tables.by_source(rows, name) for name in models}
    if drawn:
        scores[tables.FREQUENCY] = tables.by_source(by_frequency(rows, candidates), tables.FREQUENCY)
    return {
        "measure": MEASURE, "seed": seed, "max_pieces": MAX_PIECES,
        "candidates": {"number": len(candidates.words), "from": origin},
        "sources": {source.name: source.counts | {"cut": cut[source.name]} for source in sources}, "models": models,
        "scores": scores,
        "scores_one_piece": {name: tables.by_source(together, name) for name in models} if together else {},
        "rows": rows,
    }  # fmt: skip


def by_frequency(rows: list[dict], candidates: Candidates) -> list[dict]:
    """The rows as answered by always naming the most frequent candidates; of equals the expected word comes last."""
    number_of = candidates.number_of()
    ranks = {count: rank for rank, count in enumerate(candidates.counts, 1)}  # the last of equals; they are sorted
    counts = [candidates.counts[number_of[row["expected"].casefold()]] for row in rows]
    return [
        {"source": row["source"], "answers": {tables.FREQUENCY: {"expected_rank": ranks[count]}}}
        for row, count in zip(rows, counts, strict=True)
    ]
