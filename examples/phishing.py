"""The functions of phishing.sql."""

import re

import penstock


@penstock.function(arguments=["STRING"], returns="STRING", null="skip")
def domain(link):
    """The host that a link leads to, or None where there is none."""
    found = re.match(r"https?://(?:www\.)?([^/:]+)", link)
    return found[1].lower() if found else None


@penstock.function(arguments=["STRING", "STRING"], returns="DOUBLE", null="skip")
def similarity(one, other):
    """The share of their pairs of letters that two texts have in common."""
    first, second = pairs(one), pairs(other)
    return len(first & second) / max(1, len(first | second))


def pairs(text):
    return {text[i : i + 2] for i in range(len(text) - 1)}
