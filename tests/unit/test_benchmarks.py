"""The benchmark program: what it lists, measures, judges and writes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_score

import tenfold

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import __main__, data, floors, page, process, quality, routes, run, scaling, sweep, table  # noqa: E402


def report(ours=0.1, sklearn=1.0, peer=0.5, shortfall=None, aim=5.0, ok=True):
    """A finished report of one row with the given seconds."""

    def entry(name, seconds, **more):
        judged = {"kind": "gap", "value": 1e-9, "allowed": 1e-6, "ok": ok, "objective": 1.0}
        common = {"status": "ok", "note": "", "first": seconds, "spread": [seconds, seconds], "memory": 1.0}
        return common | {"name": name, "seconds": seconds, "repetitions": 3, "quality": judged} | more

    contenders = [entry(table.OURS, ours), entry(table.SKLEARN, sklearn, shortfall=shortfall), entry("peer", peer)]
    work = {"flops": 1e9, "bytes": 1e6, "words": "one product"}
    row = {"row": "a row", "status": "measured", "aim": aim, "work": work, "contenders": contenders}
    ceilings = {"dgemm_gflops": 100.0, "read_gbytes": 10.0, "disk_gbytes": 1.0}
    run._finish(row, ceilings)
    machine = {"processor": "a processor", "threads": 2, "python": "3.11", "quick": False}
    imports = {name: {"seconds": 1.0, "version": "1.0"} for name in table.MODULES}
    return {"date": "2000-01-01", "machine": machine, "imports": imports, "ceilings": ceilings, "rows": [row]}


def test_list_names_the_rows(capsys):
    assert __main__.main(["--list", "--only", "ridge sparse 50k"]) == 0
    assert capsys.readouterr().out == "ridge sparse 50k x 100k\n"


def test_rows_have_distinct_names_and_a_pattern_without_rows_raises(capsys):
    assert len({row.name for row in table.ROWS}) == len(table.ROWS)
    with pytest.raises(SystemExit):
        __main__.main(["--only", "no such row"])
    assert "--list names them all" in capsys.readouterr().err


@pytest.mark.slow
def test_quick_run_of_one_row_gives_every_field_and_the_page(tmp_path):
    result, written = tmp_path / "out.json", tmp_path / "page.md"
    command = [sys.executable, "-m", "benchmarks"]
    measure = [*command, "--quick", "--only", "tiny ridge", "--json", str(result)]
    subprocess.run(measure, cwd=ROOT, check=True, capture_output=True)
    returned = json.loads(result.read_text())
    assert returned["ceilings"].keys() == {"dgemm_gflops", "read_gbytes", "disk_gbytes"}
    (row,) = returned["rows"]
    ours, reference = row["contenders"][:2]
    for entry in (ours, reference):
        assert entry["status"] == "ok", entry
        assert entry["spread"][0] <= entry["seconds"] <= entry["spread"][1]
        assert entry["first"] > 0
        assert entry["memory"] >= 0
        assert entry["quality"]["ok"] is True
    assert ours["certificate"]["ok"] is True
    assert row["ratios"]["scikit_learn"] == reference["seconds"] / ours["seconds"]
    subprocess.run([*command, "--page", str(result), "--page-to", str(written)], cwd=ROOT, check=True)
    assert "| tiny ridge 100 x 5 |" in written.read_text()
    assert "these numbers mean nothing" in written.read_text()


def test_page_marks_the_rows_that_lose_and_keeps_them():
    assert "**loses**" not in page.render(report())
    assert "**loses**" in page.render(report(peer=0.05))
    assert "**loses**" in page.render(report(sklearn=0.09))
    assert "| short |" in page.render(report(sklearn=0.3))
    assert "| uncertified |" in page.render(report(ok=False))
    worse = report()
    for entry, error in zip(worse["rows"][0]["contenders"], (1.1, 1.0, 1.0), strict=True):
        entry["quality"]["choice_error"] = error
    assert page.verdict(worse["rows"][0]) == "worse choice"
    assert "≥ 10x" in page.render(report(shortfall="objective 2.4e-02 above the optimum (relative)"))


def test_ratios_are_taken_from_the_run_that_reaches_our_quality():
    result = report(shortfall="objective too high")["rows"][0]
    tightened = result["contenders"][1] | {"name": "tighter", "seconds": 3.0, "shortfall": None}
    result["contenders"].append(tightened | {"instead_of": table.SKLEARN})
    run._finish(result, {"dgemm_gflops": 100.0, "read_gbytes": 10.0})
    assert result["reference"] == "tighter"
    assert result["ratios"]["scikit_learn"] == pytest.approx(30)
    assert result["best_peer"] == "peer"
    assert result["ratios"]["floor"] == pytest.approx(10)


def test_a_row_that_nobody_else_reads_has_no_ratios_but_that_to_the_floor():
    result = report()
    del result["rows"][0]["contenders"][1:]
    run._finish(result["rows"][0], result["ceilings"])
    assert result["rows"][0]["ratios"] == {"scikit_learn": None, "best_peer": None, "floor": pytest.approx(10)}
    assert "| a row | – | – | 100 ms |" in page.render(result)


def test_sequences_are_cut_alike_and_their_tags_judged():
    row = next(row for row in table.ROWS if row.call == "sequences")
    X, y = row.make(*row.quick)
    sequences, tags = data.cut(X, y)
    assert X.shape[0] == sum(map(len, tags)) == len(y) == row.quick[0]
    assert {part.shape for part in sequences} == {(data.LENGTH, X.shape[1])}
    model = getattr(tenfold, row.estimator)(**row.params).fit(sequences, tags)
    fitted = {name: getattr(model, f"{name}_") for name in ("coef", "transition", "start", "end")}
    judged = quality.judge(row, X, y, fitted)
    assert judged["objective"] == pytest.approx(1.0 - model.score(sequences, tags), abs=1e-12)


@pytest.mark.parametrize("row", [row for row in table.ROWS if row.call == "read and fit"], ids=lambda row: row.name)
def test_rows_of_files_are_written_in_pieces_and_judged(row, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    files, _ = row.make(*row.quick)
    files = replace(files, piece=700)
    size = data.save(tmp_path, files, None)
    assert size == sum(path.stat().st_size for path in (tmp_path / "rows").iterdir()) > 0
    assert len(list((tmp_path / "rows").iterdir())) == 5
    X, y = data.load(tmp_path)
    assert y is None
    assert X.shape == files.shape
    np.testing.assert_array_equal(X.load(), np.concatenate([part for part, _ in files.pieces()]))
    model = getattr(tenfold, row.estimator)(**row.params).fit(X)
    fitted = {"coef": model.coef_, "intercept": model.intercept_}
    judged = quality.judge(row, X, None, fitted | ({"alpha": model.alpha_} if hasattr(model, "alpha_") else {}))
    assert judged["ok"]
    assert judged["objective"] == pytest.approx(quality._objective(row, X.load(), X.y, fitted | judged), rel=1e-12)


def test_models_of_files_that_have_no_weights_are_judged_as_they_are(tmp_path):
    pytest.importorskip("pyarrow")
    row = next(row for row in table.ROWS if row.call == "read, fit and keep")
    files, _ = row.make(*row.quick)
    data.save(tmp_path, replace(files, piece=700), None)
    measured = process.measure(row.name, table.OURS, {}, str(tmp_path), str(tmp_path / "kept.npz"))
    assert measured["status"] == "ok"
    X, _ = data.load(tmp_path)
    with np.load(tmp_path / "kept.npz") as kept:
        assert quality.judge(row, X, None, dict(kept))["ok"]


def test_neighbours_in_files_are_queried_and_judged(tmp_path):
    pytest.importorskip("pyarrow")
    row = next(row for row in table.ROWS if row.call == "fit and ask files")
    files, _ = row.make(*row.quick)
    data.save(tmp_path, replace(files, piece=700), None)
    measured = process.measure(row.name, table.OURS, {}, str(tmp_path), str(tmp_path / "kept.npz"))
    assert measured["status"] == "ok"
    X, _ = data.load(tmp_path)
    model = tenfold.NearestNeighbors(**row.params).fit(X)
    result, own = model.kneighbors(data.questions(X)), tenfold.NearestNeighbors(**row.params).fit(X.load())
    for there, here in zip(result, own.kneighbors(data.questions(X).to_numpy()), strict=True):
        np.testing.assert_array_equal(there, here)


def test_joined_reports_take_the_later_measurement_of_a_row():
    early, late = report(ours=1.0), report(ours=0.2)
    (row,) = page.join([early, late])["rows"]
    assert row["contenders"][0]["seconds"] == 0.2


def test_rows_that_were_not_measured_again_stay_on_the_page():
    before = page.render(report(sklearn=0.3))
    late = report(ours=0.2)
    late["rows"][0]["row"], late["machine"]["processor"], late["date"] = "another row", "a faster one", "2001-01-01"
    written = page.render(late, before)
    assert page.render(late, written) == written
    for line in (*before.splitlines(), *page.render(late).splitlines()):
        assert not line.startswith("| a") or line in written
    said = "- **a row**: one product; our gap 1.0e-09 (allowed 1.0e-06); measured on a processor, 2000-01-01."
    assert said in written
    assert "over 2 rows: **3.9**. Rows: 1 short, 1 ahead." in written
    again = report()
    assert page.render(again, written).count("a row**") == 1
    assert "measured on a processor" not in page.render(again, written)


def test_a_peer_is_short_when_its_objective_is_above_the_proved_bound():
    ours = {"kind": "gap", "objective": 1.0, "value": 1e-9, "allowed": 1e-7}
    assert quality.shortfall(ours, ours | {"objective": 1.0 + 0.5e-7, "value": 1e-3}) is None
    assert "above the optimum" in quality.shortfall(ours, ours | {"objective": 1.024, "value": 1.0})
    residual = ours | {"kind": "residual"}
    assert quality.shortfall(residual, residual | {"value": 2e-7}) is not None
    assert quality.shortfall(residual, residual | {"value": 0.9e-7}) is None


def test_a_worse_choice_of_alpha_is_a_shortfall():
    ours = {"alpha": 1.0, "choice_error": 2.0}
    assert quality.shortfall(ours, {"alpha": 3.0, "choice_error": 2.0}) is None
    assert "chose alpha 3" in quality.shortfall(ours, {"alpha": 3.0, "choice_error": 2.001})


@pytest.mark.parametrize("size", [(40, 5), (20, 30)])
def test_errors_of_a_choice_equal_refitting(size):
    X, y = data.regression(*size)
    for method, splitter in ((quality._leave_one_out, LeaveOneOut()), (quality._folds, KFold(5))):
        scores = cross_val_score(Ridge(alpha=2.0), X, y, cv=splitter, scoring="neg_mean_squared_error")
        assert method(X, y, 2.0) == pytest.approx(-scores.mean(), rel=1e-10)


def test_objective_is_least_at_the_reference_solution():
    X, y = data.classes(200, 4)
    row = table.named("tiny logistic 100 x 5")
    model = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    best = quality._objective(row, X, y, {"coef": model.coef_, "intercept": model.intercept_})
    for shift in (1e-3, -1e-3):
        assert quality._objective(row, X, y, {"coef": model.coef_ + shift, "intercept": model.intercept_}) > best
        assert quality._objective(row, X, y, {"coef": model.coef_, "intercept": model.intercept_ + shift}) > best


@pytest.mark.parametrize("row", [row for row in table.ROWS if "sparse" in row.name or row.size == table.TINY])
def test_data_are_the_same_after_saving_and_loading(row, tmp_path):
    try:
        X, y = row.make(*row.quick)
    except FileNotFoundError as reason:
        pytest.skip(str(reason))
    data.save(tmp_path, X, y)
    again, target = data.load(tmp_path)
    assert (again != X).sum() == 0
    np.testing.assert_array_equal(target, y)


def test_every_floor_is_positive_and_bounded_by_the_slower_ceiling():
    size = floors.Size(rows=1000, columns=50, targets=1, stored=50_000, bytes=400_000, alphas=10)
    for row in table.ROWS:
        if row.floor is not None:
            work = row.floor(size)
            slow = work.seconds({"dgemm_gflops": 1.0, "read_gbytes": 1.0, "disk_gbytes": 1.0})
            assert slow == max(work.flops, work.bytes) / 1e9 > 0


def test_peak_memory_sees_an_allocation():
    """In a process of its own: one that has had more before has its peak behind it."""
    code = (
        "import numpy as np\nfrom benchmarks import process\nbefore = process._peak()\n"
        "block = np.ones(64 << 20, dtype=np.uint8)\nassert process._peak() - before > 48"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


def test_a_missing_library_is_absent_and_a_late_process_is_late(tmp_path, monkeypatch):
    assert run.Settings(timeout=0.01).process("ceilings", quick=True)["status"] == "late"
    monkeypatch.setitem(table.MODULES, table.INTELEX, "no_such_library")
    result = process.measure("tiny ridge 100 x 5", table.INTELEX, {}, str(tmp_path), "")
    assert result == {"status": "absent", "note": "No module named 'no_such_library'"}


def test_sweep_times_both_libraries_and_judges_both():
    family = sweep.Family("Ridge", "linear_model", (sweep.Data("60 x 4", sweep.regression(60, 4)),), {"alpha": 2.0})
    case = sweep.measure(family, family.data[0])
    assert case.label == "60 x 4 (alpha=2.0)"
    assert min(case.ours, case.sklearn, case.first) > 0.0
    assert case.ours_ok
    assert case.sklearn_ok


def test_sweep_draws_sparse_samples_of_the_density():
    X, y = sweep.regression(200, 50, density=0.1)(np.random.default_rng(0))
    assert X.nnz == 1000
    assert y.shape == (200,)


def test_sweep_draws_every_family_and_names_classes_of_both_libraries():
    for family in sweep.families():
        assert hasattr(tenfold, family.name), family.name
        assert len({data.label for data in family.data}) == len(family.data), family.name


def test_sweep_page_lists_the_worst_first():
    case = {"name": "Ridge", "ours": 1.0, "first": 1.0, "ours_ok": True}
    slow = case | {"label": "wide", "sklearn": 0.5, "sklearn_ok": True, "ratio": 0.5}
    fast = case | {"label": "tall", "sklearn": 8.0, "sklearn_ok": None, "ratio": 8.0}
    page = sweep.render([fast, slow], "a machine")
    assert "scikit-learn / ours: **2.0**" in page
    assert "Of 1 cases where both fits are certified, 1 are slower" in page
    assert page.index("| 0.50 | Ridge | wide |") < page.index("| 8.00 | Ridge | tall |")


def test_routes_of_every_choice_can_be_forced():
    for choice in routes.CHOICES:
        module, _, function = choice.selector.rpartition(".")
        assert callable(getattr(__import__(module, fromlist=[function]), function))
        assert choice.estimator in tenfold.ESTIMATORS


def test_routes_times_the_choice_and_each_route_that_is_certified():
    ridge = next(choice for choice in routes.CHOICES if choice.name == "ridge")
    case = routes.measure(ridge, "60 x 4", sweep.regression(60, 4), 0)
    assert set(case.routes) == {"Gram matrix", "dual", "conjugate gradients"}
    assert case.ratio >= 1.0
    assert "60 x 4" in str(case)


def test_routes_names_the_shapes_where_another_route_is_faster():
    said = []
    slow = routes.Case("ridge", "60 x 4", 1.0, {"dual": 0.1})
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(routes, "measure", lambda *_: slow)
        routes.run("ridge", 2, said.append)
    assert said[2].startswith("2 shapes; in 2 another route")
    assert "10.00  ridge" in said[3]


def test_scaling_times_a_class_and_takes_the_exponent_of_the_last_doublings():
    assert scaling.measure(scaling.Row("Ridge", sweep.regression, 80, 4), 40) > 0.0
    assert scaling.exponent([1.0, 1.0, 1.0, 4.0, 16.0, 64.0]) == pytest.approx(2.0)


def test_scaling_names_classes_that_exist_and_draws_their_samples():
    for row in scaling.ROWS:
        assert hasattr(tenfold, row.name)
        assert row.make(20, row.features)(np.random.default_rng(0))[0].shape == (20, row.features)


def test_scaling_page_has_a_column_for_each_number_of_threads():
    page = scaling.render({"Ridge 80 x 4": ([0.4, 0.2], [0.1] * 6)}, "a machine").splitlines()
    assert page[-1].startswith("| Ridge 80 x 4 | 400.0 ms | 2.0 |")
    assert page[-1].count("|") == page[-3].count("|")
