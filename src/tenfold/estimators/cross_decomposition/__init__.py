"""Two blocks of features of the same samples: canonical correlations and partial least squares."""
