"""Embeddings of distances: beside scikit-learn's, certificates, bad input."""

import numpy as np
import pytest
import sklearn.manifold
import sklearn.neighbors
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import squareform
from sklearn.datasets import make_swiss_roll

from tenfold import PCA, ClassicalMDS, Isomap, NearestNeighbors, certify
from tenfold.judge.geodesics import path_error

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4)) * [3.0, 2.0, 1.0, 0.5]


class TestClassicalMDS:
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", lambda x, z: float(np.abs(x - z).max())])
    def test_beside_scikit_learn(self, metric):
        ours, other = (library(3, metric=metric).fit(X) for library in (ClassicalMDS, sklearn.manifold.ClassicalMDS))
        np.testing.assert_allclose(ours.embedding_, other.embedding_, atol=1e-9)
        np.testing.assert_allclose(ours.eigenvalues_, other.eigenvalues_, rtol=1e-10)
        np.testing.assert_allclose(ours.dissimilarity_matrix_, other.dissimilarity_matrix_, atol=1e-7)
        assert ours.certificate_.ok
        assert certify(ours, X).ok
        assert certify(other, X).ok

    def test_principal_components(self):
        np.testing.assert_allclose(
            np.abs(ClassicalMDS(3).fit_transform(X)), np.abs(PCA(3).fit_transform(X)), atol=1e-10
        )

    def test_given_distances(self):
        model = ClassicalMDS(2).fit(X)
        given = ClassicalMDS(2, metric="precomputed").fit(model.dissimilarity_matrix_)
        np.testing.assert_allclose(given.embedding_, model.embedding_)
        assert certify(given, model.dissimilarity_matrix_).ok
        assert not certify(given, model.dissimilarity_matrix_ * 1.01).ok

    def test_distances_of_points_in_the_space_are_kept(self):
        Z = ClassicalMDS(4).fit_transform(X)
        np.testing.assert_allclose(
            squareform(np.linalg.norm(Z[:, None] - Z, axis=2), checks=False),
            squareform(np.linalg.norm(X[:, None] - X, axis=2), checks=False),
            atol=1e-10,
        )

    def test_many_samples_by_block_lanczos(self):
        Y = rng.standard_normal((1200, 5)) * np.linspace(3.0, 1.0, 5)
        model = ClassicalMDS(2).fit(Y)
        np.testing.assert_allclose(np.abs(model.embedding_), np.abs(PCA(2).fit_transform(Y)), atol=1e-6)
        assert model.certificate_.ok

    def test_more_coordinates_than_dimensions(self):
        model = ClassicalMDS(6).fit(X)
        assert (model.eigenvalues_[4:] == 0.0).all()
        assert (model.embedding_[:, 4:] == 0.0).all()
        assert model.certificate_.ok
        assert certify(model, X).ok
        model.embedding_[3, 5] = 1e-3
        assert not certify(model, X).ok

    def test_distances_of_no_space(self):
        D = np.ones((5, 5)) - np.eye(5)
        D[0, 1] = D[1, 0] = 10.0
        with pytest.raises(ValueError, match="significant negative eigenvalues"):
            ClassicalMDS(5, metric="precomputed").fit(D)

    def test_matrix_that_is_not_symmetric(self):
        with pytest.raises(ValueError, match="symmetric"):
            ClassicalMDS(metric="precomputed").fit(np.triu(np.ones((4, 4))))

    def test_left_out_coordinate_is_found(self):
        model = ClassicalMDS(4).fit(X)
        model.n_components = 2
        model.embedding_, model.eigenvalues_ = model.embedding_[:, 1:3], model.eigenvalues_[1:3]
        assert not certify(model, X).ok


ROLL = make_swiss_roll(300, random_state=0)[0]
SETTINGS = {
    "neighbours": {"n_neighbors": 10},
    "radius": {"n_neighbors": None, "radius": 5.0},
    "three coordinates": {"n_neighbors": 12, "n_components": 3, "path_method": "D", "eigen_solver": "dense"},
    "manhattan": {"n_neighbors": 10, "metric": "manhattan"},
    "Minkowski": {"n_neighbors": 10, "p": 3, "neighbors_algorithm": "brute"},
}


class TestIsomap:
    @pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
    def test_beside_scikit_learn(self, settings):
        ours, other = (library(**settings).fit(ROLL) for library in (Isomap, sklearn.manifold.Isomap))
        np.testing.assert_allclose(ours.dist_matrix_, other.dist_matrix_, rtol=1e-12)
        np.testing.assert_allclose(ours.embedding_, other.embedding_, atol=1e-6)
        np.testing.assert_allclose(ours.transform(ROLL[:9] + 0.1), other.transform(ROLL[:9] + 0.1), atol=1e-6)
        assert ours.reconstruction_error() == pytest.approx(other.reconstruction_error(), rel=1e-6)
        assert ours.certificate_.ok
        assert certify(ours, ROLL).ok
        assert certify(other, ROLL).ok

    @pytest.mark.filterwarnings("ignore:Changing the sparsity structure")
    def test_graph_in_several_parts(self):
        apart = np.concatenate([ROLL[:100], ROLL[100:200] + 200.0, ROLL[200:] - 200.0])
        with pytest.warns(UserWarning, match="is 3 > 1"):
            ours = Isomap().fit(apart)
        with pytest.warns(UserWarning, match="is 3 > 1"):
            other = sklearn.manifold.Isomap().fit(apart)
        np.testing.assert_allclose(ours.dist_matrix_, other.dist_matrix_, rtol=1e-12)
        assert certify(ours, apart).ok

    def test_given_distances(self):
        D = np.linalg.norm(ROLL[:, None] - ROLL, axis=2)
        ours, other = (
            library(n_neighbors=10, metric="precomputed").fit(D) for library in (Isomap, sklearn.manifold.Isomap)
        )
        np.testing.assert_allclose(ours.embedding_, other.embedding_, atol=1e-6)
        assert certify(ours, D).ok
        two = np.array([0.0, 1.0, 2.1, 3.3, 4.6, 50.0, 51.0, 52.1, 53.3, 54.6])[:, None]
        few = NearestNeighbors(n_neighbors=4).fit(two).kneighbors_graph(two, mode="distance")
        with pytest.raises(RuntimeError, match="cannot be completed"):
            Isomap(n_neighbors=2, metric="precomputed").fit(few)

    def test_sparse_and_single_precision(self):
        thin = sparse.random_array((80, 20), density=0.3, rng=0, format="csr")
        dense = Isomap(n_neighbors=30).fit(thin.toarray())
        np.testing.assert_allclose(Isomap(n_neighbors=30).fit(thin).embedding_, dense.embedding_, atol=1e-6)
        single = Isomap(n_neighbors=10).fit(ROLL.astype(np.float32))
        assert single.embedding_.dtype == single.transform(ROLL.astype(np.float32)).dtype == np.float32
        assert single.certificate_.ok
        assert certify(single, ROLL.astype(np.float32)).ok

    def test_samples_at_one_place(self):
        twice = np.repeat(ROLL[:60], 2, axis=0)
        model = Isomap(n_neighbors=12).fit(twice)
        assert model.certificate_.ok
        assert certify(model, twice).ok
        np.testing.assert_allclose(model.embedding_[::2], model.embedding_[1::2], atol=1e-6)

    def test_index_and_components_of_another_model_are_found(self):
        for name in ("nbrs_", "kernel_pca_", "dist_matrix_"):
            model, other = Isomap(n_neighbors=10).fit(ROLL), Isomap(n_neighbors=11).fit(ROLL)
            setattr(model, name, getattr(other, name))
            assert not certify(model, ROLL).ok, name

    def test_both_kinds_of_neighbours(self):
        with pytest.raises(ValueError, match="Both n_neighbors and radius are provided"):
            Isomap(radius=1.0).fit(ROLL)

    def test_fewer_samples_than_neighbours(self):
        with pytest.raises(ValueError, match="n_neighbors"):
            Isomap(n_neighbors=10).fit(ROLL[:5])


class TestPathError:
    graph = NearestNeighbors(n_neighbors=6).fit(ROLL).kneighbors_graph(mode="distance")
    D = shortest_path(graph, directed=False)

    def test_shortest_paths(self):
        assert path_error(self.D, self.graph) < 1e-14

    @pytest.mark.parametrize("change", [1e-6, -1e-6])
    def test_one_length_that_is_changed(self, change):
        worse = self.D.copy()
        worse[3, 70] = worse[70, 3] = worse[3, 70] * (1.0 + change)
        assert path_error(worse, self.graph) > 1e-9

    def test_all_lengths_that_are_scaled_or_of_another_graph(self):
        assert path_error(0.999 * self.D, self.graph) > 1e-6
        other = NearestNeighbors(n_neighbors=7).fit(ROLL).kneighbors_graph(mode="distance")
        assert path_error(self.D, other) > 1e-6

    def test_cycle_of_length_zero(self):
        graph = sparse.csr_array(
            (np.array([1.0, 1.0, 0.0, 0.0]), (np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))), shape=(3, 3)
        )
        D = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        assert path_error(D, graph) == 0.0
        assert path_error(0.5 * D, graph) > 0.1


def test_isomap_on_a_graph_of_neighbours_and_within_any_radius():
    X, _ = make_swiss_roll(60, random_state=0)
    graph = sklearn.neighbors.KNeighborsTransformer(n_neighbors=10, mode="distance").fit_transform(X)
    chained = Isomap(n_neighbors=10, metric="precomputed").fit_transform(graph)
    np.testing.assert_allclose(chained, Isomap(n_neighbors=10).fit_transform(X), rtol=1e-6, atol=1e-8)
    flat = Isomap(n_neighbors=None, radius=np.inf).fit(X)
    np.testing.assert_allclose(flat.dist_matrix_, np.linalg.norm(X[:, None] - X, axis=2), rtol=1e-7)
