// The judge's pass over a bisection: of every split, one step of Lloyd on the samples below it.
//
// Given nodes (N x p) of a binary tree with children after their parents, and for every sample the leaf it is said to
// belong to, the samples below a node are those of the leaves below it. With c_0, c_1 the children of an inner node and
// t_i the nearer of them, the first of equals, by sums of squared differences in float64 (of sparse samples by products
// about zero), returns for its children
//   weight_t = sum w over t_i = t,   sums_t = sum w (x_i - (c_0 + c_1) / 2),
// and for the node energy = sum w |x_i - c_t_i|^2; for all, the energy sum w |x_i - leaf_i|^2, and how many samples
// have at some node their own child further than the other by more than `slack` times rounding. Flops: 4 p a sample and
// level, and 2 p for the sums; bytes: X once.
#pragma once

#include "tenfold/kmeans_assign.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct Bisection {
  std::span<const double> nodes;       // (N, p)
  std::span<const std::int64_t> left;  // (N), below zero for leaves
  std::span<const std::int64_t> right; // (N)
  std::span<const std::int64_t> leaf;  // (n), the node of each sample
};

struct BisectionSums {
  std::vector<double> weight, sums, energy; // (N), (N, p), (N)
  double leaves = 0.0;                      // the energy of the leaves
  Index astray = 0;
};

// The size of the terms of which two squared distances are made.
template <class T> double terms_of_squares(const Dense<T> &, Index, double d0, double d1, double) {
  return 0.5 * (d0 + d1);
}
template <class T, class I>
double terms_of_squares(const Sparse<T, I> &x, Index i, double, double, double squares_of_centres) {
  return row_access(x).squared_norm(i) + squares_of_centres;
}

// Sums of sparse samples are about zero, and are moved.
template <class T> void about_middle(const Dense<T> &, BisectionSums &, Index, const double *) {}
template <class T, class I>
void about_middle(const Sparse<T, I> &x, BisectionSums &out, Index child, const double *middle) {
  for (Index j = 0; j < x.columns; ++j)
    out.sums[static_cast<std::size_t>(child * x.columns + j)] -=
        out.weight[static_cast<std::size_t>(child)] * middle[j];
}

template <class Rows>
BisectionSums bisection_sums(const Rows &x, std::span<const double> weight, const Bisection &tree, double slack,
                             int threads) {
  check_weights(weight);
  constexpr double roundoff = 1.1102230246251565e-16;
  const Index p = x.columns, count = static_cast<Index>(tree.left.size());
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  const CentresFloat32 centres = [&] {
    CentresFloat32 plain(tree.nodes, count, p);
    plain.measure();
    return plain;
  }();
  // the inner nodes above each node with the child on the path, and the middle of the children of each
  std::vector<std::vector<std::pair<Index, Index>>> above(at(count));
  std::vector<double> middle(at(count * p));
  for (Index node = 0; node < count; ++node)
    if (const Index l = tree.left[at(node)], r = tree.right[at(node)]; l >= 0) {
      for (const Index child : {l, r}) {
        above[at(child)] = above[at(node)];
        above[at(child)].emplace_back(node, child);
      }
      for (Index j = 0; j < p; ++j)
        middle[at(node * p + j)] = 0.5 * (centres.at(l)[j] + centres.at(r)[j]);
    }
  const Index size = count * (p + 2) + 2, stride = (size + lanes - 1) / lanes * lanes;
  const Index slots = assign_slots(x, count, stride);
  const double unit = slack * 4.0 * static_cast<double>(p + 8) * roundoff;
  Buffer sums(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = partition_range(x.rows, slots, slot);
    double *own = sums.data() + slot * stride, *weights = own + count * p, *energies = weights + count;
    double *totals = energies + count;
    for (Index i = range.begin; i < range.end; ++i) {
      const double w = weight.empty() ? 1.0 : weight[at(i)];
      const Index leaf = tree.leaf[at(i)];
      bool lost = false;
      for (const auto &[node, child] : above[at(leaf)]) {
        const Index l = tree.left[at(node)], r = tree.right[at(node)];
        const double d0 = distance_to(x, i, centres, l), d1 = distance_to(x, i, centres, r);
        const double further = child == l ? d0 - d1 : d1 - d0;
        const double squares = centres.squares[at(l)] + centres.squares[at(r)];
        lost = lost || !(further <= unit * terms_of_squares(x, i, d0, d1, squares));
        if (w > 0.0) {
          const Index to = d1 < d0 ? r : l;
          weights[to] += w, energies[node] += w * std::min(d0, d1);
          add_to(x, i, w, middle.data() + node * p, own + to * p);
        }
      }
      totals[0] += w > 0.0 ? w * distance_to(x, i, centres, leaf) : 0.0;
      totals[1] += lost ? 1.0 : 0.0;
    }
  });
  merge_partitions(sums.data(), slots, stride, stride, threads);
  const double *all = sums.data(), *weights = all + count * p, *energies = weights + count;
  BisectionSums out{{weights, energies},
                    {all, weights},
                    {energies, energies + count},
                    energies[count],
                    static_cast<Index>(energies[count + 1])};
  for (Index node = 0; node < count; ++node)
    for (const Index child : {tree.left[at(node)], tree.right[at(node)]})
      if (child >= 0)
        about_middle(x, out, child, middle.data() + node * p);
  return out;
}

} // namespace tenfold
