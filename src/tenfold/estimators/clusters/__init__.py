"""Clusters with a centre each: k-means and its siblings."""

from tenfold.estimators.clusters.bisecting import BisectingKMeans
from tenfold.estimators.clusters.functions import k_means, kmeans_plusplus
from tenfold.estimators.clusters.kmeans import KMeans
from tenfold.estimators.clusters.minibatch import MiniBatchKMeans
from tenfold.estimators.clusters.online import OnlineKMeans

__all__ = ["BisectingKMeans", "KMeans", "MiniBatchKMeans", "OnlineKMeans", "k_means", "kmeans_plusplus"]
