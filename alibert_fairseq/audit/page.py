"""The page of an audit, in English and in French, for a data protection officer: two printed pages."""

from pathlib import Path
from typing import Any

from alibert_common.files import write_text
from alibert_common.report.document import Block, Picture, Section, Table
from alibert_common.report.html import render
from alibert_common.yaml_config import read_yaml
from alibert_fairseq.audit.vocabulary import MOST

PHRASES = Path(__file__).with_name("phrases.yaml")
LANGUAGES = ("en", "fr")
ATTACKS = ("simple", "calibrated", "standardised")
MOST_SOURCES = 10  # that are named
ENOUGH_HELD_OUT = 1000  # patients, for a false positive rate of 0.1 %


def write_pages(figures: dict[str, Any], folder: Path) -> None:
    """Write audit.en.html and audit.fr.html."""
    for language in LANGUAGES:
        write_text(folder / f"audit.{language}.html", render(Page(figures, language).report()))


class Page:
    """The page in one language."""

    def __init__(self, figures: dict[str, Any], language: str):
        self.figures, self.language = figures, language
        self.phrases = {name: texts[language] for name, texts in read_yaml(PHRASES).items()}

    def say(self, phrase: str, **values: object) -> str:
        """A phrase with its values; numbers are written as the language does."""
        return self.phrases[phrase].format(**{name: self.number(value) for name, value in values.items()})

    def number(self, value: object, digits: int = 2) -> str:
        """A number; French has a comma for the point, and narrow spaces between thousands."""
        if not isinstance(value, int | float):
            return str(value)
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"
        return text if self.language == "en" else text.translate(str.maketrans(",.", "\u202f,"))

    def share(self, value: float, digits: int = 1) -> str:
        """A share in percent."""
        return f"{self.number(100 * value, digits)}\u00a0%"

    def interval(self, rate: dict, percent: bool = False) -> str:
        """A value with its interval."""
        write = self.share if percent else self.number
        separator = "; " if self.language == "fr" else ", "
        return f"{write(rate['value'])} [{write(rate['low'])}{separator}{write(rate['high'])}]"

    def report(self) -> Section:
        """The whole page."""
        blocks: list[Block] = [
            self.say("lead", date=self.figures["settings"]["date"]),
            self._sources(),
            self._preparation(),
            self._training(),
        ]
        blocks += [Section(self.say("outputs"), [self.say("outputs_text")]), self._tokenizer()]
        attacks = [self._canaries(), self._membership(), self._extraction()]
        blocks += [Section(self.say("attacks"), attacks), Section(self.say("limits"), [self.say("limits_text")])]
        return Section(self.say("title"), [*blocks, self._repeat()], language=self.language, contents=False)

    def _sources(self) -> Section:
        data = self.figures["data"]
        largest = sorted(data["sources"].items(), key=lambda one: -one[1])
        names = [f"{name} ({self.number(count)})" for name, count in largest[:MOST_SOURCES]]
        if left := largest[MOST_SOURCES:]:
            names.append(self.say("more_sources", count=len(left), documents=sum(count for _, count in left)))
        sources = ", ".join(names)
        known = {"documents": data["documents"], "patients": data["patients"]}
        blocks: list[Block] = [self.say("sources_text", sources=sources, **known)]
        if count := data["documents_without_patient"]:
            blocks.append(self.say("no_patients", count=count))
        return Section(self.say("sources"), blocks)

    def _preparation(self) -> Section:
        rule = self.figures["data"]["anonymity"]
        if rule is None:
            return Section(self.say("preparation"), [self.say("not_anonymous")])
        text = self.say("anonymous", words=rule["ngram_words"], patients=rule["min_patients"])
        return Section(self.say("preparation"), [text])

    def _training(self) -> Section:
        found = self.figures["model"]
        named = {name: found[name] for name in ("task", "arch", "updates", "tokens", "epochs", "sha256")}
        text = self.say("training_text", file=Path(found["checkpoint"]).name, **named)
        return Section(self.say("training"), [text])

    def _tokenizer(self) -> Section:
        found = self.figures["tokenizer"]
        examples = [self.say("example", word=word, count=self._patients(count)) for word, count in found["names"]]
        fewer = {int(few): count for few, count in found["fewer_than"].items()}
        text = self.say(
            "tokenizer_text", subwords=found["subwords"], unused=found["unused"], names=found["name_count"],
            two=fewer[2], five=fewer[5], ten=fewer[10], examples=", ".join(examples) or self.say("none"),
        )  # fmt: skip
        return Section(self.say("analysis"), [text])

    def _patients(self, count: int) -> str:
        return self.say("or_more", low=count) if count >= MOST else self.number(count)

    def _canaries(self) -> Section:
        found = self.figures["exposure"]
        if found is None:
            return Section(self.say("canaries"), [self.say("no_canaries")])
        copies = found["by_copies"]
        text = self.say(
            "canaries_text", canaries=len(found["each"]),
            least_copies=copies[0]["copies"], most_copies=copies[-1]["copies"],
            others=found["candidates"] - 1, chance=found["chance"], most=found["most"],
        )  # fmt: skip
        head = [self.say(name) for name in ("copies", "number_of_canaries", "mean_exposure")]
        rows = [[self.number(one["copies"]), self.number(one["canaries"]), self.interval(one)] for one in copies]
        table = Table(self.say("exposure_caption"), head, rows, language=self.language)
        return Section(self.say("canaries"), [text, table, self._exposure_picture(found)])

    def _membership(self) -> Section:
        found = self.figures["membership"]
        control, patients = found["patient, control"]["auc"], found["patient, calibrated"]["others"]
        documents = found["document, calibrated"]
        blocks: list[Block] = [
            self.say(
                "membership_text", members=documents["members"], held_out=documents["others"], share=self.share(0.01, 0)
            ),
            self._membership_table(found),
            self.say("control", auc=self.interval(control)),
        ]
        if not control["low"] <= 0.5 <= control["high"]:
            blocks.append(self.say("control_bad"))
        if patients < ENOUGH_HELD_OUT:
            blocks.append(self.say("few_held_out", count=patients))
        return Section(self.say("membership"), [*blocks, self._curve_picture(found)])

    def _membership_table(self, found: dict) -> Table:
        units = ["document", "patient"]
        if self.figures["data"]["documents_without_patient"] == sum(self.figures["data"]["sources"].values()):
            units = ["document"]
        rates = list(found["document, simple"]["true_positives"])
        head = [self.say("attack"), "AUC", *(self.say("found_at", share=self.share(float(rate))) for rate in rates)]
        rows = []
        for unit in units:
            for score in ATTACKS:
                one = found[f"{unit}, {score}"]
                found_at = [
                    self.interval(one["true_positives"][rate], percent=True)
                    if one["others"] * float(rate) >= 1
                    else self.say("not_measurable")
                    for rate in rates
                ]
                rows.append([f"{self.say(score)}, {self.say(unit)}", self.interval(one["auc"]), *found_at])
        return Table(self.say("membership_caption"), head, rows, language=self.language)

    def _extraction(self) -> Section:
        head = [self.say(name) for name in ("kind", "cases", "audited", "reference")]
        rows = [
            [
                self.say(one["kind"], range=self._range(*one["frequency"])), self.number(one["cases"]),
                self.interval(one["audited"], percent=True), self.interval(one["reference"], percent=True),
            ]
            for one in self.figures["extraction"]
            if one["cases"]
        ]  # fmt: skip
        table = Table(self.say("extraction_caption"), head, rows, language=self.language)
        return Section(self.say("extraction"), [self.say("extraction_text"), table])

    def _range(self, low: int, high: int) -> str:
        if high >= MOST:
            return self.say("or_more", low=low)
        return self.number(low) if low == high else f"{low}-{high}"

    def _repeat(self) -> Section:
        settings, cost = self.figures["settings"], self.figures["cost"]
        names = ("version", "seed", "documents", "maskings")
        text = self.say(
            "repeat_text", seconds=round(cost["seconds"]), share=self.share(cost["share"]),
            **{name: settings[name] for name in names},
        )  # fmt: skip
        return Section(self.say("repeat"), [text])

    def _exposure_picture(self, found: dict) -> Picture:
        from alibert_common.report.plots import COLOURS, mark, plt, png  # here, for what writes no page

        figure, axes = plt.subplots(figsize=(6, 1.7), layout="constrained")
        updates = sorted(found["along"])
        for number, copies in enumerate(one["copies"] for one in found["by_copies"]):
            values = [found["along"][update][copies] for update in updates]
            style = mark(number) | {"linestyle": "-", "color": COLOURS[number % len(COLOURS)], "markersize": 4}
            axes.plot(updates, values, label=self.number(copies), **style)
        axes.axhline(found["chance"], color="black", linestyle=":")
        axes.set(xlabel=self.say("updates_axis"), ylabel=self.say("exposure_axis"), ylim=(0, found["most"]))
        size = {"fontsize": "small", "title_fontsize": "small"}
        axes.legend(title=self.say("copies"), loc="center left", bbox_to_anchor=(1, 0.5), **size)  # type: ignore[call-overload]
        return Picture(png(figure), self.say("exposure_picture"), self.say("exposure_picture"))

    def _curve_picture(self, found: dict) -> Picture:
        from alibert_common.report.plots import COLOURS, plt, png

        figure, axes = plt.subplots(figsize=(6, 1.8), layout="constrained")
        for number, score in enumerate(ATTACKS):
            false, true = zip(*found[f"patient, {score}"]["curve"], strict=True)
            line = axes.step(false, true, where="post", color=COLOURS[number], label=self.say(score))
            line[0].set_linestyle(("-", "--", "-.")[number])
        axes.plot([0.001, 1], [0.001, 1], color="black", linestyle=":")
        axes.set(xscale="log", yscale="log", xlim=(0.001, 1), ylim=(0.001, 1))
        axes.set(xlabel=self.say("false_axis"), ylabel=self.say("true_axis"))
        axes.legend(fontsize="small", loc="lower right")
        return Picture(png(figure), self.say("curve_picture"), self.say("curve_picture"))
