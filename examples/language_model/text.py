"""The language: sentences of a small grammar, in which verbs agree with their subjects. Its entropy is known."""
from __future__ import annotations

import math
import re

import numpy as np

ADJECTIVES = ["small ", "old ", "quiet ", ""]
NOUNS = ["cat", "dog", "bird", "fox"]
VERBS = ["see", "hear", "meet", "like"]
LETTERS = ".abcdefghijklmnopqrstuvwxyz "
"""Letter 0 ends a sentence, and begins a text."""

_PART = f"(?:{'|'.join(ADJECTIVES[:-1])}|)(?:{'|'.join(NOUNS)})"
SENTENCE = re.compile(f"the {_PART}(?: (?:{'|'.join(VERBS)})s|s (?:{'|'.join(VERBS)})) the {_PART}s?")


def sentence(random: np.random.Generator) -> str:
    """One sentence; each choice is uniform."""
    adjectives, nouns = random.integers(0, len(ADJECTIVES), 2), random.integers(0, len(NOUNS), 2)
    many, others = random.integers(0, 2, 2)
    verb = VERBS[random.integers(0, len(VERBS))]
    return (f"the {ADJECTIVES[adjectives[0]]}{NOUNS[nouns[0]]}{'s' if many else ''} {verb}{'' if many else 's'} "
            f"the {ADJECTIVES[adjectives[1]]}{NOUNS[nouns[1]]}{'s' if others else ''}.")


def text(letters: int, seed: int = 0) -> np.ndarray:
    """So many letters of sentences, as numbers, int64."""
    random, made = np.random.default_rng(seed), ""
    while len(made) < letters:
        made += sentence(random)
    return np.array([LETTERS.index(c) for c in made[:letters]])


def entropy(samples: int = 20_000) -> float:
    """Nats a letter that no model of the language can do without: of a sentence's choices, over its mean length."""
    random = np.random.default_rng(1)
    length = np.mean([len(sentence(random)) for _ in range(samples)])
    return float(math.log((len(ADJECTIVES) * len(NOUNS) * 2) ** 2 * len(VERBS)) / length)


def written(numbers: np.ndarray) -> str:
    return "".join(LETTERS[n] for n in numbers)


def right(numbers: np.ndarray) -> tuple[int, int]:
    """How many whole sentences of a text are of the grammar, and how many there are."""
    sentences = written(numbers).split(".")[1:-1]
    return sum(SENTENCE.fullmatch(s) is not None for s in sentences), len(sentences)
