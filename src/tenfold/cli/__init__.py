"""The command line: from a table to a leaderboard, a report and a saved model."""

import sys

NEEDED = ("click", "jinja2", "polars", "rich")


def main() -> None:
    """Run `tenfold`; name packages of the command line that are missing."""
    try:
        from tenfold.cli.commands import tenfold
    except ModuleNotFoundError as missing:
        if missing.name not in NEEDED:
            raise
        sys.exit(f"The command line needs {missing.name}, which is not installed: pip install 'tenfold[cli]'.")
    tenfold(prog_name="tenfold")
