#include "bindings.hpp"
#include "sparse.hpp"

#include "tenfold/bisection_sums.hpp"

namespace tenfold {
namespace {

using Numbers = In<std::int64_t, 1>;

// Raises where a child does not come after its parent, or a leaf is none.
void check_tree(const Numbers &left, const Numbers &right, const Numbers &leaf) {
  const Index count = left.shape(0);
  const auto is_child = [&](Index node, Index child) { return child > node && child < count; };
  for (Index node = 0; node < count; ++node) {
    const Index l = left.span()[static_cast<std::size_t>(node)], r = right.span()[static_cast<std::size_t>(node)];
    require((l < 0 && r < 0) || (is_child(node, l) && is_child(node, r)), "children must come after their parents");
  }
  for (const std::int64_t node : leaf.span())
    require(node >= 0 && node < count && left.span()[static_cast<std::size_t>(node)] < 0, "leaf must number leaves");
}

template <class Rows>
auto sums_of_rows(const Rows &x, const Maybe<double, 1> &weight, const In<double, 2> &nodes, const Numbers &left,
                  const Numbers &right, const Numbers &leaf, double slack, int threads) {
  const Index count = nodes.shape(0), p = x.columns;
  require(nodes.shape(1) == p && count >= 1, "nodes must be (N, columns of X), with N above zero");
  require(left.shape(0) == count && right.shape(0) == count, "left and right must have one entry a node");
  require(leaf.shape(0) == x.rows, "leaf must have one entry a row");
  require(!weight || weight->shape(0) == x.rows, "weight must have one entry a row");
  require(indices_in_range(x), "an index of the sparse rows is not a column");
  check_tree(left, right, leaf);
  const int workers = checked_threads(threads);
  BisectionSums out;
  {
    const nb::gil_scoped_release release;
    const Bisection tree{nodes.span(), left.span(), right.span(), leaf.span()};
    out = bisection_sums(x, span_or_none(weight), tree, slack, workers);
  }
  return std::make_tuple(give<double, 1>(std::move(out.weight), {count}),
                         give<double, 2>(std::move(out.sums), {count, p}),
                         give<double, 1>(std::move(out.energy), {count}), out.leaves, out.astray);
}

constexpr const char *about =
    "Of every split of a tree, the weights of the samples nearest to its children, their sums about the middle of the "
    "two, and the energy; the energy of the leaves; and how many samples are further from the child they went to: "
    "(weight, sums, energy, leaves, astray).";

template <class T> void bind_dense(nb::module_ &m) {
  m.def(
      "bisection_sums",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 2> &nodes, const Numbers &left,
         const Numbers &right, const Numbers &leaf, double slack, int threads) {
        return sums_of_rows(Dense<T>{X.data(), X.shape(0), X.shape(1)}, weight, nodes, left, right, leaf, slack,
                            threads);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("nodes"), nb::arg("left"), nb::arg("right"), nb::arg("leaf"),
      nb::arg("slack"), nb::arg("threads"), about);
}

template <class T, class I> void bind_sparse(nb::module_ &m) {
  m.def(
      "bisection_sums_csr",
      [](const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index p, const Maybe<double, 1> &weight,
         const In<double, 2> &nodes, const Numbers &left, const Numbers &right, const Numbers &leaf, double slack,
         int threads) {
        const Compressed<T, I> rows(data, indices, indptr, p);
        return sums_of_rows(rows.view, weight, nodes, left, right, leaf, slack, threads);
      },
      nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("p"), nb::arg("weight").none(), nb::arg("nodes"),
      nb::arg("left"), nb::arg("right"), nb::arg("leaf"), nb::arg("slack"), nb::arg("threads"), about);
}

} // namespace

void bind_bisection(nb::module_ &m) {
  bind_dense<float>(m);
  bind_dense<double>(m);
  bind_sparse<float, std::int32_t>(m);
  bind_sparse<float, std::int64_t>(m);
  bind_sparse<double, std::int32_t>(m);
  bind_sparse<double, std::int64_t>(m);
}

} // namespace tenfold
