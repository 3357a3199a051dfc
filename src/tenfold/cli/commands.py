"""The commands and their options. Implementations are imported when a command runs, so that `--help` is fast."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from tenfold import __version__

# exit codes: success, wrong usage, a problem with the data, out of time with results so far
EXIT_OK, EXIT_USAGE, EXIT_DATA, EXIT_TIME_OVER = 0, 2, 3, 4

TABLE = click.Path(path_type=Path, allow_dash=True)
RUN = click.Path(path_type=Path, exists=True, file_okay=False)


class Seconds(click.ParamType[float]):
    """A time: 90, 90s, 5m or 1h."""

    name = "time"
    units = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        number = text.rstrip("smh")
        try:
            seconds = float(number) * self.units[text[len(number) :]]
        except (KeyError, ValueError):
            seconds = -1.0
        if not 0.0 < seconds < float("inf"):
            self.fail(f"{value!r} is not a time: write 60s, 5m or 1h.", param, ctx)
        return seconds


class ColumnOption(click.ParamType[tuple[str, str]]):
    """A declaration about a column: COLUMN=WORDS."""

    name = "column=words"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):  # click may pass a converted value
            return value
        column, sign, words = str(value).rpartition("=")
        if not (sign and column and words):
            self.fail(f"{value!r} does not say what of which column: write it as column=words.", param, ctx)
        return column, words


def report_errors(command: Callable[..., int | None]) -> Callable[..., None]:
    """Wrap a command: errors in the data end it with a sentence and exit code 3; --debug shows the traceback."""

    @click.option("--debug", is_flag=True, help="Show tracebacks.")
    @wraps(command)
    def run(*args: Any, debug: bool, **kwargs: Any) -> None:
        try:
            code = command(*args, **kwargs)
        except click.ClickException:
            raise
        except BrokenPipeError:  # the reader of our output closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = EXIT_OK
        except KeyboardInterrupt:
            if debug:
                raise
            click.echo("tenfold: interrupted before there was a result.", err=True)
            code = EXIT_TIME_OVER
        except (ValueError, OSError, MemoryError) as problem:
            if debug:
                raise
            click.echo(f"tenfold: {_sentence(problem)}", err=True)
            code = EXIT_DATA
        sys.exit(code or EXIT_OK)

    return run


def let_threads_sleep() -> None:
    """Make waiting OpenMP threads sleep, before its library is loaded: on a shared machine spinning threads slow
    scikit-learn's boosting down by a factor of a hundred.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _sentence(problem: BaseException) -> str:
    if isinstance(problem, MemoryError):
        return f"out of memory. {problem} Drop columns (--drop), or give fewer rows.".replace("  ", " ")
    if isinstance(problem, OSError) and problem.strerror:
        where = f" ({problem.filename})" if problem.filename else ""
        return f"{problem.strerror[0].lower()}{problem.strerror[1:]}{where}."
    return str(problem)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="tenfold")
def tenfold() -> None:
    """From a table to a leaderboard, a report and a saved model.

    Shell completion: eval "$(_TENFOLD_COMPLETE=bash_source tenfold)", or zsh_source, fish_source.
    """


@tenfold.command()
@click.argument("data", type=TABLE)
@click.option("--target", metavar="COLUMN", help="What to predict. Without it: components, clusters, a mixture.")
@click.option("--task", type=click.Choice(["auto", "regression", "classification"]), default="auto", show_default=True)
@click.option("--metric", default="auto", show_default=True, help="What ranks the models: auto, or a figure's name.")
@click.option("--time", "time_limit", type=Seconds(), default="60s", show_default=True, help="When to stop: 60s, 5m.")
@click.option("--models", default="fast", show_default=True, help="fast, all, or names separated by commas.")
@click.option("--cv", default="auto", show_default=True, help="auto, loo, or a number of outer folds.")
@click.option("--group", metavar="COLUMN", help="Rows that share its value stay together in folds.")
@click.option("--weight", metavar="COLUMN", help="Weights of the rows.")
@click.option("--time-column", metavar="COLUMN", help="Test what comes after what trains.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option(
    "--type",
    "types",
    type=ColumnOption(),
    multiple=True,
    metavar="COLUMN=KIND",
    help="A column is a number, count, category, boolean, date, text or identifier; may be repeated.",
)
@click.option(
    "--ordinal",
    type=ColumnOption(),
    multiple=True,
    metavar="COLUMN=LOW,...,HIGH",
    help="The levels of a column in order, the lowest first; may be repeated.",
)
@click.option(
    "--missing",
    type=ColumnOption(),
    multiple=True,
    metavar="COLUMN=VALUE,...",
    help="Values of a column that mean missing, such as -999; may be repeated.",
)
@click.option("--test", type=TABLE, help="Another table, to predict and, if it has the target, to score.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default="run",
    show_default=True,
    help="The folder of the results; an earlier run in it is replaced.",
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the record as JSON instead of the table.")
@click.option("--quiet", is_flag=True, help="No progress.")
@report_errors
def fit(**options: Any) -> int:
    """Compare all suitable methods on a table by nested cross-validation, and keep the best."""
    begin = perf_counter()
    let_threads_sleep()
    from tenfold.cli.fitting import run

    return run(begin=begin, **options)


@tenfold.command()
@click.argument("run", type=RUN)
@click.argument("data", type=TABLE)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="A CSV file; else standard output."
)
@click.option("--proba", is_flag=True, help="Probabilities of the classes, too.")
@click.option(
    "--interval", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="An interval of this coverage."
)
@report_errors
def predict(run: Path, data: Path, output: Path | None, proba: bool, interval: float | None) -> int:
    """Predict the rows of a new table by the model of a run."""
    from tenfold.cli.run_commands import predict as work

    return work(run, data, output, proba=proba, interval=interval)


@tenfold.command()
@click.argument("run", type=RUN)
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@report_errors
def report(run: Path, show: bool) -> int:
    """Write the page of a run again, and print where it is."""
    from tenfold.cli.run_commands import report as work

    return work(run, show=show)


@tenfold.command()
@click.argument("run", type=RUN)
@click.argument("data", type=TABLE)
@report_errors
def certify(run: Path, data: Path) -> int:
    """Certify the saved model again on its data."""
    from tenfold.cli.run_commands import certify as work

    return work(run, data)


@tenfold.command()
@click.argument("data", type=TABLE)
@click.option("--target", metavar="COLUMN", help="Describe its task as well, and columns that may leak it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@report_errors
def info(data: Path, target: str | None, as_json: bool) -> int:
    """Describe a table: types of columns, missing values, decisions."""
    from tenfold.cli.run_commands import info as work

    return work(data, target, as_json=as_json)


@tenfold.command()
@click.argument("data", type=TABLE)
@click.option("--against", type=RUN, required=True, help="The run whose table this one should be like.")
@report_errors
def check(data: Path, against: Path) -> int:
    """Test a new table against the one of a run: ranges, categories, missing values, drift."""
    from tenfold.cli.run_commands import check as work

    return work(data, against)


@tenfold.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default="build/demo", show_default=True)
@click.option("--quiet", is_flag=True, help="No progress.")
@report_errors
def demo(out: Path, quiet: bool) -> int:
    """Fit a table that comes with the package, as `tenfold fit` does."""
    let_threads_sleep()
    from tenfold.cli.fitting import demo as work

    return work(out, quiet=quiet)
