"""Clusters with a centre each: k-means and its siblings."""

from tenfold.estimators.clusters.kmeans import KMeans

__all__ = ["KMeans"]
