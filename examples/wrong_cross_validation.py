"""Feature selection before cross-validation makes noise look predictive (Seeger 10.2.1; Cookbook 6.2)."""

from tenfold.selection import wrong_cross_validation


def main() -> None:
    result = wrong_cross_validation(50, 5000, 100, times=5)
    print("50 samples, 5000 features of pure noise, the 100 with the largest correlation with the class")
    print(f"selected on all samples, then 5 folds:  error {result.wrong.mean():6.1%}")
    print(f"selected within each of the 5 folds:    error {result.right.mean():6.1%}")
    print(f"on new samples, of any rule:            error {result.truth:6.1%}")
    assert result.wrong.mean() < 0.05 < 0.35 < result.right.mean()


if __name__ == "__main__":
    main()
