// Value and gradient of the multinomial logistic (softmax) loss, in one pass over the samples.
//
// Given X (n x p), class numbers y (n), weights (or none), coef (K x p), intercept (K), a shift of X (or none), with
// margins z_ik = (x_i - shift) . coef_k + intercept_k and p_ik = exp(z_ik) / sum_j exp(z_ij), returns
//   value = sum w (log sum_k exp(z_k) - z_y)    slope_k = sum w (p_k - [k = y])
//   gradient_k = sum w (p_k - [k = y]) (x - shift)                                                          (order 1)
// A tile of rows is read from memory once. Flops: 4 n p K and n K exponentials; bytes: X once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/row_groups.hpp"
#include "tenfold/tile_products.hpp"

#include <span>
#include <vector>

namespace tenfold {

struct SoftmaxSums {
  double weight = 0.0;
  double value = 0.0;
  std::vector<double> slope;    // (K)
  std::vector<double> gradient; // (K, p), empty for order 0
};

// The point of evaluation. Empty weight: ones; empty shift: zeros.
template <class Rows> struct SoftmaxPoint {
  const Rows &x;
  std::span<const double> y;
  std::span<const double> weight;
  std::span<const double> coef;
  std::span<const double> intercept;
  std::span<const double> shift;

  Index classes() const { return static_cast<Index>(intercept.size()); }
};

// Tile buffers of one thread: classes one after the other, each padded to whole SIMD vectors; and sample-major, the
// layout of CSR products.
struct SoftmaxTile {
  SoftmaxTile(Index rows, Index classes)
      : step((rows + lanes - 1) / lanes * lanes), y(step), weight(step), z(step * classes), u(step * classes),
        side_by_side(step * classes) {}

  Index step;
  Buffer y, weight, z, u, side_by_side;
};

template <class T>
void margins_of_tile(const Dense<T> &x, Index begin, Index count, const double *coef, const double *shift,
                     std::span<const double> intercept, SoftmaxTile &tile) {
  matvec_tile(x, begin, count, coef, static_cast<Index>(intercept.size()), shift, intercept.data(), tile.z.data(), 1,
              tile.step);
}
template <class T, class I>
void margins_of_tile(const Sparse<T, I> &x, Index begin, Index count, const double *coef, const double *shift,
                     std::span<const double> intercept, SoftmaxTile &tile) {
  const Index K = static_cast<Index>(intercept.size());
  matvec_tile(x, begin, count, coef, K, shift, intercept.data(), tile.side_by_side.data(), K, 1);
  for (Index k = 0; k < K; ++k)
    for (Index i = 0; i < count; ++i)
      tile.z[k * tile.step + i] = tile.side_by_side[i * K + k];
}

template <class T>
void gradient_of_tile(const Dense<T> &x, Index begin, Index count, Index classes, const double *shift,
                      SoftmaxTile &tile, double *g) {
  matvec_t_tile(x, begin, count, tile.u.data(), classes, 1, tile.step, shift, g);
}
template <class T, class I>
void gradient_of_tile(const Sparse<T, I> &x, Index begin, Index count, Index classes, const double *shift,
                      SoftmaxTile &tile, double *g) {
  for (Index k = 0; k < classes; ++k)
    for (Index i = 0; i < count; ++i)
      tile.side_by_side[i * classes + k] = tile.u[k * tile.step + i];
  matvec_t_tile(x, begin, count, tile.side_by_side.data(), classes, classes, 1, shift, g);
}

// The sums of one partition, side by side: value, weight, slope (K), gradient (K p).
template <class Rows>
void add_softmax(const SoftmaxPoint<Rows> &point, const double *coef, int order, Index begin, Index count,
                 SoftmaxTile &tile, Index gradient_at, double *sums) {
  const double *shift = point.shift.empty() ? nullptr : point.shift.data();
  std::copy_n(point.y.data() + begin, count, tile.y.data());
  if (point.weight.empty())
    std::fill_n(tile.weight.data(), count, 1.0);
  else
    std::copy_n(point.weight.data() + begin, count, tile.weight.data());
  std::fill_n(tile.weight.data() + count, tile.step - count, 0.0);
  for (Index i = 0; i < count; ++i)
    sums[1] += tile.weight[i];
  margins_of_tile(point.x, begin, count, coef, shift, point.intercept, tile);
  kernels().softmax(tile.y.data(), tile.z.data(), tile.step, point.classes(), tile.weight.data(), count, sums, sums + 2,
                    tile.u.data());
  if (order >= 1)
    gradient_of_tile(point.x, begin, count, point.classes(), shift, tile, sums + gradient_at);
}

template <class Rows> SoftmaxSums softmax(const SoftmaxPoint<Rows> &point, int order, int threads) {
  const Rows &x = point.x;
  const Index n = x.rows, p = x.columns, K = point.classes();
  check_weights(point.weight);
  const TransposedCoef turned = transpose_coef(x, point.coef, K, threads);
  const double *coef = turned.empty() ? point.coef.data() : turned.data();
  const Index gradient_at = (K + 2 + lanes - 1) / lanes * lanes;
  const Index stride = gradient_at + (order >= 1 ? (K * p + lanes - 1) / lanes * lanes : 0);
  const Index tile_length = tile_rows(x);
  const double work = (2.0 * row_work(x) + 16.0) * static_cast<double>(K);
  const Index partitions = partition_count(n, work, order == 0 ? max_partitions : max_partitions_for(x));
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<SoftmaxTile> tiles;
  for (int w = 0; w < workers; ++w)
    tiles.emplace_back(tile_length, K);
  Buffer sums(partitions * stride);
  parallel(partitions, workers, [&](Index partition, int worker) {
    const Range range = partition_range(n, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile_length)
      add_softmax(point, coef, order, i, std::min(tile_length, range.end - i), tiles[static_cast<std::size_t>(worker)],
                  gradient_at, sums.data() + partition * stride);
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  SoftmaxSums out;
  out.value = sums[0];
  out.weight = sums[1];
  out.slope.assign(sums.data() + 2, sums.data() + 2 + K);
  if (order >= 1)
    out.gradient = to_targets_major(x, sums.data() + gradient_at, K);
  return out;
}

} // namespace tenfold
