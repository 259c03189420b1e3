"""What the answers add up to: AliBERT's Table 5 with intervals, Figure 5's predictions, words by number of pieces."""

import math
from collections import Counter
from statistics import NormalDist

from alibert_common.report.markdown import escaped

LIMITS = (1, 3, 5)  # of AliBERT's Table 5
ALL = "all sources"
MANY = 4  # pieces and more that are counted together: beyond it there are few words each
FREQUENCY = "most frequent words"  # a baseline that reads no sentence


def wilson(found: int, asked: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share; it stays inside 0 to 1, also for shares near them and few words."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, extra = found / asked, z * z / asked
    middle, half = share + extra / 2, z * math.sqrt((share * (1 - share) + extra / 4) / asked)
    return max(0.0, (middle - half) / (1 + extra)), min(1.0, (middle + half) / (1 + extra))


def shares(ranks: list[int | None]) -> dict:
    """{"words", "top_1": {"share", "low", "high"}, "top_3", "top_5"}; None, no rank, is a miss."""
    row: dict = {"words": len(ranks)}
    for limit in LIMITS:
        number = sum(rank is not None and rank <= limit for rank in ranks)
        low, high = wilson(number, len(ranks))
        row[f"top_{limit}"] = {"share": number / len(ranks), "low": low, "high": high}
    return row


def by_source(rows: list[dict], name: str) -> dict[str, dict]:
    """The shares of one model's ranks, by source, and of all sources if there are several; no source without a row."""
    sources = list(dict.fromkeys(row["source"] for row in rows))
    parts = {source: [row for row in rows if row["source"] == source] for source in sources}
    if len(sources) > 1:
        parts[ALL] = rows
    return {source: shares([row["answers"][name]["expected_rank"] for row in part]) for source, part in parts.items()}


def of_one_piece(rows: list[dict]) -> list[dict]:
    """The rows whose expected word is one piece of every model's vocabulary."""
    return [row for row in rows if all(answer["expected_pieces"] == 1 for answer in row["answers"].values())]


def by_pieces(rows: list[dict], name: str) -> dict[str, dict]:
    """The expected words of 1, 2, 3, MANY or more pieces, or that cannot be predicted: how many, how many right."""
    found = {kind: {"words": 0, "right": 0} for kind in (*map(str, range(1, MANY)), f"{MANY}+", "cannot")}
    for row in rows:
        answer = row["answers"][name]
        size = answer["expected_pieces"]
        kind = found["cannot" if size is None else f"{MANY}+" if size >= MANY else str(size)]
        kind["words"] += 1
        kind["right"] += answer["expected_rank"] == 1
    return found


def markdown(content: dict, examples: int) -> str:
    """The whole report as text, with the first `examples` sentences of each source in Figure 5's table."""
    models, rows = content["models"], content["rows"]
    heads = {name: escaped(f"{name} ({model['note']})" if model["note"] else name) for name, model in models.items()}
    lines = ["# Masked words", "", escaped(content["measure"]), "", *_settings(content), ""]
    lines += ["## Expected word among the first 1, 3 and 5", "", "In brackets 95 % intervals (Wilson) over words.", ""]
    lines += _table5(content["scores"], heads)
    if len(models) > 1:
        lines += ["", "## The same, words of one piece in every vocabulary", ""]
        lines += _table5(content["scores_one_piece"], heads) if content["scores_one_piece"] else ["There is none."]
    lines += ["", "## Words by number of pieces", "", "Of how many words, how many are first.", ""]
    lines += [*_pieces(models, heads), "", "## Predictions", "", *_figure5(rows, heads, examples)]
    return "\n".join(lines) + "\n"


def _settings(content: dict) -> list[str]:
    candidates = content["candidates"]
    lines = [f"- {candidates['number']:,} candidates, the same for all models: {candidates['from']}."]
    for name, counts in content["sources"].items():
        said = ", ".join(f"{number:,} {what.replace('_', ' ')}" for what, number in counts.items())
        lines.append(f"- {escaped(name)}: {said}.")
    for name, model in content["models"].items():
        never = ", ".join(f"{count:,} {reason}" for reason, count in model["never_predicted"].items()) or "none"
        lines.append(f"- {escaped(name)}: forms of candidates that it cannot predict: {never}.")
    return [*lines, f"- seed {content['seed']}."]


def _table5(scores: dict[str, dict], heads: dict[str, str]) -> list[str]:
    sources = next(iter(scores.values()))
    titles = [f"{escaped(source)}, top {limit}" for source in sources for limit in LIMITS]
    lines = [f"| model | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for name, row in scores.items():
        tops = [source[f"top_{limit}"] for source in row.values() for limit in LIMITS]
        cells = [f"{top['share']:.2f} [{top['low']:.2f}, {top['high']:.2f}]" for top in tops]
        lines.append(f"| {heads.get(name, escaped(name))} | {' | '.join(cells)} |")
    words = ", ".join(f"{escaped(source)} {row['words']:,}" for source, row in sources.items())
    return [*lines, "", f"Words: {words}."]


def _pieces(models: dict[str, dict], heads: dict[str, str]) -> list[str]:
    kinds = list(next(iter(models.values()))["pieces"])
    titles = [kind if kind == "cannot" else f"{kind} pieces" for kind in kinds]
    lines = [f"| model | {' | '.join(titles).replace('1 pieces', '1 piece').replace('cannot', 'cannot predict')} |"]
    lines.append("|---" * (len(kinds) + 1) + "|")
    for name, model in models.items():
        cells = [f"{kind['right']} of {kind['words']}" for kind in model["pieces"].values()]
        lines.append(f"| {heads[name]} | {' | '.join(cells)} |")
    return lines


def _figure5(rows: list[dict], heads: dict[str, str], examples: int) -> list[str]:
    """A row a sentence, a column a model, the expected word in bold, its rank below."""
    lines = [f"| sentence | expected | {' | '.join(heads.values())} |", "|---" * (len(heads) + 2) + "|"]
    shown: Counter = Counter()
    for row in rows:
        shown[row["source"]] += 1
        if shown[row["source"]] > examples:
            continue
        cells = [_cell(row["answers"][name], row["expected"]) for name in heads]
        lines.append(f"| {escaped(row['sentence'])} | {escaped(row['expected'])} | {' | '.join(cells)} |")
    return lines


def _cell(answer: dict, expected: str) -> str:
    marked = []
    for candidate in answer["top"]:
        bold = "**" if candidate["word"].casefold() == expected.casefold() else ""
        marked.append(f"{bold}{escaped(candidate['word'])}{bold} {candidate['score']:.3f}")
    rank, pieces = answer["expected_rank"], answer["expected_pieces"]
    if rank is None:
        place = "cannot predict it"
    else:
        place = f"rank {rank}" if rank <= len(marked) else f"rank {rank}, score {answer['expected_score']:.3f}"
        place += "" if pieces == 1 else f", {pieces} pieces"
    return "<br>".join([*marked, f"({place})"])
