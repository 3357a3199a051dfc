"""Vectorisers of texts against scikit-learn's: matrices, vocabularies, dtypes, warnings and errors are equal."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text as sklearn_text

import tenfold

SCRIPTS = [
    "The quick brown fox, jumps over the lazy dog! isn't it? a b cc_dd 12 3",
    "Straße STRASSE Groß ẞ ﬁne",
    "ΟΔΥΣΣΕΥΣ σοφος Σίσυφος ὈΔΥΣΣΕΎΣ",
    "İstanbul ISPARTA ığdır Iğdır",
    "Привет мир ёлка Ёлка",
    "שָׁלוֹם עולם",
    "مَرْحَبًا بالعالم ١٢٣",
    "नमस्ते दुनिया १२३",
    "বাংলা ভাষা ৪৫",
    "สวัสดีชาวโลก ๑๒๓",
    "မင်္ဂလာပါ ကမ္ဘာ",
    "你好,世界。 再见 世界",
    "こんにちは世界 カタカナ ｶﾀｶﾅ",
    "안녕하세요 세계",
    "გამარჯობა მსოფლიო",
    "Բարեւ աշխարհ և",
    "ሰላም ልዑል",
    "ᏣᎳᎩ ꮳꮃꭹ",
    "𝒜𝓁𝓅𝒽𝒶 𐐀𐐁𐐨 😀👍🏽 x²½ⅷ",
    "e\u0301cole école naïve nai\u0308ve a\u030a",
    "tab\tnew\n\nline\u00a0no\u2003em\u2028sep  two\x1c\x1dspaces\x85next",
    "",
    "   ",
    "a",
    "\ud800 lone surrogate \udfff\ud800",
    "same same same words words",
]


def split_reversed(document):
    return document[::-1].split()


SETTINGS = [
    {},
    {"ngram_range": (1, 2)},
    {"ngram_range": (2, 3)},
    {"ngram_range": (1, 1), "lowercase": False},
    {"analyzer": "char", "ngram_range": (1, 3)},
    {"analyzer": "char", "ngram_range": (2, 4), "lowercase": False},
    {"analyzer": "char_wb", "ngram_range": (1, 3)},
    {"analyzer": "char_wb", "ngram_range": (3, 5)},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii", "analyzer": "char", "ngram_range": (1, 2)},
    {"strip_accents": str.swapcase},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"token_pattern": r"[a-z]+"},
    {"stop_words": "english", "ngram_range": (1, 2)},
    {"stop_words": ["the", "мир", "same"], "token_pattern": r"\b\w+\b"},
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper},
    {"analyzer": split_reversed},
]


def ids(settings):
    return (
        ", ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in settings.items())[:40] or "default"
    )


def random_words(n=200, seed=0):
    """Documents of words of a Zipf law, of several scripts."""
    rng = np.random.default_rng(seed)
    words = [f"w{k}" for k in range(300)] + [f"слово{k}" for k in range(100)] + ["Ünï", "ΣΑΣ", "x", "日本語"]
    return [" ".join(words[min(k, 403)] for k in rng.zipf(1.3, size=rng.integers(0, 60))) for _ in range(n)]


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    assert ours.indices.dtype == theirs.indices.dtype
    assert ours.indptr.dtype == theirs.indptr.dtype
    assert (ours != theirs).nnz == 0
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))


def assert_same_vocabulary(model, sklearn_model):
    assert model.vocabulary_ == sklearn_model.vocabulary_
    assert list(model.vocabulary_) == list(sklearn_model.vocabulary_)
    assert np.array_equal(model.get_feature_names_out(), sklearn_model.get_feature_names_out())


def pair(name, **settings):
    return getattr(tenfold, name)(**settings), getattr(sklearn_text, name)(**settings)


@pytest.mark.parametrize("settings", SETTINGS, ids=ids)
@pytest.mark.parametrize("documents", [SCRIPTS, random_words()], ids=["scripts", "words"])
def test_counts_and_vocabulary(settings, documents):
    model, sklearn_model = pair("CountVectorizer", **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of stop words that lose their accents, and unused parameters
        assert_same(model.fit_transform(documents), sklearn_model.fit_transform(documents))
        assert_same_vocabulary(model, sklearn_model)
        new = [*documents[::-2], "unseen words", ""]
        assert_same(model.transform(new), sklearn_model.transform(new))
        assert model.fit(documents) is model


@pytest.mark.parametrize(
    "limits",
    [
        {"min_df": 2},
        {"min_df": 0.05},
        {"max_df": 0.3},
        {"max_df": 20, "min_df": 3},
        {"max_features": 7},
        {"max_features": 50, "min_df": 2},
        {"max_features": 100_000},
        {"max_features": 20, "binary": True},
        {"max_features": 20, "dtype": np.float32},
        {"binary": True},
        {"dtype": np.int32},
        {"dtype": np.float64, "max_features": 33},
        {"dtype": bool},
        {"dtype": np.uint8, "max_features": 33},
    ],
    ids=ids,
)
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_limits_and_dtypes(limits, ngrams):
    documents = random_words()
    model, sklearn_model = pair("CountVectorizer", ngram_range=ngrams, **limits)
    assert_same(model.fit_transform(documents), sklearn_model.fit_transform(documents))
    assert_same_vocabulary(model, sklearn_model)


@pytest.mark.parametrize("settings", SETTINGS, ids=ids)
def test_tfidf(settings):
    documents = random_words()
    for weights in ({}, {"norm": "l1", "sublinear_tf": True}, {"use_idf": False, "dtype": np.float32}):
        model, sklearn_model = pair("TfidfVectorizer", **settings, **weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(model.fit_transform(documents), sklearn_model.fit_transform(documents))
            assert_same(model.fit(documents).transform(documents[:9]), sklearn_model.transform(documents[:9]))
        if model.use_idf:
            assert np.array_equal(model.idf_, sklearn_model.idf_)


@pytest.mark.parametrize("settings", SETTINGS, ids=ids)
def test_hashing(settings):
    documents = [text for text in (*SCRIPTS, *random_words()) if not any("\ud800" <= c <= "\udfff" for c in text)]
    for more in ({}, {"n_features": 10, "norm": None}, {"alternate_sign": False, "norm": "l1"}, {"binary": True}):
        model, sklearn_model = pair("HashingVectorizer", **settings, **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(model.fit_transform(documents), sklearn_model.fit_transform(documents))
    model = tenfold.HashingVectorizer(dtype=np.float32)
    assert_same(model.transform(documents), sklearn_text.HashingVectorizer(dtype=np.float32).transform(documents))


def test_surrogates_cannot_be_hashed():
    for model in pair("HashingVectorizer", analyzer="char"):
        with pytest.raises(UnicodeEncodeError):
            model.transform(["\ud800"])


def test_transformer_is_that_of_scikit_learn():
    counts = sklearn_text.CountVectorizer().fit_transform(random_words())
    model, sklearn_model = pair("TfidfTransformer", smooth_idf=False)
    assert_same(model.fit_transform(counts), sklearn_model.fit_transform(counts))


def test_bytes_files_names_and_iterators(tmp_path):
    documents = [text.encode("utf-8", "surrogatepass") for text in SCRIPTS] + [b"caf\xe9 \xff\xfe bad", b"\x00nul\x00"]
    for errors in ("ignore", "replace"):
        model, sklearn_model = pair("CountVectorizer", decode_error=errors)
        assert_same(model.fit_transform(iter(documents)), sklearn_model.fit_transform(iter(documents)))
        assert_same_vocabulary(model, sklearn_model)
    latin, sklearn_latin = pair("CountVectorizer", encoding="latin-1")
    assert_same(latin.fit_transform(documents), sklearn_latin.fit_transform(documents))
    with pytest.raises(UnicodeDecodeError):
        tenfold.CountVectorizer().fit(documents)
    names = []
    for k, content in enumerate(documents):
        names.append(tmp_path / f"{k}.txt")
        names[-1].write_bytes(content)
    model, sklearn_model = pair("CountVectorizer", input="filename", decode_error="replace")
    assert_same(model.fit_transform(names), sklearn_model.fit_transform(names))
    model, sklearn_model = pair("CountVectorizer", input="file", decode_error="replace")
    files = [[io.BytesIO(content) for content in documents] for _ in range(2)]
    assert_same(model.fit_transform(files[0]), sklearn_model.fit_transform(files[1]))


def test_series_arrays_and_arrow_columns():
    documents = random_words(50)
    expected = sklearn_text.CountVectorizer().fit_transform(documents)
    assert_same(tenfold.CountVectorizer().fit_transform(pd.Series(documents)), expected)
    assert_same(tenfold.CountVectorizer().fit_transform(np.array(documents)), expected)
    pyarrow = pytest.importorskip("pyarrow")
    assert_same(tenfold.CountVectorizer().fit_transform(pyarrow.array(documents)), expected)


@pytest.mark.parametrize(
    "vocabulary",
    [["same", "мир", "words"], {"same": 1, "the": 0}, {"lone", "quick"}, ["the", "The"]],
    ids=["list", "mapping", "set", "cases"],
)
def test_given_vocabulary(vocabulary):
    model, sklearn_model = pair("CountVectorizer", vocabulary=vocabulary)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(model.fit_transform(SCRIPTS), sklearn_model.fit_transform(SCRIPTS))
        assert_same(model.transform(SCRIPTS), sklearn_model.transform(SCRIPTS))
    assert model.vocabulary_ == sklearn_model.vocabulary_
    without_fit, _ = pair("CountVectorizer", vocabulary=vocabulary)
    assert_same(without_fit.transform(SCRIPTS), sklearn_model.transform(SCRIPTS))


def test_a_vocabulary_that_is_replaced_is_used():
    model, sklearn_model = pair("CountVectorizer")
    for one in (model, sklearn_model):
        one.fit(SCRIPTS)
        one.transform(SCRIPTS)
        one.vocabulary_ = {"same": 0, "words": 1}
    assert_same(model.transform(SCRIPTS), sklearn_model.transform(SCRIPTS))


@pytest.mark.parametrize(
    ("settings", "documents"),
    [
        ({}, "a string"),
        ({}, ["the", None]),
        ({}, ["the", 3]),
        ({"lowercase": False}, ["the", 3]),
        ({}, ["the", np.nan]),
        ({}, [""]),
        ({}, []),
        ({"stop_words": ["the"]}, ["the"]),
        ({"min_df": 3}, ["the", "cat"]),
        ({"max_df": 1, "min_df": 2}, ["the", "the cat"]),
        ({"ngram_range": (2, 1)}, ["the"]),
        ({"ngram_range": [1, 1]}, ["the"]),
        ({"analyzer": "words"}, ["the"]),
        ({"vocabulary": ["the", "the"]}, ["the"]),
        ({"vocabulary": {"the": 1}}, ["the"]),
        ({"vocabulary": {"the": 0, "cat": 0}}, ["the"]),
        ({"vocabulary": []}, ["the"]),
        ({"token_pattern": r"(a)(b)"}, ["the"]),
        ({"strip_accents": "all"}, ["the"]),
        ({"stop_words": "german"}, ["the"]),
        ({"max_features": 0}, ["the"]),
    ],
    ids=str,
)
def test_errors_are_those_of_scikit_learn(settings, documents):
    raised = []
    for model in pair("CountVectorizer", **settings):
        with pytest.raises((ValueError, TypeError, AttributeError)) as error:
            model.fit_transform(documents)
        raised.append(error)
    assert raised[0].type is raised[1].type
    assert str(raised[0].value).replace("tenfold", "") == str(raised[1].value)
    hashing = {name: value for name, value in settings.items() if name in ("ngram_range", "analyzer", "lowercase")}
    if documents == "a string" or hashing:
        for model in pair("HashingVectorizer", **hashing):
            with pytest.raises((ValueError, TypeError, AttributeError)):
                model.fit_transform(documents)


def test_warnings_are_those_of_scikit_learn():
    for settings in ({"stop_words": ["isn't"]}, {"analyzer": "char", "stop_words": "english"}):
        caught = []
        for model in pair("CountVectorizer", **settings):
            with warnings.catch_warnings(record=True) as record:
                warnings.simplefilter("always")
                model.fit(["it is", "is it not"])
            caught.append([str(one.message) for one in record])
        assert caught[0] == caught[1]
    with pytest.raises(NotFittedError):
        tenfold.CountVectorizer().transform(["the"])


def test_many_threads_give_the_same(monkeypatch):
    documents = random_words(300, seed=3)
    expected = tenfold.CountVectorizer(ngram_range=(1, 2))
    X = expected.fit_transform(documents)
    new = expected.transform(documents)
    for count in (1, 2, 3, 8):
        monkeypatch.setattr("tenfold.features.vectorisers.threads", lambda count=count: count)
        monkeypatch.setattr("tenfold.features.ngram_rules.CHUNK", 3000)
        model = tenfold.CountVectorizer(ngram_range=(1, 2))
        assert_same(model.fit_transform(documents), X)
        assert list(model.vocabulary_.items()) == list(expected.vocabulary_.items())
        assert_same(model.transform(documents), new)
        hashed = tenfold.HashingVectorizer().transform(documents)
        assert_same(hashed, sklearn_text.HashingVectorizer().transform(documents))
