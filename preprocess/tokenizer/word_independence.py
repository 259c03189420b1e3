"""Where a line can be cut so that its ids are those of its parts, one after the other, for a given tokenizer.

If it can be cut at spaces, a word is encoded once however often it occurs (`line_encoder.py`); so is what stands
between marks, if it can be cut there too. The answer is a proof from the rules in `tokenizer.json`, not a trial: every
rule up to the split there treats the space, or the mark, as it treats the edge of the text. Everything after that split
sees one part at a time. A missing cut costs time, never exactness.
"""

import itertools
import json
import re

from tokenizers import Regex, Tokenizer
from tokenizers.normalizers import Replace

# They map single characters or combining sequences, and a space is in no combining sequence.
BLIND_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer"}
# They split at single characters of a class to which the space does not belong.
BLIND_PRE_TOKENIZERS = {"Punctuation", "Digits"}
SPLITS_AT_WHITE_SPACE = {"WhitespaceSplit", "BertPreTokenizer"}  # BERT's then isolates marks, in each part by itself
# One thing that matches one character, an anchor, or syntax: escapes, classes in brackets, numbers of repetitions, any
# other character.
ATOM = re.compile(
    r"\\[pP]\{[^}]*\}|\\u[0-9A-Fa-f]{4}|\\x\{[^}]*\}|\\x[0-9A-Fa-f]{1,2}|\\[0-7]{1,3}|\\."
    r"|\[(?:\\.|\[:\^?\w+:\]|[^\]\\])+\]|\(\?<?[=!:>]|\{\d+,?\d*\}|.",
    re.DOTALL,
)
# ASCII marks that no combining character joins, as U+0338 joins `<`, `=` and `>`. `_` is a letter to `\b`.
MARKS = "!\"#$%&'()*+,-./:;?@[\\]^`{|}~"
SYNTAX = {"(", ")", "|", "*", "+", "?", r"\b", r"\B", "(?=", "(?!", "(?<=", "(?<!", "(?:", "(?>"}


def is_word_independent(tokenizer: Tokenizer) -> bool:
    """Whether `encode(a + " " + b) == encode(a) + encode(b)` holds for all texts, special tokens not added."""
    return _splits_words(json.loads(tokenizer.to_str()))


def _splits_words(rules: dict) -> bool:
    if any(not token["special"] for token in rules["added_tokens"]):
        return False  # matched before everything else, and may hold a space
    for rule in _sequence(rules["normalizer"], "normalizers"):
        if rule["type"] not in BLIND_NORMALIZERS and not (rule["type"] == "Replace" and _pattern_is_blind(rule)):
            return False
    rules_of_split = _sequence(rules["pre_tokenizer"], "pretokenizers")
    if any(rule.get("prepend_scheme") == "first" for rule in rules_of_split) or rules["model"].get("dropout"):
        return False  # the first word differs from the others; every draw differs from the last
    blind = itertools.takewhile(lambda rule: not _splits_at_white_space(rule), rules_of_split)
    return all(map(_pre_tokenizer_is_blind, blind)) and any(map(_splits_at_white_space, rules_of_split))


def isolated_marks(tokenizer: Tokenizer) -> str:
    """The marks for which `encode(a + mark + b) == encode(a) + encode(mark) + encode(b)` holds for all texts.

    None where spaces are no such walls.
    """
    rules = json.loads(tokenizer.to_str())
    if not _splits_words(rules):
        return ""
    replaced = [rule["pattern"] for rule in _sequence(rules["normalizer"], "normalizers") if "pattern" in rule]
    seen = set().union(*(_seen(pattern, MARKS) for pattern in replaced))
    splits = _sequence(rules["pre_tokenizer"], "pretokenizers")
    return "".join(mark for mark in MARKS if mark not in seen and _isolate(splits, mark) and _is_apart(tokenizer, mark))


def _isolate(splits: list[dict], mark: str) -> bool:
    """The first splits are at white space and at the mark.

    So does BERT's alone. Else the last choice of a pattern is a class with the mark, which no other choice sees.
    """
    white_space, rule = [*splits, {"type": "none"}][:2]
    if white_space["type"] == "BertPreTokenizer":
        return True
    if white_space["type"] != "WhitespaceSplit" or rule["type"] != "Split" or "Regex" not in rule["pattern"]:
        return False
    others, _, last = rule["pattern"]["Regex"].rpartition("|")
    is_class = last.startswith("[") and ATOM.fullmatch(last)
    sees = bool(is_class) and bool(_seen({"Regex": last}, mark)) and not _seen({"Regex": others}, mark)
    return sees and rule["behavior"] == "Isolated" and not rule["invert"]


def _is_apart(tokenizer: Tokenizer, mark: str) -> bool:
    """By trial, for patterns that match nothing at all, and so match beside any mark."""
    whole, *parts = (tokenizer.encode(text, add_special_tokens=False).ids for text in (f"a{mark}a", "a", mark, "a"))
    return whole == sum(parts, [])


def _sequence(rule: dict | None, key: str) -> list[dict]:
    if rule is None:
        return []
    return [part for inner in rule[key] for part in _sequence(inner, key)] if rule["type"] == "Sequence" else [rule]


def _pre_tokenizer_is_blind(rule: dict) -> bool:
    if rule["type"] == "Split":
        return not rule["invert"] and _pattern_is_blind(rule)
    return rule["type"] in BLIND_PRE_TOKENIZERS


def _splits_at_white_space(rule: dict) -> bool:
    return rule["type"] in SPLITS_AT_WHITE_SPACE


def _pattern_is_blind(rule: dict) -> bool:
    """No part of the rule's pattern matches a space, so no match and no look-around reaches over one."""
    return not _seen(rule["pattern"], " ")


def _seen(pattern: dict, characters: str) -> set[str]:
    """Those of the characters that a part of the pattern matches, or may match."""
    if "String" in pattern:
        return set(characters) & set(pattern["String"])
    regex = pattern["Regex"].replace("(?i:", "(?:")  # neither a space nor a mark has a case
    if re.search(r"\(\?[^=!:<>]|\\Y", regex):
        return set(characters)  # options, absence and the like are beyond this proof
    atoms = {atom for atom in ATOM.findall(regex) if atom not in SYNTAX and not re.fullmatch(r"\{\d.*", atom)}
    return {character for atom in atoms for character in _seen_by(atom, characters)}


def _seen_by(atom: str, characters: str) -> set[str]:
    try:
        replace = Replace(Regex(f"(?:{atom})"), "x").normalize_str  # an anchor changes a text too
        return {character for character in characters if replace(character) != character}
    except Exception:  # what the engine says of half a construct we do not know: no proof
        return set(characters)
