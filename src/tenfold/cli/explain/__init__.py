"""Explanations of the best model and of the columns: the data of the report's sections beyond scores."""

from tenfold.cli.explain.column_profiles import profile_columns as profile_columns
from tenfold.cli.explain.explanation import SECONDS as SECONDS
from tenfold.cli.explain.explanation import explain as explain
from tenfold.cli.explain.explanation import explain_weights as explain_weights
from tenfold.cli.explain.groups import describe_groups as describe_groups
