"""The results of text_stages.py as tables in Markdown."""

import statistics

FIGURES = ("seconds", "processor")


def middle(costs: list[dict]) -> dict:
    """The median of every figure; the phases are those of the last run."""
    figures = {name: statistics.median(cost[name] for cost in costs) for name in costs[0] if name != "phases"}
    return figures | {"phases": costs[-1]["phases"]}


def summed(found: dict) -> dict:
    """The medians of what `pipeline` found so far."""
    costs = {name: {stage: middle(runs) for stage, runs in stages.items() if runs} for name, stages in found.items()
             if name != "same"}  # fmt: skip
    return costs | {"same": found["same"]}


def markdown(results: dict) -> str:
    """All tables of one file of results."""
    blocks = [commits(results)]
    if results["mode"] == "shards":
        blocks.append(shards(results["measured"]))
    else:
        blocks += [speed(results["measured"]), growth(results["measured"]), phases(results["measured"])]
    return "\n\n".join(block for block in blocks if block)


def commits(results: dict) -> str:
    """What was measured."""
    names = ", ".join(f"{name} {commit}" for name, commit in results["commits"].items())
    return f"{results['mode']}: {names}; {results['workers']} processes, {results['runs']} rounds"


def table(head: list[str], rows: list[list]) -> str:
    """Rows of cells."""
    lines = [head, ["---"] * len(head), *([cell(one) for one in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cell(value: object) -> str:
    """A number with three digits that count, or the word."""
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def speed(measured: dict) -> str:
    """A row for each size and stage, and one for all stages of a size."""
    head = ["text", "stage", "MB read", "s before", "s now", "times as fast", "CPU s before", "CPU s now", "MB/s now"]
    head += ["MB/s a core now", "largest process, MB", "all processes, MB", "disk, MB", "same files"]
    rows = []
    for size, found in measured.items():
        for stage, now in found["now"].items():
            before = found.get("before", {}).get(stage)
            rows.append([size, *speed_row(stage, before, now), said(found["same"].get(stage)) if before else ""])
        rows.append([size, *whole_row(found), ""])
    return table(head, rows)


def speed_row(stage: str, before: dict | None, now: dict) -> list:
    """The cells of a stage. Of memory and disk both checkouts are shown: before, now."""
    past = before or {}
    ratio = past["seconds"] / now["seconds"] if before else None
    both = [pair(past.get(name), now[name]) for name in ("largest_mb", "together_mb", "disk_mb")]
    return [
        stage, now["read_mb"], past.get("seconds"), now["seconds"], ratio, past.get("processor"), now["processor"],
        now["read_mb"] / now["seconds"], now["read_mb"] / now["processor"], *both,
    ]  # fmt: skip


def whole_row(found: dict) -> list:
    """All stages together; the text is what the first one reads."""
    sums = {
        name: {figure: sum(cost[figure] for cost in stages.values()) for figure in FIGURES}
        for name, stages in found.items()
        if name != "same"
    }
    for name, own in sums.items():
        costs = found[name].values()
        own |= {"read_mb": next(iter(costs))["read_mb"]}
        own |= {figure: max(cost[figure] for cost in costs) for figure in ("largest_mb", "together_mb", "disk_mb")}
    return speed_row("all", sums.get("before"), sums["now"])


def pair(before: float | None, now: float) -> str:
    """Before and now in one cell."""
    return cell(float(now)) if before is None else f"{cell(float(before))}, {cell(float(now))}"


def said(value: bool | None) -> str:
    """The word of an answer."""
    return "" if value is None else "yes" if value else "no"


def growth(measured: dict) -> str:
    """How much the peak of each stage grows from a size to the next."""
    sizes = list(measured)
    if len(sizes) < 2:
        return ""
    rows = []
    for stage in measured[sizes[-1]]["now"]:
        row: list = [stage]
        for small, large in zip(sizes, sizes[1:], strict=False):
            for figure in ("largest_mb", "together_mb"):
                less, more = (measured[size]["now"].get(stage) for size in (small, large))
                row.append(f"{more[figure] / less[figure] - 1:+.0%}" if less and more else "")
        rows.append(row)
    steps = [f"{small} to {large}" for small, large in zip(sizes, sizes[1:], strict=False)]
    return table(["peak now", *(f"{name}, {step}" for step in steps for name in ("largest", "all"))], rows)


def phases(measured: dict) -> str:
    """Of the largest text: where the time of each stage goes, and what its first process does alone."""
    size, found = list(measured.items())[-1]
    rows = []
    for name, stages in found.items():
        for stage, cost in stages.items() if name != "same" else ():
            rows.append([name, stage, "its first process", None, cost["own_processor"]])
            marks = [["start", 0.0, 0.0], *cost["phases"], ["end", cost["seconds"], cost["processor"]]]
            for (phase, began, used), (_, ended, then) in zip(marks, marks[1:], strict=False):
                rows.append([name, stage, phase, float(ended - began), float(then - used)])
    return table([f"{size}", "stage", "phase", "seconds", "CPU s"], rows)


def shards(measured: dict) -> str:
    """What a shard costs: the difference between many shards and few of the same text."""
    (few, less), (many, more) = measured.items()
    count = int(many.split()[0]) - int(few.split()[0])
    rows = []
    for name in (one for one in more if one != "same"):
        for stage, cost in more[name].items():
            base = less[name][stage]
            extra = [1000 * (cost[figure] - base[figure]) / count for figure in FIGURES]
            rows.append([name, stage, base["seconds"], cost["seconds"], *extra])
    return table(["", "stage", f"s, {few}", f"s, {many}", "ms a shard", "CPU ms a shard"], rows)
