"""scikit-learn's own checks on every row of the table, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from estimators import TABLE


@parametrize_with_checks([row.make(**row.checked) for row in TABLE if not row.outside])
def test_check(estimator, check):
    check(estimator)


def test_every_class_is_checked_with_its_defaults():
    names = {row.name for row in TABLE}
    assert names == {row.name for row in TABLE if not row.outside and not row.settings}
