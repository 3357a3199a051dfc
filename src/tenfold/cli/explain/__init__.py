"""What a run says of its best model and its columns beyond scores: the numbers behind the depth of the report."""

from tenfold.cli.explain.columns import profile_columns as profile_columns
from tenfold.cli.explain.entry import SECONDS as SECONDS
from tenfold.cli.explain.entry import explain as explain
from tenfold.cli.explain.entry import explain_weights as explain_weights
from tenfold.cli.explain.groups import describe_groups as describe_groups
