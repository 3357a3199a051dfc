// Samples in panels of lanes for k-means++, with their distances and centres.
//
// Of dense samples a panel has a copy in float32, s (x - m) with m the mean of some samples and s a power of two, so
// that entries are about one. With u = 2^-24 and p + 1 sums in any order, x and z rounded to it, the computed value of
//   gain = D + 2 (x.z - ||z||^2 / 2) - ||x||^2 = D - ||x - z||^2,   D the squared distance so far,
// is off by at most (2.1 (p + 4) + 8) u (||x||^2 + R^2) with R the longest candidate: products as in
// nearest_centre_float32.hpp, with 2 R ||x|| <= R^2 + ||x||^2; D and ||x||^2 rounded once, where D > 2 (||x||^2 + R^2)
// leaves no doubt that the gain is positive. A sample whose computed gain is below minus that does not come nearer.
#pragma once

#include "tenfold/directed_rounding.hpp"
#include "tenfold/nearest_centre_float32.hpp"
#include "tenfold/thread_pool.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

namespace tenfold {

// The values of a sample, and its squared distance from a centre with a squared length.
template <class T> void copy_row(const Dense<T> &x, Index row, double *to) {
  std::copy_n(x.data + row * x.columns, x.columns, to);
}
template <class T, class I> void copy_row(const Sparse<T, I> &x, Index row, double *to) {
  std::fill_n(to, x.columns, 0.0);
  for (std::int64_t e = x.indptr.data()[row]; e < x.indptr.data()[row + 1]; ++e)
    to[x.indices.data()[e]] += static_cast<double>(x.data.data()[e]);
}

template <class T> double square_between(const Dense<T> &x, Index row, const double *centre, double) {
  return kernels().dense<T>().square_distance(x.data + row * x.columns, centre, x.columns);
}
// Differences of stored entries; of the others the square of the centre.
template <class T, class I>
double square_between(const Sparse<T, I> &x, Index row, const double *centre, double square) {
  double inside = 0.0, left = square;
  for (std::int64_t e = x.indptr.data()[row]; e < x.indptr.data()[row + 1]; ++e) {
    const double c = centre[x.indices.data()[e]], difference = static_cast<double>(x.data.data()[e]) - c;
    inside += difference * difference;
    left -= c * c;
  }
  return inside + (left > 1e-14 * square ? left : 0.0);
}

// Candidates in float32, as features x candidates.
struct Candidates {
  Singles values, half;
  Index count = 0;
  double reach = 0.0; // the largest squared length, in units
};

template <class Rows> class KmeansPlusPlusPanels {
public:
  Index side, count;
  std::vector<float> squares;    // (lanes) squared distances so far, rounded up
  std::vector<std::int32_t> own; // (lanes) numbers of the centres

  KmeansPlusPlusPanels(const Rows &x, std::span<const double> weight, int threads)
      : side(kernels().filter_rows), count((x.rows + side - 1) / side), squares(at(count * side)),
        own(at(count * side)), columns_(x.columns), rows_(at(count * side), -1) {
    std::iota(rows_.begin(), rows_.begin() + x.rows, Index{0});
    if (!weight.empty())
      weight_unit_ = unit_for(*std::max_element(weight.begin(), weight.end()));
    choose_place(x);
    pack(x, weight, threads);
  }

  // The sample of a lane, or -1.
  Index row(Index lane) const { return rows_[at(lane)]; }

  // Whether float32 products resolve the gains where the sum of distances is `left`: above a small part of the squares.
  bool is_accurate(double left) const {
    constexpr double enough = 1e-3;
    return !values_.empty() && std::isfinite(total_) && left * unit_ * unit_ > enough * total_;
  }

  void set(Index lane, double square, Index number) {
    squares[at(lane)] = round_up(square);
    own[at(lane)] = static_cast<std::int32_t>(number);
    if (!values_.empty())
      start_[at(lane)] = static_cast<float>(unit_ * unit_ * square - static_cast<double>(size_[at(lane)]));
  }

  Candidates candidates(std::span<const double> values, Index trials) const {
    Candidates to{Singles(at(trials * columns_)), Singles(at(trials)), trials, 0.0};
    for (Index c = 0; c < trials; ++c) {
      double square = 0.0;
      for (Index j = 0; j < columns_; ++j) {
        const double value = unit_ * (values[at(c * columns_ + j)] - shift_[at(j)]);
        square += value * value;
        to.values[at(j * trials + c)] = static_cast<float>(value);
      }
      to.half[at(c)] = static_cast<float>(square / 2.0);
      to.reach = std::max(to.reach, square);
    }
    return to;
  }

  Gains gains_with(const Candidates &c) const {
    const double slack = (2.1 * static_cast<double>(columns_ + 4) + 8.0) * float32_roundoff;
    return {values_.data(),  start_.data(), size_.data(), weight_.data(),  columns_,
            c.values.data(), c.half.data(), c.count,      round_up(slack), round_up(c.reach)};
  }

  // Rebuilds the panels with samples of the same centre adjacent; `distance` are the squares of all samples.
  void sort(const Rows &x, std::span<const double> weight, Index centres, std::span<const double> distance,
            int threads) {
    std::vector<Index> begin(at(centres + 1)), order(rows_.size(), -1);
    std::vector<std::int32_t> number(rows_.size());
    for (std::size_t lane = 0; lane < rows_.size(); ++lane)
      if (rows_[lane] >= 0)
        ++begin[at(own[lane] + 1)];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    for (std::size_t lane = 0; lane < rows_.size(); ++lane)
      if (rows_[lane] >= 0) {
        const Index to = begin[at(own[lane])]++;
        order[at(to)] = rows_[lane];
        number[at(to)] = own[lane];
      }
    rows_ = std::move(order);
    pack(x, weight, threads);
    for (std::size_t lane = 0; lane < rows_.size(); ++lane)
      if (rows_[lane] >= 0)
        set(static_cast<Index>(lane), distance[at(rows_[lane])], number[lane]);
  }

private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  // From some of the samples.
  template <class T> void choose_place(const Dense<T> &x) {
    constexpr Index some = 1024;
    const Index many = std::min(some, x.rows), step = x.rows / many;
    shift_.assign(at(columns_), 0.0);
    for (Index i = 0; i < many; ++i)
      kernels().dense<T>().axpy(1.0 / static_cast<double>(many), x.data + i * step * columns_, columns_, shift_.data());
    double largest = 0.0;
    for (Index i = 0; i < many; ++i)
      largest =
          std::max(largest, kernels().dense<T>().chessboard(x.data + i * step * columns_, shift_.data(), columns_));
    unit_ = unit_for(largest);
  }
  template <class T, class I> void choose_place(const Sparse<T, I> &) {}

  // A lane without a sample gains nothing.
  template <class T> void pack(const Dense<T> &x, std::span<const double> weight, int threads) {
    values_.resize(at(count * side * columns_));
    size_.assign(at(count * side), 0.0f);
    weight_.assign(at(count * side), 0.0f);
    start_.assign(at(count * side), -std::numeric_limits<float>::infinity());
    constexpr Index together = 64;
    parallel((count + together - 1) / together, threads, [&](Index item, int) {
      Singles one(at(columns_));
      for (Index lane = item * together * side; lane < std::min(count, (item + 1) * together) * side; ++lane) {
        const Index i = rows_[at(lane)];
        float *to = values_.data() + lane / side * side * columns_ + lane % side;
        if (i >= 0) {
          size_[at(lane)] =
              kernels().dense<T>().to_singles(x.data + i * columns_, columns_, shift_.data(), unit_, one.data());
          weight_[at(lane)] = static_cast<float>(weight.empty() ? 1.0 : weight_unit_ * weight[at(i)]);
        }
        for (Index j = 0; j < columns_; ++j)
          to[j * side] = i >= 0 ? one[at(j)] : 0.0f;
      }
    });
    total_ = 0.0;
    for (const float size : size_)
      total_ += static_cast<double>(size);
  }
  template <class T, class I> void pack(const Sparse<T, I> &, std::span<const double>, int) {}

  Index columns_;
  std::vector<Index> rows_; // (lanes)
  Weights shift_;
  double unit_ = 1.0, weight_unit_ = 1.0, total_ = 0.0; // the sum of all squares, in units
  Singles values_, size_, weight_, start_;
};

} // namespace tenfold
