"""`tenfold fit`: the leaderboard is honest, and the folder of a run is whole."""

import csv
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from scripts import run_script
from tenfold.cli.commands import tenfold
from tenfold.datasets import make_table, write_csv

FILES = {"leaderboard.csv", "model.tenfold", "predictions.csv", "report.html", "reproduce.py", "run.json"}
QUICK = "ridge,lasso,least-squares"
EVERY = {
    "regression": "ridge,lasso,elastic-net,least-squares,neighbours,huber,partial-least-squares",
    "classification": "ridge-classifier,logistic,lda,qda,naive-bayes,nearest-centroid,neighbours-classifier,linear-svm",
}
QUICK_CLASSES = "ridge-classifier,logistic,lda"


def call(*args, code=0):
    """What a command prints, on both outputs."""
    result = CliRunner().invoke(tenfold, [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == code, result.output[-2000:]
    return result


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """A run on a table with a target of numbers."""
    folder = tmp_path_factory.mktemp("houses")
    write_csv(make_table(300, task="regression", random_state=1), folder / "houses.csv")
    call("fit", folder / "houses.csv", "--target", "price", "--models", QUICK, "--out", folder / "run", "--quiet")
    return folder


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """A run on a table with two classes."""
    folder = tmp_path_factory.mktemp("customers")
    write_csv(make_table(300, random_state=1), folder / "customers.csv")
    args = ("--target", "churned", "--models", QUICK_CLASSES, "--out", folder / "run", "--quiet")
    call("fit", folder / "customers.csv", *args)
    return folder


def record_of(folder):
    return json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["houses", "customers"])
def test_fit_writes_all_files(name, request):
    folder = request.getfixturevalue(name)
    assert {path.name for path in (folder / "run").iterdir()} == FILES
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("name", ["houses", "customers"])
def test_leaderboard_has_all_columns(name, request):
    record = record_of(request.getfixturevalue(name))
    rows = {row["name"]: row for row in record["board"]}
    assert record["best"] in rows
    baseline = rows.pop("baseline")
    assert baseline["gap"] == 0.0
    for row in rows.values():
        assert row["low"] <= row["score"] <= row["high"]
        assert row["interval"]
        assert row["certified"] is True
        assert row["gap"] > 0.0
        assert row["fit_seconds"] > 0.0
        assert row["predict_us"] > 0.0


def test_candidates_without_a_fit_are_counted(houses):
    rows = {row["name"]: row for row in record_of(houses)["board"]}
    assert (rows["ridge"]["tried"], rows["ridge"]["free"]) == (101, 100)
    assert "leave-one-out" in rows["ridge"]["how"]
    assert rows["ridge"]["chosen"]["alpha"] > 0.0


@pytest.mark.parametrize("name", ["houses", "customers"])
def test_report_is_one_small_file_without_external_resources(name, request):
    text = (request.getfixturevalue(name) / "run" / "report.html").read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    for outside in ("http://", "https://", "@import", "url(", "src="):
        assert outside not in text
    assert "default-src 'none'" in text
    assert text.count("<script") == text.count("<script>") == 1
    assert "<svg" in text
    assert "viewport" in text
    assert "@media print" in text


@pytest.mark.parametrize(("name", "data"), [("houses", "houses.csv"), ("customers", "customers.csv")])
def test_script_repeats_the_predictions(name, data, request, tmp_path):
    folder = request.getfixturevalue(name)
    shutil.copy(folder / data, tmp_path)
    shutil.copy(folder / "run" / "reproduce.py", tmp_path)
    subprocess.run([sys.executable, "reproduce.py"], cwd=tmp_path, check=True)
    ours, theirs = (read(path / "predictions.csv") for path in (folder / "run", tmp_path))
    assert ours.keys() == theirs.keys()
    for column in ours:
        np.testing.assert_array_equal(ours[column], theirs[column])


def read(path):
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_saved_model_predicts_and_is_certified(houses):
    run, data = houses / "run", houses / "houses.csv"
    out = houses / "out.csv"
    call("predict", run, data, "-o", out, "--interval", "0.9")
    result = read(out)
    prices = np.array(make_table(300, task="regression", random_state=1)["price"], dtype=float)
    low, high = (np.array(result[name], dtype=float) for name in ("low", "high"))
    assert 0.85 < np.mean((low <= prices) & (prices <= high)) <= 1.0
    assert "allowed" in call("certify", run, data).output
    assert call("report", run).output.strip().endswith("report.html")


def test_probabilities_sum_to_one(customers):
    record = record_of(customers)
    output = call("predict", customers / "run", customers / "customers.csv", *_proba(record)).output
    rows = list(csv.DictReader(output.splitlines()))
    assert len(rows) == 300
    if record["best"] != "ridge-classifier":
        total = [float(row["p(no)"]) + float(row["p(yes)"]) for row in rows]
        np.testing.assert_allclose(total, 1.0)


def _proba(record):
    return [] if record["best"] == "ridge-classifier" else ["--proba"]


@pytest.mark.product
def test_intervals_cover_the_baseline_on_noise(tmp_path):
    for task, target in (("regression", "price"), ("classification", "churned")):
        table = make_table(400, task=task, random_state=2)
        random = np.random.default_rng(3)
        table[target] = [table[target][i] for i in random.permutation(400)]
        data = write_csv(table, tmp_path / f"{task}.csv")
        args = ("--target", target, "--models", EVERY[task], "--time", "10m", "--json", "--quiet")
        output = call("fit", data, "--out", tmp_path / task, *args).stdout
        board = json.loads(output)["board"]
        baseline = next(row["score"] for row in board if row["status"] == "baseline")
        scored = [row for row in board if row["score"] is not None and row["status"] != "baseline"]
        assert len(scored) >= 4
        for row in scored:
            # what chooses a penalty can come down to the baseline; least squares cannot, and is honestly worse
            assert row["low"] <= baseline <= row["high"] or (row["name"] == "least-squares" and row["gap"] < 0.0), row


def test_test_table_is_predicted_and_scored(houses, tmp_path):
    new = write_csv(make_table(50, task="regression", random_state=9), tmp_path / "new.csv")
    args = ("--target", "price", "--models", "ridge", "--test", new, "--out", tmp_path / "run", "--quiet")
    printed = call("fit", houses / "houses.csv", *args).output
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert len(read(tmp_path / "run" / "predictions.csv")["prediction"]) == 50
    assert {"rmse", "r2"} <= {figure["name"] for figure in record["test"]["figures"]}
    assert "Test table new.csv, 50 rows: RMSE" in printed
    shutil.copy(houses / "houses.csv", tmp_path / "houses.csv")
    (tmp_path / "empty").mkdir()
    for name in ("houses.csv", "new.csv"):
        shutil.copy(tmp_path / name, tmp_path / "empty")
    shutil.copy(tmp_path / "run" / "reproduce.py", tmp_path / "empty")
    run_script("reproduce.py", cwd=tmp_path / "empty")
    assert read(tmp_path / "empty" / "predictions.csv") == read(tmp_path / "run" / "predictions.csv")


def test_groups_and_weights_are_not_features(tmp_path):
    table = make_table(200, task="regression", random_state=4)
    table["who"] = [i // 4 for i in range(200)]
    table["heft"] = [1.0 + i % 3 for i in range(200)]
    data = write_csv(table, tmp_path / "data.csv")
    args = ("--group", "who", "--weight", "heft", "--models", "ridge", "--out", tmp_path / "run", "--quiet")
    call("fit", data, "--target", "price", *args)
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert {"who", "heft"}.isdisjoint(column["name"] for column in record["columns"])
    assert "groups" in record["protocol"]
    assert "allowed" in call("certify", tmp_path / "run", data).output


def test_unsupervised_models_without_a_target(houses, tmp_path):
    call("fit", houses / "houses.csv", "--out", tmp_path / "run", "--quiet")
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert {row["name"] for row in record["board"]} == {
        "principal-components",
        "parts",
        "kernel-components",
        "k-means",
        "mixture",
        "spectral-clustering",
        "dendrogram",
    }
    assert all(row["certified"] for row in record["board"])
    assert all(row["weight"] >= 0.0 for part in record["groups"]["parts"] for row in part["features"])
    assert "<svg" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert call("predict", tmp_path / "run", houses / "houses.csv").output.startswith("row,prediction")


def board_of(folder):
    return {row["name"]: (row["score"], row["low"], row["high"], row["chosen"]) for row in record_of(folder)["board"]}


def test_equal_seeds_give_equal_boards_in_place_of_an_earlier_run(houses, tmp_path):
    shutil.copytree(houses / "run", tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    (tmp_path / "run" / "run.json").write_text(json.dumps(record | {"board": []}), encoding="utf-8")
    args = ("fit", houses / "houses.csv", "--target", "price", "--models", QUICK, "--quiet")
    call(*args, "--out", tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert board_of(tmp_path) == board_of(houses)


def test_folder_with_other_files_is_not_replaced(houses, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    args = ("fit", houses / "houses.csv", "--target", "price", "--models", "ridge", "--quiet")
    assert "other files" in call(*args, "--out", tmp_path, code=3).output
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_help_imports_no_heavy_modules():
    code = (
        "import sys; from tenfold.cli.commands import tenfold; "
        "print([name for name in ('numpy', 'polars', 'rich', 'sklearn') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_leaderboard_model_can_be_fitted():
    from tenfold.cli.candidates import leaderboard_classes

    names = [entry.name for entry, _ in leaderboard_classes()]
    assert len(set(names)) == len(names)
    assert {entry.task for entry, _ in leaderboard_classes()} == {"regression", "classification", "structure"}
    for entry, cls in leaderboard_classes():
        parameters = cls().get_params()
        assert set(entry.settings) | set(entry.grid) <= set(parameters), entry.name


def test_tables_are_described_and_checked(houses, tmp_path):
    result = json.loads(call("info", houses / "houses.csv", "--target", "price", "--json").stdout)
    assert result["task"] == "regression"
    assert result["rows"] == 300
    assert "price" in call("info", houses / "houses.csv").stdout
    assert "is like the old one" in call("check", houses / "houses.csv", "--against", houses / "run").stdout
    other = make_table(200, task="regression", random_state=8)
    name = next(name for name, values in other.items() if isinstance(values[0], float) and name != "price")
    other[name] = [None if value is None else 1e6 + value for value in other[name]]
    moved = write_csv(other, tmp_path / "moved.csv")
    assert f"warning: {name}: " in call("check", moved, "--against", houses / "run", code=3).stdout


def test_leave_one_out_tests_every_row_once(tmp_path):
    table = make_table(40, task="regression", random_state=5)
    data = write_csv(table, tmp_path / "data.csv")
    call("fit", data, "--target", "price", "--models", "ridge", "--cv", "loo", "--out", tmp_path / "run", "--quiet")
    assert len(set(read(tmp_path / "run" / "predictions.csv")["fold"])) == 40


def test_metrics_agree_in_board_and_report(customers):
    """The area under the ROC curve is the mean over folds, on the board and below it."""
    record = record_of(customers)
    row = next(row for row in record["board"] if row["name"] == record["best"])
    figure = next(figure for figure in record["figures"] if figure["name"] == "roc_auc")
    assert (figure["value"], figure["low"], figure["high"]) == (row["score"], row["low"], row["high"])
    assert figure["method"].startswith("mean over folds")


def make_ring(n=300):
    """Two classes, one inside a ring of the other: no line parts them."""
    random = np.random.default_rng(0)
    x, y = random.uniform(-1.0, 1.0, (2, n))
    inside = x**2 + y**2 + 0.1 * random.standard_normal(n) < 0.5
    return {"x": x.tolist(), "y": y.tolist(), "inside": np.where(inside, "yes", "no").tolist()}


def test_expansions_are_tried_on_nonlinear_data(tmp_path):
    data = write_csv(make_ring(160), tmp_path / "rings.csv")
    call("fit", data, "--target", "inside", "--time", "10m", "--out", tmp_path / "run", "--quiet")
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in record["board"]}
    assert rows["logistic-splines"]["score"] > rows["logistic"]["score"] + 0.1
    assert rows["ridge-classifier-products"]["certified"] is True
    assert any("not linear" in note for note in record["notes"])
    assert rows["neighbours-classifier"]["chosen"].keys() == {"n_neighbors", "weights", "scale"}


@pytest.mark.parametrize("model", ["logistic-products", "gaussian-process-classes"])
def test_expansion_and_kernel_are_saved_and_reproduced(tmp_path, model):
    data = write_csv(make_ring(120), tmp_path / "rings.csv")
    args = ("--target", "inside", "--models", model, "--out", tmp_path / "run", "--quiet")
    call("fit", data, *args)
    call("predict", tmp_path / "run", data, "-o", tmp_path / "out.csv", "--proba")
    (tmp_path / "again").mkdir()
    for path in (data, tmp_path / "run" / "reproduce.py"):
        shutil.copy(path, tmp_path / "again")
    run_script("reproduce.py", cwd=tmp_path / "again")
    assert read(tmp_path / "again" / "predictions.csv") == read(tmp_path / "run" / "predictions.csv")
    assert "allowed" in call("certify", tmp_path / "run", data).output


def test_headline_when_the_challenger_is_best(tmp_path):
    data = write_csv(make_ring(160), tmp_path / "rings.csv")
    call("fit", data, "--target", "inside", "--models", "lda,gradient-boosting", "--out", tmp_path / "run", "--quiet")
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert record["board"][0]["name"] == "gradient-boosting"
    assert record["lead"].startswith("gradient-boosting (scikit-learn's, not tuned) is ahead of all of ours")
    assert "The best of ours is lda" in record["lead"]
