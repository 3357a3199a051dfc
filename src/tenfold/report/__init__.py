"""A run as one page: HTML with inline pictures, made from the run's record alone."""

from tenfold.report.page import page as page
