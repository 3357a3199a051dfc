"""Tags of whole sentences beside tags of single words (CMU 28).

A hidden Markov model makes sentences: a tag depends on the one before it, a word on its tag, and most words belong to
several tags. The structured perceptron, which has weights for neighbouring tags, comes close to the most likely tags
under the true model; a perceptron on single words does not.
"""

import numpy as np

from tenfold import AveragedPerceptron, StructuredPerceptron

TAGS, WORDS, LENGTH = 8, 60, 12
rng = np.random.default_rng(0)
START, MOVE, EMIT = rng.dirichlet(np.ones(TAGS)), rng.dirichlet([0.2] * TAGS, TAGS), rng.dirichlet([0.1] * WORDS, TAGS)


def draw(sentences: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Words, one-hot, and their tags."""
    y = []
    for _ in range(sentences):
        tags = [rng.choice(TAGS, p=START)]
        while len(tags) < LENGTH:
            tags.append(rng.choice(TAGS, p=MOVE[tags[-1]]))
        y.append(np.array(tags))
    return [np.eye(WORDS)[[rng.choice(WORDS, p=EMIT[tag]) for tag in tags]] for tags in y], y


def most_likely(x: np.ndarray) -> list[int]:
    """The tags of a sentence under the true model, by Viterbi's recursion."""
    score, back = START * (x[0] @ EMIT.T), []
    for word in x[1:]:
        paths = score[:, None] * MOVE
        back.append(np.argmax(paths, axis=0))
        score = np.max(paths, axis=0) * (word @ EMIT.T)
    path = [int(np.argmax(score))]
    for step in reversed(back):
        path.append(int(step[path[-1]]))
    return path[::-1]


def main() -> None:
    (X, y), (new, true) = draw(1500), draw(500)
    best = float(np.mean([most_likely(x) == tags for x, tags in zip(new, true, strict=True)]))
    tagger = StructuredPerceptron(max_iter=10).fit(X, y)
    alone = AveragedPerceptron(max_iter=10).fit(np.concatenate(X), np.concatenate(y))
    ours, single = tagger.score(new, true), float(alone.score(np.concatenate(new), np.concatenate(true)))
    print("accuracy of tags in new sentences")
    print(f"  the model that made them     {best:.1%}")
    print(f"  structured perceptron        {ours:.1%}, and {tagger.sequence_accuracy(new, true):.1%} of the sentences")
    print(f"  perceptron on single words   {single:.1%}")
    assert ours >= best - 0.01
    assert ours > single + 0.05


if __name__ == "__main__":
    main()
