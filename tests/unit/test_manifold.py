"""Embeddings of distances: beside scikit-learn's, certificates, bad input."""

import copy

import numpy as np
import pytest
import sklearn.manifold
import sklearn.neighbors
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import squareform
from sklearn.datasets import make_swiss_roll
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression

from tenfold import MDS, PCA, ClassicalMDS, Isomap, NearestNeighbors, certify, smacof
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


def fit_mds(library=MDS, **settings):
    return library(**{"init": "random", "random_state": 0, **settings}).fit(X)


MDS_SETTINGS = {
    "metric": {},
    "order alone": {"metric_mds": False},
    "order alone, raw stress": {"metric_mds": False, "normalized_stress": False},
    "from classical scaling": {"init": "classical_mds", "n_components": 3},
    "several starts": {"n_init": 3},
    "several jobs": {"n_init": 2, "n_jobs": 2},
    "Stress-1": {"normalized_stress": True},
    "one coordinate": {"n_components": 1},
    "manhattan": {"metric": "manhattan"},
}


class TestMDS:
    @pytest.mark.parametrize("settings", MDS_SETTINGS.values(), ids=MDS_SETTINGS)
    def test_beside_scikit_learn(self, settings):
        ours, other = (fit_mds(library, **settings) for library in (MDS, sklearn.manifold.MDS))
        np.testing.assert_allclose(ours.embedding_, other.embedding_, atol=1e-8)
        assert ours.n_iter_ == other.n_iter_
        counts = settings.get("metric_mds", True)
        assert ours.stress_ == pytest.approx(other.stress_, rel=1e-8 if counts else 1e-4)
        assert ours.stress_ <= other.stress_ * (1 + 1e-9)
        assert ours.certificate_.ok
        assert certify(ours, X).ok
        assert certify(other, X).ok

    @pytest.mark.parametrize("metric", [True, False])
    def test_decrease_of_the_step_by_hand(self, metric):
        """Of the matrix B of the Guttman transform, and of scikit-learn's monotone regression."""
        model = fit_mds(metric_mds=metric, eps=1e-3)
        Z, D = model.embedding_, model.dissimilarity_matrix_
        upper = np.triu_indices(len(X), 1)

        def stress(points):
            d = np.linalg.norm(points[upper[0]] - points[upper[1]], axis=1)
            e = D[upper] if metric else IsotonicRegression().fit(D[upper], d).predict(D[upper])
            return np.sum((d - e) ** 2) / (1.0 if metric else np.sum(d**2)), d, e

        before, d, e = stress(Z)
        ratio = np.zeros_like(D)
        ratio[upper] = e / d
        ratio += ratio.T
        after, *_ = stress((np.diag(ratio.sum(axis=1)) - ratio) @ Z / len(Z))
        expected = (before - after) / (np.sum(d**2) if metric else 1.0)
        assert certify(model, X).parts[0] == pytest.approx(expected, rel=1e-6)
        assert expected > 0.0

    @pytest.mark.parametrize("scale", [1e-60, 1e-6, 1.0, 1e6, 1e60])
    @pytest.mark.parametrize("metric", [True, False])
    def test_units_and_offsets(self, scale, metric):
        settings = {"metric_mds": metric, "init": "classical_mds", "eps": 1e-7, "max_iter": 2000}
        one, other = MDS(**settings).fit(X), MDS(**settings).fit((X + 1e3) * scale)
        assert other.certificate_.ok
        np.testing.assert_allclose(
            np.abs(one.embedding_), np.abs(other.embedding_) / (scale if metric else 1.0), atol=1e-4
        )

    @pytest.mark.parametrize("metric", [True, False])
    def test_a_worse_configuration_is_not_certified(self, metric):
        model = fit_mds(metric_mds=metric)
        for change in (lambda Z: 1.01 * Z, lambda Z: Z[::-1], lambda Z: 0.0 * Z, lambda Z: Z + 0.05 * X[:, :2]):
            worse = copy.deepcopy(model)
            worse.embedding_ = np.ascontiguousarray(change(model.embedding_))
            assert not certify(worse, X).ok

    def test_iteration_limit_is_not_certified(self):
        with pytest.warns(ConvergenceWarning, match="iteration limit"):
            model = fit_mds(max_iter=3)
        assert model.n_iter_ == 3
        assert not certify(model, X).ok

    def test_points_that_coincide_rest_at_no_minimum(self):
        """Two samples at equal distances from all others, and not from each other, begin at one point."""
        D = fit_mds().dissimilarity_matrix_.copy()
        D[1, 2:], D[2:, 1] = D[0, 2:], D[2:, 0]
        start = np.random.default_rng(1).standard_normal((60, 2))
        start[1] = start[0]
        with pytest.warns(ConvergenceWarning, match="Points 0 and 1 coincide"):
            MDS(init="random", metric="precomputed").fit(D, init=start)
        with pytest.warns(ConvergenceWarning, match="All points coincide"):
            MDS(init="random", metric="precomputed").fit(D, init=0.0 * start)

    def test_equal_samples_and_missing_dissimilarities(self):
        twice = np.vstack([X, X[:10]])
        assert MDS(init="random", random_state=0).fit(twice).certificate_.ok
        D = fit_mds().dissimilarity_matrix_.copy()
        D[2, 3] = D[3, 2] = 0.0  # missing
        model = MDS(init="random", random_state=0, metric="precomputed", metric_mds=False).fit(D)
        assert certify(model, D).ok

    def test_one_sample(self):
        model = MDS(init="random", random_state=0, metric="precomputed").fit([[0.0]])
        assert model.embedding_.shape == (1, 2)
        assert model.stress_ == 0.0

    def test_given_start(self):
        start = fit_mds().embedding_
        model = MDS(init="random").fit(X, init=start)
        other = sklearn.manifold.MDS(init="random").fit(X, init=start)
        np.testing.assert_allclose(model.embedding_, other.embedding_, atol=1e-9)
        with pytest.warns(UserWarning, match="performing only one init"):
            MDS(init="random", n_init=2).fit(X, init=start)

    def test_function(self):
        D = fit_mds().dissimilarity_matrix_
        for settings in ({}, {"metric": False}, {"n_init": 2}, {"normalized_stress": True}):
            ours = smacof(D, random_state=0, return_n_iter=True, **settings)
            other = sklearn.manifold.smacof(D, random_state=0, return_n_iter=True, **settings)
            np.testing.assert_allclose(ours[0], other[0], atol=1e-8)
            assert ours[1] == pytest.approx(other[1], rel=1e-4)
            assert ours[2] == other[2]
        assert len(smacof(D, random_state=0)) == 2

    @pytest.mark.parametrize(
        ("settings", "given", "words"),
        [
            ({"metric": "precomputed"}, np.triu(np.ones((4, 4))), "symmetric"),
            ({"metric": "precomputed"}, X, "square"),
            ({"metric": "precomputed"}, -np.ones((3, 3)), "negative"),
            ({"metric": "cosine", "dissimilarity": "euclidean"}, X, "both"),
            ({"n_components": 0}, X, "n_components"),
            ({}, [[np.nan, 1.0]], "NaN"),
        ],
    )
    def test_bad_input(self, settings, given, words):
        with pytest.raises(ValueError, match=words):
            MDS(init="random", **settings).fit(given)
        with pytest.raises(ValueError, match="init matrix"):
            MDS(init="random").fit(X, init=X[:5, :2])

    def test_deprecated_parameters_warn_as_in_scikit_learn(self):
        for settings, words in (
            ({"init": "warn"}, "default value of `init`"),
            ({"init": "random", "dissimilarity": "euclidean"}, "dissimilarity"),
            ({"init": "random", "metric": False}, "Use metric_mds"),
        ):
            for library in (MDS, sklearn.manifold.MDS):
                with pytest.warns(FutureWarning, match=words):
                    model = library(random_state=0, **settings).fit(X)
                assert certify(model, X).ok
        with pytest.warns(UserWarning, match="square matrix"):
            MDS(init="random", random_state=0).fit(X[:4])
