// What assign.hpp computes, for the judge: products of all rows with all centres in double precision, no bounds, no
// single precision. It shares with the loops of a fit no more than the plain sum of squared differences.
//
// With m the mean of the centres (zero for sparse rows) the nearest one has the largest score
//   s_k = (x - m).(c_k - m) - ||c_k - m||^2 / 2,
// and no two scores of a row are wrong by more than  4 (p + 4) 2^-53 C (||x - m|| + C)  together, C the longest centre
// about m. Where the best does not lead by more than that, the row is compared with all centres by sums of squared
// differences, the first of equals counts.
// Flops: 2 n p k and 5 n p; bytes: X once, the centres from cache.
#pragma once

#include "tenfold/assign.hpp"

namespace tenfold {

// The centres about their mean, as the products of dense rows need them.
template <class T> class ScoresInDouble {
public:
  ScoresInDouble(const Dense<T> &x, std::span<const double> centres, Index k)
      : x_(x), count_(k), side_(kernels().panel), panels_((k + side_ - 1) / side_), stride_((x.columns + 3) * side_),
        middle_(static_cast<std::size_t>(x.columns)), half_(static_cast<std::size_t>(k)), packed_(panels_ * stride_) {
    for (Index c = 0; c < k; ++c)
      for (Index j = 0; j < x.columns; ++j)
        middle_.data()[j] += centres.data()[c * x.columns + j] / static_cast<double>(k);
    for (Index c = 0; c < k; ++c) {
      double square = 0.0;
      for (Index j = 0; j < x.columns; ++j) {
        const double away = centres.data()[c * x.columns + j] - middle_.data()[j];
        packed_[c / side_ * stride_ + j * side_ + c % side_] = away;
        square += away * away;
      }
      half_.data()[c] = square / 2.0;
      reach = std::max(reach, std::sqrt(square));
    }
  }

  double reach = 0.0;

  // Calls meet(i, first, scores, how many) for rows begin + i, i < count, and centres some at a time.
  template <class Meet> void each(Index begin, Index count, Buffer &rows, Buffer &scores, Meet &&meet) const {
    const Index p = x_.columns;
    for (Index i = 0; i < count; ++i)
      kernels().dense<T>().centre_row(x_.data + (begin + i) * p, middle_.data(), p, rows.data() + i * p);
    for (Index from = 0; from < panels_; from += together) {
      const Index panels = std::min(together, panels_ - from), step = panels * side_;
      kernels().gemm_panel(rows.data(), p, count, p, packed_.data() + from * stride_, stride_, panels, false,
                           scores.data(), step);
      const Index first = from * side_, many = std::min(step, count_ - first);
      for (Index i = 0; i < count; ++i) {
        double *mine = scores.data() + i * step;
        for (Index c = 0; c < many; ++c)
          mine[c] -= half_.data()[first + c];
        meet(i, first, mine, many);
      }
    }
  }
  double length(Index, Index i, const Buffer &rows) const {
    return std::sqrt(kernels().dense<double>().squared_norm(rows.data() + i * x_.columns, x_.columns));
  }
  Index row_size() const { return x_.columns; }
  Index score_size() const { return std::min(together, panels_) * side_; }

private:
  static constexpr Index together = 16;
  Dense<T> x_;
  Index count_, side_, panels_, stride_;
  Weights middle_;
  std::vector<double> half_;
  Buffer packed_;
};

// Sparse rows meet the centres as they are.
template <class T, class I> class SparseScoresInDouble {
public:
  SparseScoresInDouble(const Sparse<T, I> &x, std::span<const double> centres, Index k)
      : x_(x), count_(k), turned_(centres.size()), minus_(static_cast<std::size_t>(k)) {
    transpose(centres.data(), k, x.columns, turned_.data());
    for (Index c = 0; c < k; ++c) {
      const double square = kernels().dense<double>().squared_norm(centres.data() + c * x.columns, x.columns);
      minus_.data()[c] = -square / 2.0;
      reach = std::max(reach, std::sqrt(square));
    }
  }

  double reach = 0.0;

  template <class Meet> void each(Index begin, Index count, Buffer &, Buffer &scores, Meet &&meet) const {
    matvec_tile(x_, begin, count, turned_.data(), count_, nullptr, minus_.data(), scores.data(), count_, 1);
    for (Index i = 0; i < count; ++i)
      meet(i, 0, scores.data() + i * count_, count_);
  }
  double length(Index begin, Index i, const Buffer &) const {
    return std::sqrt(row_access(x_).squared_norm(begin + i));
  }
  Index row_size() const { return 0; }
  Index score_size() const { return count_; }

private:
  Sparse<T, I> x_;
  Index count_;
  std::vector<double> turned_, minus_;
};

template <class T> ScoresInDouble<T> scores_in_double(const Dense<T> &x, std::span<const double> c, Index k) {
  return {x, c, k};
}
template <class T, class I>
SparseScoresInDouble<T, I> scores_in_double(const Sparse<T, I> &x, std::span<const double> c, Index k) {
  return {x, c, k};
}

struct Lead {
  double best = -std::numeric_limits<double>::infinity(), second = best;
  Index number = 0;

  void meet(Index first, const double *scores, Index count) {
    for (Index c = 0; c < count; ++c)
      if (scores[c] > second) {
        second = std::min(scores[c], best);
        if (scores[c] > best) {
          best = scores[c];
          number = first + c;
        }
      }
  }
};

template <class Rows>
Assigned assign_in_double(const Rows &x, std::span<const double> weight, std::span<const double> centres, Index k,
                          std::span<const double> place, int threads) {
  check_weights(weight);
  constexpr Index tile = 32;
  constexpr double roundoff = 1.1102230246251565e-16;
  const Index p = x.columns, stride = assign_stride(k, p), slots = assign_slots(x, k, stride);
  const auto products = scores_in_double(x, centres, k);
  Centres plain(centres, k, p);
  plain.measure();
  Buffer sums(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = partition_range(x.rows, slots, slot);
    Buffer rows(tile * products.row_size()), scores(tile * products.score_size());
    double *own = sums.data() + slot * stride, *weights = own + k * p, *energy = weights + k;
    for (Index begin = range.begin; begin < range.end; begin += tile) {
      const Index count = std::min(tile, range.end - begin);
      Lead leads[tile];
      products.each(begin, count, rows, scores,
                    [&](Index i, Index first, const double *some, Index many) { leads[i].meet(first, some, many); });
      for (Index i = 0; i < count; ++i) {
        const double w = weight.empty() ? 1.0 : weight.data()[begin + i];
        if (w == 0.0)
          continue;
        const double margin = 4.0 * static_cast<double>(p + 4) * roundoff * products.reach *
                              (products.length(begin, i, rows) + products.reach);
        const bool sure = leads[i].best - leads[i].second > margin;
        const Index to = sure ? leads[i].number : nearest_in_double(x, begin + i, plain);
        weights[to] += w;
        *energy += w * distance_to(x, begin + i, plain, to);
        add_to(x, begin + i, w, place.data(), own + to * p);
      }
    }
  });
  return merged(x, sums, slots, k, place, threads);
}

} // namespace tenfold
