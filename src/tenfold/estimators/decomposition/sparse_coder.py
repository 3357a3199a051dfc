"""Sparse codes with a given dictionary."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from tenfold.arrays import Array
from tenfold.data import NotFinite
from tenfold.estimators.decomposition.sparse_coding import CODING, SparseCodingModel
from tenfold.estimators.parameters import Constraints, array_like, check_parameters
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import whole
from tenfold.estimators.validation import all_finite, require_finite, restore_on_error, validate_rows
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate

UNJUDGED = Certificate(
    "exact",
    np.inf,
    1.0,
    RULES["exact"].tol,
    0.0,
    np.inf,
    status=NOT_JUDGED,
    note="Nothing is learned. tenfold.certify(model, X) judges the codes of samples.",
)


class SparseCoder(SparseCodingModel):
    """Sparse codes of samples with a given dictionary: few atoms whose combination is close to a sample.

    Parameters
    ----------
    dictionary : ndarray of shape (n_components, n_features)
        The atoms; their norms should be one.
    transform_algorithm : {"lasso_lars", "lasso_cd", "lars", "omp", "threshold"}, default="omp"
        How `transform` codes samples. "lasso_lars" and "lasso_cd": the Lasso at `transform_alpha`, exactly. "omp" and
        "lars": orthogonal matching pursuit or least angle regression with `transform_n_nonzero_coefs` atoms.
        "threshold": products with the atoms, shrunk by `transform_alpha`.
    transform_n_nonzero_coefs : int, default=None
        Number of atoms of a sample with "omp" and "lars"; None is a tenth of the features, at least one.
    transform_alpha : float, default=None
        The penalty of the Lasso, or the threshold. None is 1.
    split_sign : bool, default=False
        Whether `transform` gives positive and negative parts of the codes as columns of their own.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    positive_code : bool, default=False
        Whether codes must not be negative; not with "lars" and "omp".
    transform_max_iter : int, default=1000
        Accepted for compatibility: the Lasso is solved exactly.

    Attributes
    ----------
    n_components_ : int
        Number of atoms.
    certificate_ : Certificate
        Not judged by `fit`, as nothing is learned: ``tenfold.certify(model, X)`` judges the codes of samples: the Lasso
        by its duality gap, thresholds and pursuits by other formulas.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    `transform` takes n p k operations for products, and 2 k m a step of a sample with m atoms, on one Gram matrix of
    the atoms, on all threads. Runs on dense arrays in memory.
    Rubinstein, Zibulevsky and Elad 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import SparseCoder
    >>> coder = SparseCoder(np.eye(3), transform_algorithm="threshold", transform_alpha=1.0)
    >>> coder.transform(np.array([[3.0, -0.5, -2.0]]))
    array([[ 2., -0., -1.]])
    """

    _registration: ClassVar = Registration(
        method="Sparse codes with a given dictionary: the Lasso, matching pursuit, least angles or thresholds",
        texts=("R11.2",),
        peer="sklearn.decomposition",
        reads=("one pass",),
        where=("arrays",),
        instead="Code parts of them that are in memory.",
        certificate=("gap", "exact"),
        judged=False,
        judge="dictionary.coder",
        stored={"n_components_": whole(1)},
        transform_uses="sample",
    )
    _constraints: ClassVar[Constraints] = {"dictionary": (array_like(),), **CODING}

    def __init__(
        self,
        dictionary: Any,
        *,
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        split_sign: bool = False,
        n_jobs: int | None = None,
        positive_code: bool = False,
        transform_max_iter: int = 1000,
    ) -> None:
        self.dictionary = dictionary
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.split_sign = split_sign
        self.n_jobs = n_jobs
        self.positive_code = positive_code
        self.transform_max_iter = transform_max_iter

    def _atoms(self) -> Array:
        return np.asarray(self.dictionary)

    @restore_on_error
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters, and that samples X (n, p) have as many features as the atoms; `y` is not used."""
        check_parameters(self, self._constraints)
        X = validate_rows(self, X)
        require_finite(self, X, lambda: _check_finite(X))
        self._check_features(X)
        self.n_components_ = len(self._atoms())
        self.certificate_ = UNJUDGED
        return self

    def transform(self, X: Any, y: Any = None) -> Array:
        """The codes (n, n_components) of the samples X (n, n_features); also before `fit`. `y` is not used."""
        self._registration.check_source(type(self).__name__, X)
        if hasattr(self, "n_features_in_"):
            return self._predict_raw(X)
        check_parameters(self, self._constraints)
        X = validate_rows(_Unfitted(), X)
        require_finite(self, X, lambda: _check_finite(X))
        self._check_features(X)
        return self._codes(X)

    def _check_features(self, X: Array) -> None:
        shape = np.shape(self.dictionary)
        if len(shape) != 2 or X.shape[1] != shape[1]:
            raise ValueError(
                f"Dictionary and X have different numbers of features: dictionary.shape: {shape} X.shape: {X.shape}"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class _Unfitted(BaseEstimator):
    """Takes the names of features that are not kept."""


def _check_finite(X: Array) -> None:
    if not all_finite(X):
        raise NotFinite
