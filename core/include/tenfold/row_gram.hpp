// Gram matrix of the rows, K = A A' with a_ij = root_i (x_ij - centre_j), for wide data (n < p). It is the Gram matrix
// of A', whose rows are the columns of X: a tile packs 128 of them.
#pragma once

#include "tenfold/gram_dense_tile.hpp"

namespace tenfold {

// The columns of X as rows: row k holds x_0k, x_1k, ...
template <class T> struct TransposedRows {
  using Value = T;
  Dense<T> x;
  const double *centre; // of each column of X
};

// design.unit holds the square roots of the sample weights.
template <class T>
void pack_features(const Design<TransposedRows<T>> &design, const GramShape &shape, Index begin, Index count,
                   const double *, double *panels, Index stride) {
  const Dense<T> &x = design.x.x;
  const double *centre = design.x.centre + begin;
  for (Index i = 0; i < shape.features; ++i) {
    const T *row = x.data + i * x.columns + begin;
    const double root = design.unit[i];
    double *to = panels + i / shape.panel * stride + i % shape.panel;
    for (Index k = 0; k < count; ++k)
      to[k * shape.panel] = (static_cast<double>(row[k]) - centre[k]) * root;
  }
}

// Writes K (n x n), both triangles. Every entry is summed in column order, whatever the threads. Flops: n^2 p.
template <class T>
void row_gram(const Dense<T> &x, std::span<const double> centre, std::span<const double> root, int threads,
              std::span<double> out) {
  const GramShape shape{x.rows, 0, kernels().panel};
  const TransposedRows<T> columns{x, centre.data()};
  Design<TransposedRows<T>> design(columns, nullptr, nullptr, shape);
  std::copy(root.begin(), root.end(), design.unit.data());
  Buffer blocks(shape.size());
  gram_wide<DenseTile>(
      design, shape, {0, x.columns}, [](Index, Index count, double *ones) { std::fill_n(ones, count, 1.0); }, threads,
      blocks.data());
  to_symmetric(shape, blocks.data(), x.rows, nullptr, 0.0, threads, out.data());
}

} // namespace tenfold
