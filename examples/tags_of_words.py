"""Tags of whole sequences beside tags of single words (CMU lecture 11, slide 28).

A hidden Markov model makes sentences: a tag depends on the one before it, a word on its tag. Many words belong to
several tags, so that a word alone does not tell its own. The structured perceptron, which has weights for neighbouring
tags, comes close to the best tags under the true model, which it has never seen; a perceptron that looks at each word
alone does not.
"""

import numpy as np

from tenfold import AveragedPerceptron, StructuredPerceptron

Corpus = tuple[list[np.ndarray], list[np.ndarray]]


class HiddenMarkov:
    """A model of `tags` tags and `words` words, by chance."""

    def __init__(self, tags: int, words: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.start = self.rng.dirichlet(np.ones(tags))
        self.move = self.rng.dirichlet(np.full(tags, 0.2), tags)
        self.emit = self.rng.dirichlet(np.full(words, 0.1), tags)

    def draw(self, sentences: int, length: int) -> Corpus:
        """Words, one-hot, and their tags."""
        X, y = [], []
        for _ in range(sentences):
            tags = [self.rng.choice(len(self.start), p=self.start)]
            while len(tags) < length:
                tags.append(self.rng.choice(len(self.start), p=self.move[tags[-1]]))
            words = [self.rng.choice(self.emit.shape[1], p=self.emit[tag]) for tag in tags]
            X.append(np.eye(self.emit.shape[1])[words])
            y.append(np.array(tags))
        return X, y

    def best(self, x: np.ndarray) -> np.ndarray:
        """The most likely tags of a sentence, by Viterbi's recursion on logarithms."""
        with np.errstate(divide="ignore"):
            z, move, score = np.log(x @ self.emit.T), np.log(self.move), np.log(self.start)
        back, score = [], score + z[0]
        for scores in z[1:]:
            paths = score[:, None] + move
            back.append(np.argmax(paths, axis=0))
            score = np.max(paths, axis=0) + scores
        path = [int(np.argmax(score))]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        return np.array(path[::-1])


def main() -> None:
    model = HiddenMarkov(tags=8, words=60, seed=0)
    X, y = model.draw(1500, 12)
    new, true = model.draw(500, 12)
    tagger = StructuredPerceptron(max_iter=10).fit(X, y)
    alone = AveragedPerceptron(max_iter=10).fit(np.concatenate(X), np.concatenate(y))
    found = {
        "the model that made the sentences": float(
            np.mean([model.best(x) == t for x, t in zip(new, true, strict=True)])
        ),
        "structured perceptron": tagger.score(new, true),
        "perceptron on single words": float(alone.score(np.concatenate(new), np.concatenate(true))),
    }
    for name, share in found.items():
        print(f"{name}: {share:.1%} of the tags of new sentences are right")
    print(f"whole sentences right: {tagger.sequence_accuracy(new, true):.1%}; {tagger.certificate_}")
    best, ours, single = found.values()
    assert ours >= best - 0.01
    assert ours > single + 0.05


if __name__ == "__main__":
    main()
