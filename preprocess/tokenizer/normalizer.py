"""The order of the French biomedical rules: raw text in, words out, offsets kept.

Invariants: idempotent, NFC, never changes the number of documents or lines, never drops a letter or a digit. The rules
become the normalizer and the pre-tokenizer of `tokenizer.json`, and nothing else ever touches text.

paper     a space on both sides of every punctuation mark (AliBERT, section 3.3), or after it only (its Figure 1)
clinical  the same, but a clinician's unit is not broken up by its punctuation, and elisions end after the apostrophe
moses     the Moses tokenizer for French instead, to compare with
none      not normalised, to compare with (the Unigram_N_N of Figure 1): only what the ids cannot do without
"""

from dataclasses import asdict, dataclass

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from alibert_common.errors import InputError
from preprocess.tokenizer.moses_rules import moses_rules
from preprocess.tokenizer.rules import CLINICAL_UNITS, INVISIBLE, MARK, THOUSANDS, UNIFY, Rule

MODES = ("paper", "clinical", "moses", "none")
PUNCTUATIONS = ("both", "after")
BOUNDARY = "▁"  # stands before a piece that starts a word
BRACKETS = "[<>]"  # apart in every mode, so that no piece spells `<mask>`
# Without these a text could hold the boundary, and a piece a space that Python's `\s` knows and the library does not.
NEEDED = tuple(rule for rule in UNIFY if rule.name in ("the subword mark", "spaces"))


@dataclass(frozen=True)
class TextOptions:
    """How text is normalised; written to the manifest."""

    mode: str = "paper"
    punctuation: str = "both"
    cased: bool = False

    def __post_init__(self):
        if self.mode not in MODES or self.punctuation not in PUNCTUATIONS:
            raise InputError(f"{asdict(self)}: the modes are {MODES}, the punctuation {PUNCTUATIONS}.")
        if self.punctuation == "after" and self.mode != "paper":
            raise InputError(f"--punctuation after belongs to --mode paper; leave it out with --mode {self.mode}.")


ALIBERT = TextOptions()  # lower case, a space on both sides of every punctuation mark


def rules_only(options: TextOptions) -> Tokenizer:
    """A tokenizer that knows the text rules and no piece."""
    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0}, "<unk>"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = build_normalizer(options), build_pre_tokenizer(options)
    return tokenizer


def build_normalizer(options: TextOptions) -> normalizers.Normalizer:
    """The replacements, in order. Characters vanish first so that NFC sees true neighbours; lower-casing undoes NFC
    for a few letters (İ), and Moses' rules ask for capitals."""
    steps: list[normalizers.Normalizer] = [_replace(INVISIBLE), normalizers.NFC()]
    if options.mode == "clinical":
        steps.append(_replace(THOUSANDS))
    steps += map(_replace, NEEDED if options.mode == "none" else UNIFY)
    if options.mode == "moses":
        steps += map(_replace, moses_rules(options.cased))
    if not options.cased:
        steps += [normalizers.Lowercase(), normalizers.NFC()]
    return normalizers.Sequence(steps)


def build_pre_tokenizer(options: TextOptions, boundary: bool = True) -> pre_tokenizers.PreTokenizer:
    """The splits, in order: white space, then units and punctuation marks; `boundary` puts "▁" before every word."""
    units = [rule.pattern for rule in CLINICAL_UNITS] if options.mode == "clinical" else []
    steps: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.WhitespaceSplit()]
    if options.mode == "none":
        steps.append(pre_tokenizers.Split(Regex(BRACKETS), "isolated"))
    elif options.mode != "moses":
        steps.append(pre_tokenizers.Split(Regex("|".join([*units, MARK])), "isolated"))
    if boundary:
        steps.append(pre_tokenizers.Metaspace(BOUNDARY, prepend_scheme="always", split=False))
    if boundary and options.punctuation == "after":
        steps.append(pre_tokenizers.Split(Regex(rf"\A{BOUNDARY}(?={MARK}\z)"), "removed"))
    return pre_tokenizers.Sequence(steps)


def _replace(rule: Rule) -> normalizers.Normalizer:
    return normalizers.Replace(Regex(rule.pattern), rule.replacement or "")


class TextNormalizer:
    """The text side of a `tokenizer.json`: `words` and `normalize`, the same rules as the encoder's own."""

    def __init__(self, tokenizer: Tokenizer):
        self._normalizer, self._pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
        self._bounded = any(word.startswith(BOUNDARY) for word in self.words("a"))

    def words(self, text: str) -> list[str]:
        """The pre-tokens of a text, as the subword model is given them."""
        normal = self._normalizer.normalize_str(text)
        return [word for word, _ in self._pre_tokenizer.pre_tokenize_str(normal)]

    def bare_words(self, text: str) -> list[str]:
        """The words without the sign that they start one."""
        return [word.removeprefix(BOUNDARY) for word in self.words(text)]

    def normalize(self, text: str) -> str:
        """The text with one space between words, line by line; line ends stay as they are.

        A line of nothing but invisible characters is kept, for an empty one would end a document.
        """
        return "".join(self._line(line) for line in text.splitlines(keepends=True))

    def _line(self, line: str) -> str:
        content = line.rstrip(_LINE_ENDS)
        words = self.words(content)
        joined = "".join(words).replace(BOUNDARY, " ").strip() if self._bounded else " ".join(words)
        end = line[len(content) :]
        if not joined and not end:
            joined = " "  # blanks at the end of a text are a line
        return (content if content.strip() and not joined.strip() else joined) + end


_LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # where str.splitlines() ends a line
