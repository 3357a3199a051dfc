"""Artificial text data: mails, documents, sentences; and the boxes and fruit of Seeger."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tenfold.arrays import Floats, Integers

# the joint table of Seeger, figure 5.1: how likely a fruit and its box are
BOXES_AND_FRUIT = {
    ("apple", "red"): 1 / 10,
    ("orange", "red"): 3 / 10,
    ("apple", "blue"): 9 / 20,
    ("orange", "blue"): 3 / 20,
}

# the words of `make_mail`, in the order of its columns
SPAM_WORDS = ("viagra", "mortgage", "home", "money", "nigeria", "meeting", "dinner", "cinema", "report", "thanks")


def make_boxes_and_fruit(
    n_samples: int = 100, *, random_state: Any = None
) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    """Fruit (n, 1) taken from boxes, and the box of each: the classes are to be told from the fruit.

    P(red) = 2/5; 3 of 4 fruits in the red box are oranges, 1 of 4 in the blue one. Given an orange, the box is red with
    the probability 2/3; given an apple, it is blue with 9/11. Seeger, section 5.1.

    Parameters
    ----------
    n_samples : int, default=100
        Number of samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of str of shape (n_samples, 1)
        "orange" or "apple".
    y : ndarray of str of shape (n_samples,)
        "red" or "blue", the box of each.

    Examples
    --------
    >>> from tenfold.datasets import make_boxes_and_fruit
    >>> X, y = make_boxes_and_fruit(20_000, random_state=0)
    >>> bool(abs((y[X[:, 0] == "orange"] == "red").mean() - 2 / 3) < 0.01)
    True
    """
    random = check_random_state(random_state)
    cells = list(BOXES_AND_FRUIT)
    drawn = random.choice(len(cells), n_samples, p=list(BOXES_AND_FRUIT.values()))
    fruit, box = (np.array([cell[part] for cell in cells])[drawn] for part in (0, 1))
    return fruit[:, None], box


def load_mails() -> tuple[Integers, Integers, tuple[str, ...]]:
    """The five mails of the cookbook (figure 14.1): words (5, 4), 1 for spam, and the words' names.

    The printed table says 1/3 for the words of ham; with two mails of ham it is 1/2, as the text itself uses below it.

    Returns
    -------
    X : ndarray of int of shape (5, 4)
        Whether each mail has each word.
    y : ndarray of int of shape (5,)
        1 for spam.
    words : tuple of str
        The names of the words.

    Examples
    --------
    >>> from tenfold import BernoulliNB
    >>> from tenfold.datasets import load_mails
    >>> X, y, words = load_mails()
    >>> X[y == 0].mean(axis=0).tolist()
    [0.5, 0.5, 0.5, 0.0]
    """
    columns = {"Dinner": "00001", "Cinema": "00010", "Buy": "11001", "Viagra": "10100"}
    X = np.array([[int(mark) for mark in marks] for marks in columns.values()]).T
    return X, np.array([1, 1, 1, 0, 0]), tuple(columns)


def make_mail(
    n_samples: int = 500, *, spam: float = 0.4, doubled: bool = True, random_state: Any = None
) -> tuple[Integers, Integers]:
    """Counts of the words SPAM_WORDS in mails, 0, 1 or 2 for more, and 1 for spam.

    Words are independent given the class, but that "home" comes with "mortgage" where `doubled`: naive Bayes counts the
    same evidence twice. "nigeria" is so rare in spam of this kind that it may never be seen there, and one such word
    then decides against spam without smoothing. Welling, chapter 6.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples.
    spam : float, default=0.4
        Probability of spam.
    doubled : bool, default=True
        Whether "home" comes with "mortgage".
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of int of shape (n_samples, 10)
        Counts of the words: 0, 1, or 2 for more.
    y : ndarray of int of shape (n_samples,)
        1 for spam.

    Examples
    --------
    >>> from tenfold.datasets import make_mail
    >>> X, y = make_mail(random_state=0)
    >>> X.shape, int(X.max()), bool(0.3 < y.mean() < 0.5)
    ((500, 10), 2, True)
    """
    random = check_random_state(random_state)
    y = (random.uniform(size=n_samples) < spam).astype(np.intp)
    #                  viagra mortgage home money nigeria meeting dinner cinema report thanks
    present = np.array(
        [
            [0.001, 0.01, 0.05, 0.06, 0.01, 0.20, 0.10, 0.06, 0.20, 0.30],
            [0.040, 0.25, 0.06, 0.35, 0.001, 0.02, 0.02, 0.02, 0.05, 0.10],
        ]
    )
    X = (random.uniform(size=(n_samples, len(SPAM_WORDS))) < present[y]).astype(np.intp)
    if doubled:
        X[:, 2] |= X[:, 1]
    return X * (1 + (random.uniform(size=X.shape) < 0.4)), y


def make_topics(
    n_samples: int = 200, *, n_topics: int = 3, n_words: int = 60, length: int = 40, random_state: Any = None
) -> tuple[Integers, Integers]:
    """Documents as counts of words, each from the multinomial distribution of its topic; and the topics.

    The words' shares are drawn from a Dirichlet distribution, lengths have Poisson distributions. Seeger, section 6.5.

    Parameters
    ----------
    n_samples : int, default=200
        Number of documents.
    n_topics : int, default=3
        Number of topics.
    n_words : int, default=60
        Number of different words.
    length : int, default=40
        Mean number of words of a document.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : ndarray of int of shape (n_samples, n_words)
        Counts of the words.
    y : ndarray of int of shape (n_samples,)
        The topic of each document.

    Examples
    --------
    >>> from tenfold.datasets import make_topics
    >>> X, y = make_topics(random_state=0)
    >>> X.shape, bool(30 < X.sum(axis=1).mean() < 50)
    ((200, 60), True)
    """
    random = check_random_state(random_state)
    probabilities = random.dirichlet(np.full(n_words, 0.3), n_topics)
    y = np.arange(n_samples) % n_topics
    lengths = np.maximum(random.poisson(length, n_samples), 1)
    return np.array([random.multinomial(m, probabilities[k]) for m, k in zip(lengths, y, strict=True)]), y


def make_sentences(
    n_samples: int = 100,
    *,
    n_words: int = 20,
    length: int = 12,
    missing: float = 0.0,
    transitions: Any = None,
    random_state: Any = None,
) -> tuple[list[Integers], Floats]:
    """Sentences of numbered words of which each depends on the one before; and the transitions (n_words, n_words).

    A share `missing` of the words is -1: never the first or last, and never two in a row, as the text assumes. Row b of
    the transitions has the probabilities of what follows b. Seeger, section 12.3.2.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sentences.
    n_words : int, default=20
        Number of different words.
    length : int, default=12
        Words of a sentence.
    missing : float, default=0.0
        Share of words that are missing.
    transitions : array-like of shape (n_words, n_words), default=None
        Probabilities of what follows each word; None draws them.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    sentences : list of ndarray of int
        The words of each sentence, -1 where one is missing.
    transitions : ndarray of shape (n_words, n_words)
        Probabilities of what follows each word.

    Examples
    --------
    >>> from tenfold.datasets import make_sentences
    >>> sentences, transitions = make_sentences(50, missing=0.2, random_state=0)
    >>> len(sentences), transitions.shape, min(int(s.min()) for s in sentences)
    (50, (20, 20), -1)
    """
    random = check_random_state(random_state)
    matrix = np.asarray(random.dirichlet(np.full(n_words, 0.2), n_words) if transitions is None else transitions)
    sentences = []
    for _ in range(n_samples):
        words = _chain(random, np.full(len(matrix), 1.0 / len(matrix)), matrix, length)
        for j in range(1, length - 1):
            if random.uniform() < missing and words[j - 1] != -1:
                words[j] = -1
        sentences.append(words)
    return sentences, matrix


def make_tagged_sentences(
    n_samples: int = 100, *, n_tags: int = 8, n_words: int = 60, length: int = 12, random_state: Any = None
) -> tuple[list[Floats], list[Integers]]:
    """Sentences with a tag for each word, from a hidden Markov model: words one-hot (length, n_words), and tags.

    A tag depends on the one before, a word on its tag, and many words belong to several tags. CMU lecture, slide 28.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sentences.
    n_tags : int, default=8
        Number of different tags.
    n_words : int, default=60
        Number of different words.
    length : int, default=12
        Words of a sentence.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw.

    Returns
    -------
    X : list of ndarray of shape (length, n_words)
        The words of each sentence, one-hot.
    tags : list of ndarray of int of shape (length,)
        Their tags.

    Examples
    --------
    >>> from tenfold import StructuredPerceptron
    >>> from tenfold.datasets import make_tagged_sentences
    >>> X, tags = make_tagged_sentences(200, random_state=0)
    >>> model = StructuredPerceptron(max_iter=5, random_state=0).fit(X[:150], tags[:150])
    >>> bool(model.score(X[150:], tags[150:]) > 0.6)
    True
    """
    random = check_random_state(random_state)
    start, matrix = random.dirichlet(np.ones(n_tags)), random.dirichlet(np.full(n_tags, 0.2), n_tags)
    emissions = random.dirichlet(np.full(n_words, 0.1), n_tags)
    tags = [_chain(random, start, matrix, length) for _ in range(n_samples)]
    words = [np.array([_draw(random, emissions[tag]) for tag in sentence]) for sentence in tags]
    return [np.eye(n_words)[sentence] for sentence in words], tags


def _chain(random: np.random.RandomState, start: Floats, matrix: Floats, length: int) -> Integers:
    states = [_draw(random, start)]
    while len(states) < length:
        states.append(_draw(random, matrix[states[-1]]))
    return np.array(states[:length])


def _draw(random: np.random.RandomState, probabilities: Floats) -> int:
    return min(int(np.searchsorted(np.cumsum(probabilities), random.uniform())), len(probabilities) - 1)
