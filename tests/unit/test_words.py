"""Words of texts: scikit-learn's weights, counted once for all folds."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import tenfold
from tenfold import TableEncoder
from tenfold.features import Texts, count_vocabulary, infer_schema, words
from tenfold.features.words import count_words, share_counts

SIGNS = st.sampled_from(list("abcABC éÉßΣσçñ_-'.,;:!?\n\t0123456789٣²½日本語İı"))
TEXTS = st.lists(st.none() | st.text(SIGNS, max_size=40), min_size=1, max_size=12)


@given(texts=TEXTS, new=TEXTS)
@settings(max_examples=150, deadline=None)
def test_weights_are_those_of_scikit_learn(texts: list[str | None], new: list[str | None]) -> None:
    plain, others = ([text or "" for text in given] for given in (texts, new))
    mine = Texts().fit(pl.DataFrame({"t": pl.Series(texts, dtype=pl.String)}))
    fitted = Texts().fit_transform(pl.DataFrame({"t": pl.Series(texts, dtype=pl.String)}))
    sklearn_model = TfidfVectorizer(sublinear_tf=True)
    try:
        expected = sklearn_model.fit_transform(plain)
    except ValueError:  # no words
        assert mine.get_feature_names_out().tolist() == []
        assert fitted.shape == (len(texts), 0)
        return
    assert mine.get_feature_names_out().tolist() == [f"t: {word}" for word in sklearn_model.get_feature_names_out()]
    np.testing.assert_allclose(fitted.toarray(), expected.toarray(), rtol=1e-14)
    np.testing.assert_allclose(
        mine.transform(pl.DataFrame({"t": pl.Series(new, dtype=pl.String)})).toarray(),
        sklearn_model.transform(others).toarray(),
        rtol=1e-14,
    )


def corpus(rows: int, seed: int = 0) -> pl.Series:
    rng = np.random.default_rng(seed)
    return pl.Series(
        "t", [" ".join(f"w{i}" for i in rng.zipf(1.4, rng.integers(1, 40)) if i < 5000) for _ in range(rows)]
    )


def test_chunks_and_kept_counts_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = corpus(300)
    with share_counts() as shared:
        whole = count_words(texts, keep=True)
        part = texts[np.random.default_rng(1).integers(300, size=100)]
        looked_up = count_words(part)
        assert len(shared) == 1
    monkeypatch.setattr(words, "CHUNK_BYTES", 100)
    chunked = count_words(texts)
    anew = count_words(part)
    assert chunked.words == whole.words
    assert (chunked.counts != whole.counts).nnz == 0
    used = np.flatnonzero(looked_up.counts.sum(axis=0))
    assert [looked_up.words[j] for j in used] == anew.words
    np.testing.assert_array_equal(looked_up.counts.toarray()[:, used], anew.counts.toarray())


def test_no_more_is_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [corpus(100, seed) for seed in range(3)]
    with share_counts() as shared:
        count_words(columns[0], keep=True)
        monkeypatch.setattr(words, "CACHE_BYTES", 5 * shared[0][0].estimated_size())
        for texts in columns:
            count_words(texts, keep=True)
        assert 1 <= len(shared) < 3
        assert shared[-1][0].to_list() == columns[-1].unique(maintain_order=True).to_list()
        monkeypatch.setattr(words, "CACHE_BYTES", 0)
        count_words(corpus(100, 9), keep=True)
        assert not shared


def test_nothing_is_kept_outside_of_the_context() -> None:
    with share_counts() as shared:
        count_words(corpus(10), keep=True)
    count_words(corpus(20), keep=True)
    assert len(shared) == 1


def test_the_most_frequent_words_are_kept() -> None:
    texts = pl.Series("t", ["red red red blue", "blue green", "green blue", "grey grey"])
    assert count_words(texts).words == ["blue", "green", "grey", "red"]
    names = Texts(max_words=2).fit(texts.to_frame()).get_feature_names_out().tolist()
    assert names == ["t: blue", "t: red"]


def test_features_are_counted_not_bounded(tmp_path) -> None:
    rows = 300
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "n": np.where(rng.random(rows) < 0.1, np.nan, rng.standard_normal(rows)),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "shop": [f"s{i}" for i in rng.integers(200, size=rows)],
            "many": pl.Series([None if i % 7 == 0 else i % 4 for i in range(rows)]),
            "size": rng.choice(["S", "M", "L"], rows),
            "on": [f"2020-{month:02d}-01" for month in rng.integers(1, 13, rows)],
            "note": [" ".join(rng.choice(["good", "bad", "fair", "ill", "well", "so", "not"], 6)) for _ in range(rows)],
            "letter": corpus(rows),
        }
    )
    y = rng.integers(0, 3, rows)
    types = infer_schema(table, types={"many": "count"}, ordinal={"size": ["S", "M", "L"]})
    assert types.of("text") == ["note", "letter"]
    assert count_vocabulary(table["note"]) == 7
    for parameters in ({}, {"max_words": 20}, {"many_levels": "group", "max_levels": 50}):
        encoder = TableEncoder(types=types.text(), **parameters)
        model = TableEncoder(types=types.text(), **parameters).fit(table, y)
        assert encoder.count_features(table, y) == len(model.get_feature_names_out())
        assert not hasattr(encoder, "columns_")
        tenfold.save(model, tmp_path / "encoder.tenfold")
        loaded = tenfold.load(tmp_path / "encoder.tenfold")
        np.testing.assert_array_equal(np.asarray(loaded.transform(table[:50])), np.asarray(model.transform(table[:50])))
