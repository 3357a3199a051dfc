"""scikit-learn's own checks on every row of the table, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from estimators import TABLE

REPEATED = {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}
"""Integer weights are repeated rows: not to a method that looks at one row after the other."""

SEQUENTIAL = {row.name for row in TABLE if row.sequential}


@parametrize_with_checks([row.make() for row in TABLE if not row.outside])
def test_check(estimator, check):
    if type(estimator).__name__ in SEQUENTIAL and check.func.__name__ in REPEATED:
        return
    check(estimator)


def test_every_class_is_checked_with_its_defaults():
    names = {row.name for row in TABLE}
    assert names == {row.name for row in TABLE if not row.outside and not row.settings}
