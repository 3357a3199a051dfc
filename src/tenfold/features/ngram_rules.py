"""What a vectoriser cuts texts by, for the compiled loops, and its texts in lists of about equal size.

The compiled loops know the analysers "word", "char" and "char_wb" with the usual patterns of tokens. What belongs to a
word, and what is a space, is what `re` of the running interpreter says. Texts that are not in ASCII are put into lower
case, and lose their accents, by Python itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import text as sklearn_text

from tenfold import _core

# patterns that are runs of letters, digits and underscores, with the length of the shortest
PATTERNS = {
    r"(?u)\b\w\w+\b": 2,
    r"\b\w\w+\b": 2,
    r"(?u)\b\w+\b": 1,
    r"\b\w+\b": 1,
    r"(?u)\w+": 1,
    r"\w+": 1,
}
ANALYZERS = ("word", "char", "char_wb")
CHUNK = 1 << 24  # characters of the texts that are counted at a time

LONGEST = 1 << 31  # n-gram; no text has more characters

CODE_POINTS, ASCII = 0x110000, 0x80

Mixin: Any = sklearn_text._VectorizerMixin
METHODS = ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode", "_word_ngrams", "_char_ngrams")
"""Methods of scikit-learn's that a class may override: then they are called."""


@cache
def code_points(pattern: str, count: int) -> NDArray[np.uint8]:
    """A bit for each code point: whether it is below `count` and matches a pattern."""
    text = np.arange(count, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    member = np.zeros(CODE_POINTS, dtype=bool)
    for run in re.finditer(f"{pattern}+", text):
        member[run.start() : run.end()] = True
    return np.packbits(member, bitorder="little")


@cache
def word_rules() -> Any:
    """The rules of words of two or more letters, digits or underscores."""
    words, spaces = (code_points(pattern, CODE_POINTS) for pattern in (r"\w", r"\s"))
    return _core.NgramRules("word", 1, 1, 2, True, words, spaces, [])


def is_compiled(vectoriser: Any) -> bool:
    """Whether the compiled loops do what a vectoriser asks for; else Python's `re` and the caller's functions run."""
    analyzer, ngrams = vectoriser.analyzer, vectoriser.ngram_range
    return (
        isinstance(analyzer, str)
        and analyzer in ANALYZERS
        and vectoriser.preprocessor is None
        and (analyzer != "word" or (vectoriser.tokenizer is None and vectoriser.token_pattern in PATTERNS))
        and isinstance(ngrams, tuple)
        and len(ngrams) == 2
        and all(isinstance(n, int) for n in ngrams)
        and 1 <= ngrams[0] <= ngrams[1]
        and all(getattr(type(vectoriser), name) is getattr(Mixin, name) for name in METHODS)
    )


class Documents:
    """The texts of a vectoriser, ready to be cut, and the rules to cut them by."""

    def __init__(self, vectoriser: Any) -> None:
        vectoriser.build_analyzer()  # its errors and warnings
        self.vectoriser = vectoriser
        self.preprocess: Callable[[Any], Any] = vectoriser.build_preprocessor()
        # without accents letters may be capitals again, which only Python knows to leave
        self.every = vectoriser.strip_accents is not None
        self.stop: list[str] = []
        if vectoriser.analyzer == "word":
            self.stop = [word for word in vectoriser.get_stop_words() or () if isinstance(word, str)]
        self._rules: dict[int, Any] = {}

    def chunks(self, documents: Iterable[Any]) -> Iterator[tuple[list[str], Any]]:
        """Lists of texts, and the rules for each: those of ASCII are known without all code points."""
        chunk: list[str] = []
        size, ascii_only = 0, True
        for document in documents.to_pylist() if hasattr(documents, "to_pylist") else documents:
            text = self._text(document)
            chunk.append(text)
            size += len(text)
            ascii_only = ascii_only and text.isascii()
            if size > CHUNK:
                yield chunk, self._rules_for(ascii_only)
                chunk, size, ascii_only = [], 0, True
        if chunk:
            yield chunk, self._rules_for(ascii_only)

    def _text(self, document: Any) -> str:
        text = self.vectoriser.decode(document)
        if isinstance(text, str) and text.isascii() and not self.every:
            return text
        text = self.preprocess(text)
        if not isinstance(text, str):
            self.vectoriser._white_spaces.sub(" ", text)  # raises scikit-learn's error
            raise TypeError(f"documents must be texts; got {type(text).__name__}.")
        return text

    def _rules_for(self, ascii_only: bool) -> Any:
        count = ASCII if ascii_only else CODE_POINTS
        if count not in self._rules:
            model = self.vectoriser
            shortest = PATTERNS[model.token_pattern] if model.analyzer == "word" else 1
            self._rules[count] = _core.NgramRules(
                model.analyzer,
                min(model.ngram_range[0], LONGEST),
                min(model.ngram_range[1], LONGEST),
                shortest,
                bool(model.lowercase) and not self.every,
                code_points(r"\w", count),
                code_points(r"\s", count),
                self.stop,
            )
        return self._rules[count]
