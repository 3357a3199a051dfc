"""Clusters with a centre each: k-means and its siblings."""

from tenfold.estimators.kmeans.bisecting import BisectingKMeans
from tenfold.estimators.kmeans.functions import k_means, kmeans_plusplus
from tenfold.estimators.kmeans.kmeans import KMeans
from tenfold.estimators.kmeans.minibatch import MiniBatchKMeans
from tenfold.estimators.kmeans.online import OnlineKMeans

__all__ = ["BisectingKMeans", "KMeans", "MiniBatchKMeans", "OnlineKMeans", "k_means", "kmeans_plusplus"]
