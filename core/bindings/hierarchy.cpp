#include "bindings.hpp"

#include "tenfold/graph_linkage.hpp"
#include "tenfold/linkage_verify.hpp"
#include "tenfold/merge_tree.hpp"
#include "tenfold/minimum_spanning_tree.hpp"
#include "tenfold/nn_chain.hpp"

namespace tenfold {
namespace {

using Changed = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::span<double> square_of(const Changed &matrix) {
  require(matrix.shape(0) == matrix.shape(1), "distances must be a square matrix");
  return {matrix.data(), matrix.size()};
}

Linkage linkage_of(int code) {
  require(code >= 0 && code <= 4, "no such linkage");
  return static_cast<Linkage>(code);
}

auto give_tree(MergeTree tree) {
  const auto merges = static_cast<Index>(tree.heights.size());
  return std::make_tuple(give<std::int64_t, 2>(std::move(tree.children), {merges, 2}),
                         give<double, 1>(std::move(tree.heights), {merges}));
}

auto tree_of(Index n, const Merges &merges) {
  return give_tree(build_merge_tree(n, merges.first, merges.second, merges.height));
}

template <class Clusters> auto chain(Clusters &clusters) {
  const Index n = clusters.slots();
  Merges merges;
  {
    const nb::gil_scoped_release release;
    merges = nn_chain(clusters);
  }
  return tree_of(n, merges);
}

template <class Source> auto span(Source &source) {
  Merges merges;
  {
    const nb::gil_scoped_release release;
    merges = minimum_spanning_tree(source);
  }
  return tree_of(source.samples(), merges);
}

void check_edges(Index n, const In<std::int64_t, 1> &first, const In<std::int64_t, 1> &second) {
  bool good = first.shape(0) == second.shape(0);
  for (const In<std::int64_t, 1> *ends : {&first, &second})
    for (const std::int64_t end : ends->span())
      good = good && end >= 0 && end < n;
  require(good, "edges must join two of the samples");
}

auto link_graph(Index n, const In<std::int64_t, 1> &first, const In<std::int64_t, 1> &second,
                const In<double, 1> &distance, const In<double, 2> &points, int linkage, Index clusters) {
  check_edges(n, first, second);
  const Linkage kind = linkage_of(linkage);
  const bool centroids = kind == Linkage::ward || kind == Linkage::centroid;
  require(kind != Linkage::single, "single linkage is the spanning tree of the edges");
  require(clusters >= 1 && clusters <= n, "there must be 1 to n clusters");
  require(centroids ? points.shape(0) == n : distance.shape(0) == first.shape(0), "points or distances are missing");
  {
    UnionFind parts(n);
    Index count = n;
    for (Index e = 0; e < first.shape(0); ++e) {
      const std::int64_t a = parts.find(first.data()[e]), b = parts.find(second.data()[e]);
      if (a != b)
        parts.join(a, b), --count;
    }
    require(count <= clusters, "the graph has more parts than clusters are asked for");
  }
  MergeTree tree;
  {
    const nb::gil_scoped_release release;
    GraphLinkage links(n, first.span(), second.span(), distance.span(), {points.data(), n, points.shape(1)}, kind,
                       clusters);
    tree = links.run();
  }
  return give_tree(std::move(tree));
}

template <class Clusters> auto verify(Clusters &clusters, Index n, const In<std::int64_t, 2> &slots, int linkage) {
  bool good = slots.shape(1) == 2;
  for (Index e = 0; good && e < slots.shape(0); ++e)
    good = slots.data()[2 * e] != slots.data()[2 * e + 1];
  for (const std::int64_t slot : slots.span())
    good = good && slot >= 0 && slot < n;
  require(good, "slots must be pairs of different samples");
  LinkageVerification result;
  {
    const nb::gil_scoped_release release;
    result = verify_linkage(clusters, n, slots.span(), linkage_of(linkage));
  }
  return std::make_tuple(give<double, 1>(std::move(result.heights), {slots.shape(0)}),
                         give<double, 1>(std::move(result.shortfalls), {slots.shape(0)}));
}

} // namespace

void bind_hierarchy(nb::module_ &m) {
  m.def(
      "link_matrix",
      [](const Changed &distances, int linkage) {
        const Linkage kind = linkage_of(linkage);
        require(kind == Linkage::complete || kind == Linkage::average || kind == Linkage::ward,
                "chains need a reducible linkage");
        const std::span<double> matrix = square_of(distances);
        MatrixClusters clusters(matrix, static_cast<Index>(distances.shape(0)), kind);
        return chain(clusters);
      },
      nb::arg("distances").noconvert(), nb::arg("linkage"),
      "The tree of distances, which are overwritten: (children, heights); of squares for Ward.");
  m.def(
      "link_points",
      [](const In<double, 2> &points) {
        CentroidClusters clusters({points.data(), points.shape(0), points.shape(1)});
        return chain(clusters);
      },
      nb::arg("points"), "Ward's tree of points: (children, squared heights).");
  m.def(
      "span_matrix",
      [](const In<double, 2> &distances) {
        require(distances.shape(0) == distances.shape(1), "distances must be a square matrix");
        MatrixRows source({distances.data(), distances.shape(0), distances.shape(1)});
        return span(source);
      },
      nb::arg("distances"), "The minimum spanning tree as a tree of merges: (children, heights).");
  m.def(
      "span_points",
      [](const In<double, 2> &points) {
        SquaredDistances source({points.data(), points.shape(0), points.shape(1)});
        return span(source);
      },
      nb::arg("points"), "The Euclidean minimum spanning tree of points: (children, squared heights).");
  m.def(
      "span_edges",
      [](Index n, const In<std::int64_t, 1> &first, const In<std::int64_t, 1> &second, const In<double, 1> &distance) {
        check_edges(n, first, second);
        require(distance.shape(0) == first.shape(0), "every edge needs a distance");
        return give_tree(build_merge_tree(n, first.span(), second.span(), distance.span()));
      },
      nb::arg("n"), nb::arg("first"), nb::arg("second"), nb::arg("distance"),
      "The minimum spanning forest of a graph as a tree of merges: (children, heights).");
  m.def("link_graph", &link_graph, nb::arg("n"), nb::arg("first"), nb::arg("second"), nb::arg("distance"),
        nb::arg("points"), nb::arg("linkage"), nb::arg("clusters"),
        "The tree of merges along the edges of a graph: (children, heights), squared for Ward and centroids.");
  m.def(
      "verify_matrix",
      [](const Changed &distances, const In<std::int64_t, 2> &slots, int linkage) {
        const std::span<double> matrix = square_of(distances);
        const auto n = static_cast<Index>(distances.shape(0));
        PairSums clusters(matrix, n, linkage_of(linkage));
        return verify(clusters, n, slots, linkage);
      },
      nb::arg("distances").noconvert(), nb::arg("slots"), nb::arg("linkage"),
      "Heights and shortfalls of merges by distances, which are overwritten; squared for Ward and centroids.");
  m.def(
      "verify_points",
      [](const In<double, 2> &points, const In<std::int64_t, 2> &slots, int linkage) {
        require(linkage_of(linkage) == Linkage::ward || linkage_of(linkage) == Linkage::centroid,
                "points are for Ward and centroids");
        PointSums clusters({points.data(), points.shape(0), points.shape(1)});
        return verify(clusters, points.shape(0), slots, linkage);
      },
      nb::arg("points"), nb::arg("slots"), nb::arg("linkage"), "Heights and shortfalls of merges by centroids.");
  m.def(
      "least_of_merges",
      [](const In<double, 2> &points, const In<std::int64_t, 1> &merge) {
        bool good = merge.shape(0) + 1 == points.shape(0);
        for (const std::int64_t number : merge.span())
          good = good && number >= 0 && number < merge.shape(0);
        require(good, "there must be the number of a merge between each two points");
        std::vector<double> least;
        {
          const nb::gil_scoped_release release;
          least = least_of_merges({points.data(), points.shape(0), points.shape(1)}, merge.span());
        }
        return give<double, 1>(std::move(least), {merge.shape(0)});
      },
      nb::arg("points"), nb::arg("merge"), "The least squared distance of the pairs that each merge brings together.");
}

} // namespace tenfold
