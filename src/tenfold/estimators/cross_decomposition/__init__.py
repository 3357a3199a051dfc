"""Two blocks of columns of the same rows: canonical correlations and partial least squares."""
