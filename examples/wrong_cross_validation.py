"""Feature selection before cross-validation makes noise look predictive (Seeger 10.2.1; Cookbook 6.2)."""

from tenfold.selection import wrong_cross_validation


def main() -> None:
    found = wrong_cross_validation(50, 5000, 100, times=5)
    print("50 samples, 5000 features of pure noise, the 100 with the largest correlation with the class")
    print(f"selected on all samples, then 5 folds:  error {found.wrong.mean():6.1%}")
    print(f"selected within each of the 5 folds:    error {found.right.mean():6.1%}")
    print(f"on new samples, of any rule:            error {found.truth:6.1%}")
    assert found.wrong.mean() < 0.05 < 0.35 < found.right.mean()


if __name__ == "__main__":
    main()
