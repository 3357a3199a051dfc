// Online k-means (MacQueen 1967): each sample moves its nearest centre towards itself.
//
// For the samples in order, with w the weight of a sample and k its nearest centre in float64, the first of equals:
//   n_k <- n_k + w,   c_k <- c_k + (w / n_k) (x - c_k),
// so that a centre is the running mean of its samples; where n_k starts at zero, its first sample replaces it. Samples
// of weight zero are skipped. The loop is sequential: one thread. Flops: 3 n p k; bytes: X once.
#pragma once

#include "tenfold/nearest_centre_float32.hpp"
#include "tenfold/row_access.hpp"

namespace tenfold {

template <class T> void towards(const Dense<T> &x, Index row, double share, double *centre) {
  const T *values = x.data + row * x.columns;
  for (Index j = 0; j < x.columns; ++j)
    centre[j] += share * (static_cast<double>(values[j]) - centre[j]);
}
template <class T, class I> void towards(const Sparse<T, I> &x, Index row, double share, double *centre) {
  for (Index j = 0; j < x.columns; ++j)
    centre[j] -= share * centre[j];
  row_access(x).axpy(row, share, centre);
}

// `centres` (k, p) and `counts` (k) are updated in place.
template <class Rows>
void online_kmeans(const Rows &x, std::span<const double> weight, std::span<double> centres, std::span<double> counts) {
  const auto k = static_cast<Index>(counts.size()), p = x.columns;
  CentresFloat32 c(centres, k, p);
  c.measure();
  for (Index i = 0; i < x.rows; ++i) {
    const double w = weight.empty() ? 1.0 : weight.data()[i];
    if (w == 0.0)
      continue;
    const Index own = nearest_centre_float64(x, i, c);
    double *centre = centres.data() + own * p;
    counts.data()[own] += w;
    towards(x, i, w / counts.data()[own], centre);
    double square = 0.0;
    for (Index j = 0; j < p; ++j)
      square += centre[j] * centre[j];
    c.squares[static_cast<std::size_t>(own)] = square;
  }
}

} // namespace tenfold
