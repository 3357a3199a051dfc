"""The report of a run: one HTML page with inline SVG, rendered from the run's record alone."""

from tenfold.report.rendering import page as page
