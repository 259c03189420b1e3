r"""The Moses tokenizer for French as rules that insert spaces, to compare AliBERT's rules with.

The same words as sacremoses' `MosesTokenizer("fr").tokenize(text, escape=False)`, read off its regular expressions. A
rule matches places, not characters, so offsets still point into the raw text; never the first place of a text, where
`tokenizers` cannot insert (it panics).

What differs, so that the rules can be applied twice: an elision that a space follows keeps its apostrophe, and
lower-cased text splits the dot from "A.", "MM." and "SS.". What differs because sacremoses forgets characters that its
last match used up: '2' in quotes, and two elisions around one letter (n'y'a).
"""

from preprocess.tokenizer.rules import Rule

_LETTERS = r"\p{Alphabetic}\p{M}"  # inside brackets; the marks, for lower-casing makes one of a Turkish capital
_LETTER = f"[{_LETTERS}]"
_OTHER = rf"[^{_LETTERS}\p{{Nd}}\s.',\-]"  # what Moses pads on both sides
_NO_DIGIT = r"[^\p{N}\n]"
_TOKEN_END = r"(?=\.(?:\s|\z))"
_SOURCE = "sacremoses.tokenize.MosesTokenizer."

BEFORE_FULL_STOPS = (
    Rule(
        "other apostrophes",
        rf"(?<=[^{_LETTERS}\n])(?='[^\n])|(?<={_LETTER})(?='[^{_LETTERS}\s])"
        rf"|(?<=[^{_LETTERS}\n]')(?=[^\n])|(?<={_LETTER}')(?=[^{_LETTERS}\s])",
        " ",
        before="5'3", after="5 ' 3", unchanged="l'os",
        source=_SOURCE + "FR_IT_SPECIFIC_1 to 3",
    ),
    Rule(
        "apostrophes between letters", rf"(?<={_LETTER}')(?={_LETTER})", " ",
        before="l'os", after="l' os", unchanged="l' os",
        source=_SOURCE + "FR_IT_SPECIFIC_4",
    ),
    Rule(
        "signs", rf"(?!\A)(?:(?<={_OTHER})|(?={_OTHER}))", " ",
        before="n°4(b)", after="n ° 4 ( b ) ", unchanged="post-op",
        source=_SOURCE + "PAD_NOT_ISALNUM",
    ),
    Rule(
        "runs of dots", r"(?!\A)(?:(?<!\.)(?=\.\.)|(?<=\.\.)(?!\.))", " ",
        before="ou...non", after="ou ... non", unchanged="a.b",
        source=_SOURCE + "MULTIDOT_RUN",
    ),
    Rule(
        "commas",
        rf"(?!\A)(?:(?<={_NO_DIGIT})(?=,)|(?=,{_NO_DIGIT})|(?=,$)|(?<={_NO_DIGIT},)|(?<=,)(?={_NO_DIGIT}))",
        " ",
        before="a,b", after="a , b", unchanged="38,5",
        source=_SOURCE + "COMMA_SEPARATE_1 to 3",
    ),
)  # fmt: skip

AFTER_FULL_STOPS = Rule(
    "a last dot and apostrophe", r"(?!\A)(?:(?=\.' ?$)|(?<=\.)(?=' ?$))", " ",
    before="fin.'", after="fin . '", unchanged="fin. '",
    source=_SOURCE + "TRAILING_DOT_APOSTROPHE",
)  # fmt: skip


def moses_rules(cased: bool) -> tuple[Rule, ...]:
    """The rules, for text not yet lower-cased: Moses' order, but apostrophes before what puts spaces beside them."""
    return (*BEFORE_FULL_STOPS, _full_stops(cased), AFTER_FULL_STOPS)


def _full_stops(cased: bool) -> Rule:
    """Split the dot from a word, unless it is an abbreviation or the next word starts in lower case."""
    abbreviations = "|".join(_abbreviations(cased))
    kept = rf"(?:{abbreviations})\.(?:\s|\z)|(?=\S*{_LETTER})\S*\.\S*\.(?:\s|\z)|\.+(?:\s|\z)"
    return Rule(
        "full stops", rf"(?<!\S)(?!{kept})\S+\K{_TOKEN_END}(?!\.[^\S\n]+\p{{Lowercase}})", " ",
        before="M. Roux. Fin.", after="M. Roux . Fin .", unchanged="p. 3 et p.ex. ici",
        source=_SOURCE + "handles_nonbreaking_prefixes",
    )  # fmt: skip


def _abbreviations(cased: bool) -> list[str]:
    """Moses' French list, which sacremoses ships; those with a dot inside are kept whole by the rule itself."""
    from sacremoses import MosesTokenizer  # only here: a trained tokenizer.json does not need it

    prefixes = set(MosesTokenizer("fr").NONBREAKING_PREFIXES)
    simple = [prefix for prefix in prefixes if prefix.isalpha() and (cased or prefix.lower() in prefixes)]
    return sorted(simple, key=lambda prefix: (-len(prefix), prefix))
