"""Clusters with a centre each: k-means and its siblings."""
