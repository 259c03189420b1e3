"""French words with soft hyphens between their syllables."""

SOFT_HYPHEN = "\u00ad"
VOWELS = "aeiouyàâäéèêëîïôöùûüœæAEIOUYÀÂÉÈÊÎÔÛŒ"
TOGETHER = "bl br ch cl cr dr fl fr gl gn gr ph pl pr th tr vr qu".split()


def hyphenated(text: str) -> str:
    """The text with a soft hyphen between the syllables of long words, as typesetters divide them."""
    return " ".join(_divided(word) if len(word) > 6 and word.isalpha() else word for word in text.split(" "))


def _divided(word: str) -> str:
    parts = [word[:2]]
    for place in range(2, len(word)):
        before, here, after = word[place - 1], word[place], word[place + 1 : place + 2]
        begins = here not in VOWELS and (after in VOWELS or here + after in TOGETHER)
        inside = before + here in TOGETHER
        if begins and not inside and place <= len(word) - 3 and any(sign in VOWELS for sign in parts[-1]) and after:
            parts.append("")
        parts[-1] += here
    return SOFT_HYPHEN.join(parts)
