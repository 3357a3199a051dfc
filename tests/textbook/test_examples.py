"""Every script in `examples/` runs, is short, names its source, and prints its result."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# demo.py is the tour of the library that `make demo` runs; the others are demonstrations of the texts
EXAMPLES = sorted(p for p in (Path(__file__).parents[2] / "examples").glob("*.py") if p.stem != "demo")
each = pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)

EXPECTED = {
    "zig_zag": r"gradient-descent +\{\} +2\d\d steps, certified: True(.|\n)*cg[^\n]* 2 steps(.|\n)*gradient -7\.575",
    "batch_contest": r"full batch\s+5\.\d+e-01[^\n]*\nbatches of 200",
    "best_of_many": r"best of 1000 random classifiers, 200 samples: error (3\d|4[01])\.\d%, corrected (49|50|51)\.",
    "bias_and_variance": r"best trade-off is degree 3\.",
    "certify_refuses": r"not ok",
    "denoised_digits": r"linear components  mean squared error 0\.029\d\nkernel components  mean squared error 0\.01",
    "distant_correct_points": r"least squares\s+rotates by\s+\d\d\.\d+ degrees",
    "greedy_is_not_best": r"best subset: columns \[0 1\], sum of squares 0\.000",
    "drifting_mail": r"inputs, no restart[^\n]*alarms at \[\]\n(.|\n)*jump, restart[^\n]*alarms at \[10\d\d\]",
    "early_stopping": r"landweber +stops at +20 of 2000: error 0\.039\d, best 0\.018\d at 7, last 0\.25",
    "eigen_digits": r"the first three: <Certificate ok[^\n]*\nthe second to the fourth: <Certificate NOT OK",
    "linkages": r"single: 100% as the cigars; certified: True\n *complete: \d\d% as the cigars; certified: True",
    "em_steps": r"it never decreased: True\ndecrease of the objective in one exact step \S+e-1\d",
    "false_correlation": r"related +samples of the fit 1\.00 +new samples \+0\.9|related +[^\n]*\+1\.00 +solved",
    "gross_outlier": r"squared_error\s+rotates by 1\d\.\d+ [^\n]*\ntanh\s+rotates by\s+0\.",
    "lecun_table": r"linear +error 12\.\d+ %(.|\n)*quadratic +error  3\.\d+ %(.|\n)*network +error  [4-8]\.",
    "lasso_path": r"Lasso 1\.\d+ and 0\.00, elastic net 0\.7\d and 0\.7\d",
    "hidden_variable": r"noise one direction\s+CCA (0\.999|1\.000)\s+PCA 0\.",
    "kernel_overfitting": r"no penalty +0\.000(.|\n)*chosen +0\.0\d+ +0\.1\d+ +0\.0\d+ +True",
    "kernel_perceptron_spirals": r"perceptron +accuracy 1\.000[^\n]*\n(.|\n)*budget of 12 +accuracy 0\.",
    "larger_than_memory": r"the same bits as in memory: True",
    "leave_one_out_and_folds": r"in one pass (\d+\.\d{9})\d*, by 50 refits \1",
    "many_columns_of_noise": r"100 features[^\n]*test error [23]\d\.",
    "network_overfitting": r"neither[^\n]*samples 0\.0\d+, new [1-4]\.(.|\n)*decay[^\n]*new 0\.0",
    "neighbour_boundaries": r"leave-one-out takes k = \d+",
    "nearest_centroid_limit": r"1e\+08\s+\S+\s+100\.0%",
    "norm_bounded_ridge": r"differ by at most \de-1\d",
    "parallel_cigars": r"k-means:  5\d\.\d%[^%]*spherical:  5\d\.\d%[^%]*tied: 100\.0%[^%]*full: 100\.0%",
    "parts_of_digits": r"vectors +squared error +1282(.|\n)*parts squared error +1[78]\d\d, (.|\n)*error below 1282",
    "penalised_offset": r"100\s+0\.702",
    "polynomial_fits": r"10\s+\S+e-\d\d",
    "process_of_cosine": r"certified: True(.|\n)*are data +deviation 0\.0(.|\n)*beyond them +deviation 0\.[4-9]",
    "prediction_intervals": r"90%\s+(8[89]|9\d)\.\d%",
    "protein_motif": r"exact words of 5: [78]\d\.\d%[^\n]*True\none substitution: (9\d\.\d|100\.0)%[^\n]*True",
    "spam_substrings": r"words +[456]\d\.\d%[^\n]*True\nsubstrings of 3 +(9\d\.\d|100\.0)%[^\n]*True\nsubsequences",
    "ridge_path_shrinkage": r"with nu: True",
    "tags_of_words": r"structured perceptron +8[789]\.\d%[^%]*%[^\n]*\n +perceptron on single words +7\d\.",
    "robust_errors": r"nonrobust:\s+\S+\s+0\.[67]\d[^:]*HC3:\s+\S+\s+0\.[78]\d[^:]*cluster:\s+\S+\s+0\.9\d",
    "ten_machines": r"Largest difference to the fit on all rows: \de-1\d",
    "two_rings": r"accuracy of two centres: 0\.\d\d.*(.|\n)*by the radius alone: 1\.00",
    "undecided_regions": r"positive in 2% of the plane, several are in 31%",
    "what_mistakes_cost": r"costs 50: 0 missed(.|\n)*0\.10: +7\d\.\d% decided",
    "wrong_cross_validation": r"on all samples[^%]*error +[0-4]\.\d%[^%]*error +(4|5)\d\.\d%",
    "weak_duality": r"the minimum is 0\.500 at x = -1\.000(.|\n)*max min 0\.00, min max 0\.25",
    "xor_and_rings": r"XOR, linear kernel: 0\.[67]\d+ right(.|\n)*XOR, Gaussian kernel: (0\.9\d+|1\.000) right",
    "separable_logistic": r"without a prior: .*no maximum",
}


def run(path: Path, *arguments: str) -> str:
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_an_expected_output():
    assert {path.stem for path in EXAMPLES} == set(EXPECTED)


@each
def test_is_short_and_names_its_source(path: Path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring is not None
    assert re.search(r"\((.*)(Seeger|Rosasco|Welling|Cookbook|CMU) ?[\dA-Z]", docstring)


@pytest.mark.slow
@each
def test_output_is_expected_and_reproducible_and_plot_is_saved(path: Path, tmp_path: Path):
    output = run(path)
    assert re.search(EXPECTED[path.stem], output), output
    draws = "--plot" in path.read_text(encoding="utf-8")
    if importlib.util.find_spec("matplotlib") is None or not draws:
        assert run(path) == output
        return
    picture = tmp_path / "picture.png"
    assert run(path, "--plot", str(picture)) == output
    assert picture.read_bytes().startswith(b"\x89PNG")
