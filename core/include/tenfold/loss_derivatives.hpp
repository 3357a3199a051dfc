// Value, gradient and Hessian of a sum of losses, in one pass over the samples.
//
// Given X (n x p), y (n x t), weights (or none), coef (t x p), intercept (t), a shift of X (or none) and a loss, with
// margins z_ik = (x_i - shift) . coef_k + intercept_k, returns for each target k
//   value = sum w loss(y, z)    slope = sum w loss'(y, z)    gradient = sum w loss'(y, z) (x - shift)      (order >= 1)
// and for order 2, one target: hessian = sum w loss''(y, z) [x - shift; 1][x - shift; 1]'.
// A tile of rows is read from memory once for margins, losses, gradient and packing of the Gram product. (A Hessian too
// wide for partial sums takes a second pass.) Flops: 4 n p t, and n (p + 1)^2 for order 2; bytes: X once.
#pragma once

#include "tenfold/gram_tile_choice.hpp"
#include "tenfold/matvec_active.hpp"
#include "tenfold/row_groups.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

struct Derivatives {
  double weight = 0.0;
  std::vector<double> value;    // (t)
  std::vector<double> slope;    // (t)
  std::vector<double> gradient; // (t, p), empty for order 0
  std::vector<double> hessian;  // (p + 1, p + 1), empty below order 2
};

// The point of evaluation. Empty weight: ones; empty shift: zeros.
template <class Rows> struct Point {
  const Rows &x;
  std::span<const double> y;
  std::span<const double> weight;
  std::span<const double> coef;
  std::span<const double> intercept;
  std::span<const double> shift;
  Loss loss;
  double parameter;

  Index targets() const { return static_cast<Index>(intercept.size()); }
};

// Tile buffers of one thread: targets one after the other, each padded to whole SIMD vectors.
struct LossTile {
  LossTile(Index rows, Index targets)
      : step((rows + lanes - 1) / lanes * lanes), y(step * targets), z(step * targets), u(step * targets), weight(step),
        curvature(step) {}

  Index step;
  Buffer y, z, u, weight, curvature;
};

// Layout of the partial sums: value (t), slope (t), weight, gradient (t p), blocks of the Hessian.
struct DerivativeSums {
  Index targets, columns, blocks;

  Index slope() const { return targets; }
  Index weight() const { return 2 * targets; }
  Index gradient() const { return (2 * targets + 1 + lanes - 1) / lanes * lanes; }
  Index hessian() const { return gradient() + (targets * columns + lanes - 1) / lanes * lanes; }
  Index size() const { return hessian() + blocks; }
};

// Margins, losses and gradient of rows begin ... begin + count, added to partial sums. coef in the layout of
// matvec_tile.
template <class Rows>
void add_losses(const Point<Rows> &point, const double *coef, const ActiveColumns &active, int order, Index begin,
                Index count, LossTile &tile, const DerivativeSums &layout, double *sums) {
  const Index t = point.targets();
  const double *shift = point.shift.empty() ? nullptr : point.shift.data();
  const LossKernel loss = kernels().losses[static_cast<int>(point.loss)];
  if (point.weight.empty())
    std::fill_n(tile.weight.data(), count, 1.0);
  else
    std::copy_n(point.weight.data() + begin, count, tile.weight.data());
  std::fill_n(tile.weight.data() + count, tile.step - count, 0.0);
  for (Index i = 0; i < count; ++i)
    sums[layout.weight()] += tile.weight[i];
  for (Index k = 0; k < t; ++k)
    for (Index i = 0; i < count; ++i)
      tile.y[k * tile.step + i] = point.y.data()[(begin + i) * t + k];
  if constexpr (requires { active.matvec(point.x, begin, count, shift, tile.z.data(), tile.step); })
    if (active.is_worthwhile())
      active.matvec(point.x, begin, count, point.intercept.data(), tile.z.data(), tile.step);
    else
      matvec_tile(point.x, begin, count, coef, t, shift, point.intercept.data(), tile.z.data(), 1, tile.step);
  else
    matvec_tile(point.x, begin, count, coef, t, shift, point.intercept.data(), tile.z.data(), 1, tile.step);
  for (Index k = 0; k < t; ++k)
    loss(tile.y.data() + k * tile.step, tile.z.data() + k * tile.step, tile.weight.data(), point.parameter, count,
         sums + k, sums + layout.slope() + k, tile.u.data() + k * tile.step,
         order == 2 ? tile.curvature.data() : nullptr);
  if (order >= 1)
    matvec_t_tile(point.x, begin, count, tile.u.data(), t, 1, tile.step, shift, sums + layout.gradient());
}

template <class Tile, class Rows>
Derivatives derivatives_with(const Point<Rows> &point, int order, const GramShape &shape, int threads) {
  const Rows &x = point.x;
  const Index n = x.rows, p = x.columns, t = point.targets();
  const bool wide = order == 2 && is_wide(shape), fused = order == 2 && !wide;
  check_weights(point.weight);
  const TransposedCoef turned = transpose_coef(x, point.coef, t, threads);
  const double *coef = turned.empty() ? point.coef.data() : turned.data();
  const ActiveColumns active(point.coef, t, point.shift);

  Design<Rows> design(x, nullptr, nullptr, shape);
  std::copy(point.shift.begin(), point.shift.end(), design.centre.data());
  const DerivativeSums layout{t, order >= 1 ? p : 0, fused ? shape.size() : 0};
  const Index tile_length = fused ? gram_rows : tile_rows(x);
  const double work = (2.0 * row_work(x) + 4.0) * static_cast<double>(t) + (fused ? gram_work(x, shape) : 0.0);
  const Index most = fused ? n / min_partition_rows + 1 : (order == 0 ? max_partitions : max_partitions_for(x));
  const Index partitions = partition_count(n, work, std::min(most, max_partitions));
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<LossTile> loss_tiles;
  std::vector<Tile> gram_tiles;
  for (int w = 0; w < workers; ++w) {
    loss_tiles.emplace_back(tile_length, t);
    if (fused)
      gram_tiles.emplace_back(shape);
  }
  Buffer sums(partitions * layout.size());
  Buffer roots(wide ? n : 0);

  parallel(partitions, workers, [&](Index partition, int worker) {
    LossTile &tile = loss_tiles[static_cast<std::size_t>(worker)];
    double *local = sums.data() + partition * layout.size();
    const Range range = partition_range(n, partitions, partition);
    for (Index i = range.begin; i < range.end; i += tile_length) {
      const Index count = std::min(tile_length, range.end - i);
      add_losses(point, coef, active, order, i, count, tile, layout, local);
      if (order < 2)
        continue;
      double *root = wide ? roots.data() + i : tile.curvature.data();
      for (Index r = 0; r < count; ++r)
        root[r] = std::sqrt(tile.curvature[r]);
      if (fused) {
        Tile &gram = gram_tiles[static_cast<std::size_t>(worker)];
        gram.clear();
        gram.pack(design, i, count, root);
        gram.multiply_all(design, i + count, range.end, local + layout.hessian());
      }
    }
  });
  merge_partitions(sums.data(), partitions, layout.size(), layout.size(), threads);

  Derivatives out;
  out.weight = sums[layout.weight()];
  out.value.assign(sums.data(), sums.data() + t);
  out.slope.assign(sums.data() + layout.slope(), sums.data() + layout.slope() + t);
  if (order >= 1)
    out.gradient = to_targets_major(x, sums.data() + layout.gradient(), t);
  if (order == 2) {
    Buffer blocks(wide ? shape.size() : 0);
    if (wide)
      gram_wide<Tile>(
          design, shape, {0, n},
          [&](Index begin, Index count, double *root) { std::copy_n(roots.data() + begin, count, root); }, threads,
          blocks.data());
    out.hessian.resize(static_cast<std::size_t>((p + 1) * (p + 1)));
    to_symmetric(shape, wide ? blocks.data() : sums.data() + layout.hessian(), p + 1, nullptr, 0.0, threads,
                 out.hessian.data());
  }
  return out;
}

template <class Rows> Derivatives derivatives(const Point<Rows> &point, int order, int threads) {
  const GramShape shape{point.x.columns, 0, kernels().panel};
  Derivatives out;
  with_tile(point.x, shape,
            [&]<class Tile>(std::type_identity<Tile>) { out = derivatives_with<Tile>(point, order, shape, threads); });
  return out;
}

} // namespace tenfold
