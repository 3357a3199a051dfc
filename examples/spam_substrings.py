"""Spam whose words are misspelt on purpose, by common substrings (CMU 28 and 34; Seeger 9.2.3).

A bag of words has not seen "fr3e" or "pr1ze". Substrings of three characters, and subsequences with gaps, share most of
what is left of the words. The kernels read raw strings.
"""

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from tenfold import SVC, LinearSVC, certify
from tenfold.kernels import Normalised, Spectrum, Subsequence

SPAM = ["free", "prize", "winner", "claim", "cash", "offer", "urgent", "bonus", "credit", "lottery", "money", "reward"]
HAM = ["meeting", "lunch", "report", "project", "tomorrow", "team", "office", "schedule", "agenda", "notes", "review"]
BOTH = ["the", "your", "is", "now", "please", "at", "for", "with", "and", "to", "we", "have", "this", "today"]
rng = np.random.default_rng(0)


def misspell(word: str) -> str:
    """The word with one of its letters replaced, doubled, or followed by a sign."""
    place = int(rng.integers(1, len(word)))
    letter = word[place]
    other = {"e": "3", "i": "1", "o": "0", "a": "@"}.get(letter, str(rng.choice([letter * 2, letter + ".", "*"])))
    return word[:place] + other + word[place + 1 :]


def write(words: list[str], hidden: bool) -> str:
    """A message of words of a kind and of every kind."""
    message = [*rng.choice(words, 4), *rng.choice(BOTH, 6)]
    rng.shuffle(message)
    return " ".join(misspell(word) if hidden and word in words else word for word in message)


def draw(count: int, hidden: bool) -> tuple[list[str], list[int]]:
    mail = [write(SPAM, hidden) for _ in range(count)] + [write(HAM, hidden) for _ in range(count)]
    return mail, [1] * count + [0] * count


mail, spam = draw(30, hidden=False)
new, truth = draw(100, hidden=True)
accuracy = {}
for name, model in {
    "words": make_pipeline(CountVectorizer(token_pattern=r"\S+"), LinearSVC(C=1.0)),
    "substrings of 3": SVC(kernel=Normalised(Spectrum(3)), C=10.0),
    "subsequences of 3": SVC(kernel=Normalised(Subsequence(3, decay=0.5)), C=10.0),
}.items():
    model.fit(mail, spam)
    accuracy[name] = float(np.mean(model.predict(new) == truth))
    certified = certify(model, mail, spam).ok
    print(f"{name:18} {accuracy[name]:6.1%} of misspelt messages, certified: {certified}")
assert accuracy["substrings of 3"] > accuracy["words"] + 0.2
