// Centred second moments of the samples by group: the statistics of least squares.
//
// Given X (n x p), y (n x t), weights (or none) and group numbers (or none), returns for every group g with
// W_g = sum of its weights, and for a shift and exponents e common to all groups,
//   z = 2^-e (x - shift),   offset_g = sum w z / W_g,
//   XX_g = sum w (z - offset_g)(z - offset_g)',   XY_g the same for X against y,   yy_g the diagonal for y.
// Samples of weight zero are skipped. The mean is shift + 2^e offset, never formed here: at a mean of 1e8 that would
// cost eight digits.
//
// Every group is accumulated about the mean of its first tile, as sum w z z' - (sum w z)(sum w z)' / W: a shift that is
// the mean of rows of the group keeps the cancellation below a factor of (rows of the group) / (rows of a tile).
// Exponents are zero unless a column's sum of squares leaves [1e-280, 1e280]; then the accumulation is repeated with
// exponents that bring the largest |z| of such columns to at most one. Flops: n (p + t + 1)^2; bytes: X once.
#pragma once

#include "tenfold/column_scaling.hpp"
#include "tenfold/raw_moments.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tenfold {

struct Moments {
  std::vector<std::int64_t> count; // (groups)
  std::vector<double> weight;      // (groups)
  std::vector<double> shift;       // (p + t), columns of X first
  std::vector<double> offset;      // (groups, p + t)
  std::vector<std::int32_t> exponent;
  std::vector<double> XX; // (groups, p, p), both triangles
  std::vector<double> XY; // (groups, p, t)
  std::vector<double> yy; // (groups, t)
};

// Centres the raw moments of one group.
template <class Rows>
void centre_group(const WeightedRows<Rows> &table, const RawMoments &moments, std::span<const double> shifts,
                  Index group, int threads, Moments &out) {
  const Index p = table.x.columns, t = table.targets, c = table.columns();
  const GramShape &shape = table.shape;
  const Range range = table.range(group);
  const auto g = static_cast<std::size_t>(group);
  const double total = moments.weight[g];
  const double *blocks = moments.blocks.data() + group * shape.size();
  out.count[g] = range.end - range.begin;
  out.weight[g] = total;
  if (range.begin == range.end)
    return;
  // Rounding must not make a sum of squares negative; NaN passes.
  const auto not_negative = [](double value) { return value < 0.0 ? 0.0 : value; };
  std::vector<double> sums(static_cast<std::size_t>(c));
  for (Index j = 0; j < c; ++j) {
    const double sum = j < p ? blocks[shape.at(j, p)] : blocks[shape.at(p, j + 1)];
    const int e = out.exponent[static_cast<std::size_t>(j)];
    const double unit = e == 0 ? 1.0 : std::ldexp(1.0, -e);
    const double own = shifts[static_cast<std::size_t>(group * c + j)] * unit;
    const double common = out.shift[static_cast<std::size_t>(j)] * unit;
    out.offset[static_cast<std::size_t>(group * c + j)] = (own - common) + sum / total;
    sums[static_cast<std::size_t>(j)] = sum;
  }
  double *xx = out.XX.data() + group * p * p, *xy = out.XY.data() + group * p * t, *yy = out.yy.data() + group * t;
  to_symmetric(shape, blocks, p, sums.data(), total, threads, xx);
  for (Index i = 0; i < p; ++i)
    xx[i * p + i] = not_negative(xx[i * p + i]);
  for (Index k = 0; k < t; ++k) {
    const Index j = p + 1 + k;
    const double sum = sums[static_cast<std::size_t>(p + k)];
    for (Index i = 0; i < p; ++i)
      xy[i * t + k] = blocks[shape.at(i, j)] - sums[static_cast<std::size_t>(i)] * sum / total;
    yy[k] = not_negative(blocks[shape.at(j, j)] - sum * sum / total);
  }
}

template <class Rows>
Moments moments(const Rows &x, std::span<const double> y, Index targets, std::span<const double> weight,
                std::span<const std::int32_t> group, Index groups, int threads) {
  const RowGroups selection = group_rows(x.rows, weight, group, groups);
  const WeightedRows<Rows> table{x, y, targets, weight, selection, groups, {x.columns, targets, kernels().panel}};
  const Index c = table.columns();
  const auto size = [](auto... factors) { return static_cast<std::size_t>((Index{1} * ... * factors)); };
  Moments out;
  out.count.resize(size(groups));
  out.weight.resize(size(groups));
  out.shift.resize(size(c));
  out.offset.resize(size(groups, c));
  out.exponent.resize(size(c));
  out.XX.resize(size(groups, x.columns, x.columns));
  out.XY.resize(size(groups, x.columns, targets));
  out.yy.resize(size(groups, targets));
  if (selection.starts.back() == 0)
    return out;

  std::vector<double> shifts(size(groups, c)); // of each group
  for (Index g = 0; g < groups; ++g)
    estimate_mean(table, g, shifts.data() + g * c);
  Index first = 0;
  while (table.range(first).end == 0)
    ++first;
  std::copy_n(shifts.data() + first * c, c, out.shift.data());

  RawMoments raw = accumulate_moments(table, shifts, out.exponent, threads);
  if (choose_exponents(table, raw, shifts, out.exponent))
    raw = accumulate_moments(table, shifts, out.exponent, threads);
  for (Index g = 0; g < groups; ++g)
    centre_group(table, raw, shifts, g, threads, out);
  return out;
}

} // namespace tenfold
