// The step of kmeans_assign.hpp for the judge: products of all samples with all centres in float64, no bounds, no
// float32. With the loops of a fit it shares the plain sum of squared differences alone.
//
// With m the mean of the centres (zero for sparse samples) the nearest one has the largest score
//   s_k = (x - m).(c_k - m) - ||c_k - m||^2 / 2,
// and no two scores of a sample are wrong by more than  4 (p + 4) 2^-53 C (||x - m|| + C)  together, C the longest
// centre about m. Where the best does not lead by more than that, the sample is compared with all centres by sums of
// squared differences, the first of equals counts.
// Flops: 2 n p k and 5 n p; bytes: X once, the centres from cache.
#pragma once

#include "tenfold/kmeans_assign.hpp"
#include "tenfold/pairwise.hpp"

namespace tenfold {

// Pairs of dense samples, which are the queries, with centres, which are stored.
template <class T> class DenseScores : public ProductPairs<double, T> {
public:
  using Base = ProductPairs<double, T>;
  using Workspace = typename Base::Workspace;

  DenseScores(const Dense<T> &x, std::span<const double> centres, Index k)
      : Base({centres.data(), k, x.columns}, x, ProductBase::score, mean(centres, k, x.columns), 1) {
    for (Index c = 0; c < k; ++c)
      longest = std::max(longest, std::sqrt(this->square(c)));
  }

  double longest = 0.0;
  double length(const Workspace &work, Index i) const { return std::sqrt(work.squares[i]); }

private:
  static std::vector<double> mean(std::span<const double> centres, Index k, Index p) {
    std::vector<double> middle(static_cast<std::size_t>(p));
    for (Index c = 0; c < k; ++c)
      for (Index j = 0; j < p; ++j)
        middle[static_cast<std::size_t>(j)] += centres.data()[c * p + j] / static_cast<double>(k);
    return middle;
  }
};

// The same of sparse samples, about zero.
template <class T, class I> class SparseScores {
public:
  static constexpr Index tile_queries = 32;
  struct Workspace {
    explicit Workspace(const SparseScores &) {}
    Index first = 0, count = 0;
  };

  SparseScores(const Sparse<T, I> &x, std::span<const double> centres, Index k)
      : x_(x), count_(k), transposed_(centres.size()), minus_half_(static_cast<std::size_t>(k)) {
    transpose(centres.data(), k, x.columns, transposed_.data());
    for (Index c = 0; c < k; ++c) {
      const double square = kernels().f64.squared_norm(centres.data() + c * x.columns, x.columns);
      minus_half_.data()[c] = -square / 2.0;
      longest = std::max(longest, std::sqrt(square));
    }
  }

  double longest = 0.0;
  double length(const Workspace &work, Index i) const { return std::sqrt(row_access(x_).squared_norm(work.first + i)); }

  Index samples() const { return count_; }
  Index tile_samples() const { return count_; }
  void start(Workspace &work, Index first, Index count) const { work.first = first, work.count = count; }
  void fill(const Workspace &work, Index, Index, double *out, Index stride) const {
    matvec_tile(x_, work.first, work.count, transposed_.data(), count_, nullptr, minus_half_.data(), out, stride, 1);
  }

private:
  Sparse<T, I> x_;
  Index count_;
  std::vector<double> transposed_, minus_half_;
};

template <class T> DenseScores<T> scores_float64(const Dense<T> &x, std::span<const double> c, Index k) {
  return {x, c, k};
}
template <class T, class I>
SparseScores<T, I> scores_float64(const Sparse<T, I> &x, std::span<const double> c, Index k) {
  return {x, c, k};
}

// Reduction to the largest and the second largest value, and the number of the largest, the first of equals.
struct TopTwo {
  struct State {
    double best = -std::numeric_limits<double>::infinity(), second = best;
    Index number = 0;
  };

  static State make() { return {}; }
  static void start(State &state, Index) { state = {}; }
  static void add(State &state, const TileRow &row) {
    State lead = state; // in registers
    for (Index j = 0; j < row.count; ++j)
      if (const double value = row.values[j]; value > lead.second) {
        lead.second = std::min(value, lead.best);
        if (value > lead.best) {
          lead.best = value;
          lead.number = row.first + j;
        }
      }
    state = lead;
  }
  static void finish(State &, Index) {}
};

template <class Rows>
Assignment kmeans_assign_float64(const Rows &x, std::span<const double> weight, std::span<const double> centres,
                                 Index k, std::span<const double> place, int threads) {
  check_weights(weight);
  constexpr double roundoff = 1.1102230246251565e-16;
  const Index p = x.columns, stride = assign_stride(k, p), slots = assign_slots(x, k, stride);
  const auto scores = scores_float64(x, centres, k);
  using Pairs = std::remove_cvref_t<decltype(scores)>;
  constexpr Index tile = Pairs::tile_queries;
  CentresFloat32 plain(centres, k, p);
  plain.measure();
  Buffer sums(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = partition_range(x.rows, slots, slot);
    TileBuffers<Pairs> buffers(scores);
    std::vector<TopTwo::State> leads;
    TopTwo reduction;
    double *own = sums.data() + slot * stride, *weights = own + k * p, *energy = weights + k;
    for (Index begin = range.begin; begin < range.end; begin += tile) {
      const Index count = std::min(tile, range.end - begin);
      reduce_tiles(scores, IdentityFunction{}, {begin, begin + count, {}}, reduction, buffers, leads);
      for (Index i = 0; i < count; ++i) {
        const double w = weight.empty() ? 1.0 : weight.data()[begin + i];
        if (w == 0.0)
          continue;
        const TopTwo::State &lead = leads[static_cast<std::size_t>(i)];
        const double margin = 4.0 * static_cast<double>(p + 4) * roundoff * scores.longest *
                              (scores.length(buffers.work, i) + scores.longest);
        const bool sure = lead.best - lead.second > margin;
        const Index to = sure ? lead.number : nearest_centre_float64(x, begin + i, plain);
        weights[to] += w;
        *energy += w * distance_to(x, begin + i, plain, to);
        add_to(x, begin + i, w, place.data(), own + to * p);
      }
    }
  });
  return merged(x, sums, slots, k, place, threads);
}

} // namespace tenfold
