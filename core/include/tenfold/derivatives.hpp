// Value, gradient and Hessian of a sum of losses, in one pass over the rows.
//
// Given X (n x p), y (n x t), weights (or none), coef (t x p), intercept (t), a shift of X (or none) and a loss, with
// margins z_ik = (x_i - shift) . coef_k + intercept_k, returns for each target k
//   value = sum w loss(y, z)    slope = sum w loss'(y, z)    gradient = sum w loss'(y, z) (x - shift)      (order >= 1)
// and for order 2, one target: hessian = sum w loss''(y, z) [x - shift; 1][x - shift; 1]'.
// A tile of rows goes from memory to cache once: margins, losses, gradient, packing for the Gram product.
// Flops: 4 n p t, and n (p + 1)^2 for order 2; bytes: X once.
#pragma once

#include "tenfold/gram.hpp"
#include "tenfold/selection.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

enum class Loss { square, logistic };

struct Derivatives {
  double weight = 0.0;
  std::vector<double> value;    // (t)
  std::vector<double> slope;    // (t)
  std::vector<double> gradient; // (t, p), empty for order 0
  std::vector<double> hessian;  // (p + 1, p + 1), empty below order 2
};

template <class Rows> struct Point {
  const Rows &x;
  std::span<const double> y;
  std::span<const double> weight;
  std::span<const double> coef;
  std::span<const double> intercept;
  std::span<const double> shift;
  Loss loss;
};

namespace derivatives_detail {

// What one thread needs beside the sums of its slot. Rows are padded to whole vectors.
template <class Rows> struct Scratch {
  Scratch(Index tile, Index targets, int order, const GramShape &shape)
      : step((tile + lanes - 1) / lanes * lanes), y(step * targets), z(step * targets), u(step * targets), weight(step),
        curvature(step), gram(order == 2 ? GramTile<Rows>(shape) : GramTile<Rows>()) {}

  Index step;
  Buffer y, z, u, weight, curvature;
  GramTile<Rows> gram;
};

// The sums of one slot, side by side: value (t), slope (t), gradient (t p), blocks of the Hessian.
struct Layout {
  Index targets, columns, blocks;
  Index gradient_at() const { return (2 * targets + lanes - 1) / lanes * lanes; }
  Index blocks_at() const { return gradient_at() + (targets * columns + lanes - 1) / lanes * lanes; }
  Index size() const { return blocks_at() + blocks; }
};

template <class Rows>
void load_tile(const Point<Rows> &point, Index begin, Index count, Index targets, Scratch<Rows> &scratch) {
  for (Index i = 0; i < scratch.step; ++i)
    scratch.weight[i] = i >= count             ? 0.0
                        : point.weight.empty() ? 1.0
                                               : point.weight[static_cast<std::size_t>(begin + i)];
  for (Index k = 0; k < targets; ++k)
    for (Index i = 0; i < count; ++i)
      scratch.y[k * scratch.step + i] = point.y[static_cast<std::size_t>((begin + i) * targets + k)];
}

} // namespace derivatives_detail

template <class Rows> Derivatives derivatives(const Point<Rows> &point, int order, int threads) {
  using namespace derivatives_detail;
  const Rows &x = point.x;
  const Index p = x.columns, t = static_cast<Index>(point.intercept.size());
  const Kernels &k = kernels();
  const LossKernel loss = point.loss == Loss::square ? k.square : k.logistic;
  check_weights(point.weight);

  std::vector<double> turned;
  const double *coef = point.coef.data();
  if (!targets_first(x) && t > 1) {
    turned.resize(point.coef.size());
    transpose(coef, t, p, turned.data());
    coef = turned.data();
  }
  const double *shift = point.shift.empty() ? nullptr : point.shift.data();

  const GramShape shape{p, 0, k.panel};
  const auto padded = static_cast<std::size_t>((p + shape.panel) / shape.panel * shape.panel);
  Design<Rows> design{x, nullptr, nullptr, {}, {}, {}, {}};
  if (order == 2) {
    design.x_unit.assign(padded, 1.0);
    design.x_centre.assign(padded, 0.0);
    std::copy(point.shift.begin(), point.shift.end(), design.x_centre.begin());
  }

  const Index tile = order == 2 ? gram_rows : tile_rows(x);
  const double work = row_work(x) * static_cast<double>(2 * t) +
                      (order == 2 ? static_cast<double>(shape.size()) / 4.0 : 4.0 * static_cast<double>(t));
  const Layout layout{t, p, order == 2 ? shape.size() : 0};
  const Index most = order == 2 ? std::clamp<Index>((Index{1} << 22) / shape.size(), 1, 16) : most_slots_for(x);
  const Index slots = slot_count(x.rows, work, most);
  const int workers = static_cast<int>(std::min<Index>(std::max(1, threads), slots));
  std::vector<Scratch<Rows>> scratches(static_cast<std::size_t>(workers), Scratch<Rows>(tile, t, order, shape));
  Buffer sums(slots * layout.size());

  parallel(slots, workers, [&](Index slot, int worker) {
    Scratch<Rows> &s = scratches[static_cast<std::size_t>(worker)];
    double *own = sums.data() + slot * layout.size();
    const Range range = slot_range(x.rows, slots, slot);
    for (Index i = range.begin; i < range.end; i += tile) {
      const Index count = std::min(tile, range.end - i);
      check(x, i, count);
      load_tile(point, i, count, t, s);
      margins(x, i, count, coef, t, shift, point.intercept.data(), s.z.data(), 1, s.step);
      for (Index target = 0; target < t; ++target)
        loss(s.y.data() + target * s.step, s.z.data() + target * s.step, s.weight.data(), count, own + target,
             own + t + target, s.u.data() + target * s.step, order == 2 ? s.curvature.data() : nullptr);
      if (order >= 1)
        gradient(x, i, count, s.u.data(), t, 1, s.step, shift, own + layout.gradient_at());
      if (order == 2) {
        for (Index r = 0; r < count; ++r)
          s.curvature[r] = std::sqrt(s.curvature[r]);
        s.gram.push(design, i, count, s.curvature.data(), own + layout.blocks_at(), range.end);
      }
    }
    if (order == 2)
      s.gram.flush(own + layout.blocks_at());
  });
  merge_slots(sums.data(), slots, layout.size(), layout.size(), threads);

  Derivatives out;
  for (const double w : point.weight)
    out.weight += w;
  if (point.weight.empty())
    out.weight = static_cast<double>(x.rows);
  out.value.assign(sums.data(), sums.data() + t);
  out.slope.assign(sums.data() + t, sums.data() + 2 * t);
  if (order >= 1) {
    const double *g = sums.data() + layout.gradient_at();
    out.gradient.resize(static_cast<std::size_t>(t * p));
    if (targets_first(x) || t == 1)
      std::copy(g, g + t * p, out.gradient.data());
    else
      transpose(g, p, t, out.gradient.data());
  }
  if (order == 2) {
    const double *blocks = sums.data() + layout.blocks_at();
    const Index q = p + 1;
    out.hessian.resize(static_cast<std::size_t>(q * q));
    for (Index j = 0; j < q; ++j)
      for (Index i = 0; i <= j; ++i)
        out.hessian[static_cast<std::size_t>(i * q + j)] = out.hessian[static_cast<std::size_t>(j * q + i)] =
            blocks[shape.at(i, j)];
  }
  return out;
}

} // namespace tenfold
