// Euclidean nearest neighbours by products in float32 with an error bound, and float64 distances of the candidates. A
// specialisation of pairwise.hpp: the comparison with the threshold is fused with the product in registers, so that no
// tile is written: 2.2 to 2.5 times as fast as ProductPairs and a sum (20k samples, 2k queries, d = 16 and 128).
//
// Samples x_j and queries q_i are taken about a centre c and in a unit 1/s, a power of two: alpha_j = s (x_j - c),
// beta_i = s (q_i - c), with n_j and m_i their squared lengths. In float32, with unit roundoff u = 2^-24, sums in any
// order, the computed value of   a_j - 2 alpha_j . beta_i   is off by at most
//   (2 u + u^2) 2 |alpha||beta|         entries rounded to float32
// + g (n_j + 2 (1 + u)^2 |alpha||beta|) the sum of d + 1 terms, g = (d + 1) u / (1 - (d + 1) u)
// <= e (n_j + m_i),   e = (2 d + 16) u,   for 2 |alpha||beta| <= n_j + m_i and d u < 1/100.
// So with a_j = (1 - e) n_j, rounded down, no sample whose squared distance is at most D has a computed value above
//   s^2 D - (1 - e) m_i.
// The spare units of e cover the rounding of x_j - c and of the squared distance in float64; products that vanish below
// the least float32 are covered by an absolute term. Candidates, usually k log(n / k) and a few, are measured in
// float64: the neighbours are those of float64 distances, whatever the threads and the instruction set.
// Flops: 2 samples queries d in float32; memory: the samples once in float32.
#pragma once

#include "tenfold/directed_rounding.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/thread_pool.hpp"
#include "tenfold/topk.hpp"

#include <bit>

namespace tenfold {

// The largest entry must be within these, so that squares neither overflow nor underflow.
constexpr double min_entry = 0x1p-400, max_entry = 0x1p500;

template <class T> class GemmSearch {
public:
  static bool fits(Index columns) { return columns <= 100000; }

  // Both must outlive this.
  GemmSearch(Dense<T> rows, Dense<double> queries, int threads)
      : x_(rows), q_(queries), side_(kernels().filter_rows), group_(kernels().filter_queries),
        error_((2.0 * static_cast<double>(x_.columns) + 16.0) * 0x1p-24),
        least_((static_cast<double>(x_.columns) + 4.0) * 0x1p-100), centre_(static_cast<std::size_t>(x_.columns)) {
    set_centre();
    const bool finite = std::all_of(centre_.begin(), centre_.end(), [](double c) { return std::isfinite(c); });
    const double largest = finite ? std::max(largest_of(x_, threads), largest_of(q_, threads)) : max_entry;
    possible_ = largest == 0.0 || (largest > min_entry && largest < max_entry);
    if (possible_ && largest > 0.0)
      scale_ = std::ldexp(1.0, 40 - std::ilogb(largest));
    if (possible_)
      pack(threads);
  }

  // False where squares would overflow or underflow: the caller takes all distances in float64.
  bool possible() const { return possible_; }

  template <class Results> void search(const Queries &queries, Results &results, int threads) const {
    const Index count = queries.end - queries.begin, together = groups_together(count, threads) * group_;
    const Index items = (count + together - 1) / together;
    parallel(items, threads, [&](Index item, int) {
      const Index first = queries.begin + item * together;
      Block<Results> block(*this, queries, results, first, std::min(queries.end, first + together));
      block.filter_all();
    });
  }

private:
  // Groups of queries per item: they stay in the second-level cache, and every thread has a few items.
  Index groups_together(Index count, int threads) const {
    constexpr Index cached = 40 * 1024, items = 4;
    const Index few = count / (items * group_ * std::max(1, threads)) + 1;
    return std::min(few, std::clamp<Index>(cached / (group_ * x_.columns), 8, 24));
  }

  double centred(const T *row, Index j) const { return (static_cast<double>(row[j]) - centre_[at(j)]) * scale_; }
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }

  void set_centre() {
    for (Index i = 0; i < x_.rows; ++i)
      for (Index j = 0; j < x_.columns; ++j)
        centre_[at(j)] += static_cast<double>(x_.data[i * x_.columns + j]);
    for (double &value : centre_)
      value /= static_cast<double>(x_.rows);
  }
  // The largest absolute entry about the centre.
  template <class U> double largest_of(const Dense<U> &x, int threads) const {
    constexpr Index piece = 1024;
    std::vector<double> most(at((x.rows + piece - 1) / piece));
    parallel(static_cast<Index>(most.size()), threads, [&](Index item, int) {
      for (Index i = item * piece; i < std::min(x.rows, (item + 1) * piece); ++i) {
        const double distance = kernels().dense<U>().chessboard(x.data + i * x.columns, centre_.data(), x.columns);
        most[at(item)] = std::max(most[at(item)], distance);
      }
    });
    return most.empty() ? 0.0 : *std::max_element(most.begin(), most.end());
  }
  void pack(int threads) {
    const Index d = x_.columns, panels = (x_.rows + side_ - 1) / side_;
    rows_.resize(at(panels * side_ * d));
    numbers_.assign(at(panels * side_), std::numeric_limits<float>::infinity());
    parallel(panels, threads, [&](Index panel, int) {
      float *to = rows_.data() + panel * side_ * d;
      for (Index lane = 0; lane < std::min(side_, x_.rows - panel * side_); ++lane) {
        const T *row = x_.data + (panel * side_ + lane) * d;
        double square = 0.0;
        for (Index j = 0; j < d; ++j) {
          const double value = centred(row, j);
          square += value * value;
          to[j * side_ + lane] = static_cast<float>(value);
        }
        numbers_[at(panel * side_ + lane)] = round_down((1.0 - error_) * square);
      }
    });
  }

  // Some queries and all samples.
  template <class Results> class Block {
  public:
    Block(const GemmSearch &search, const Queries &queries, Results &results, Index first, Index last)
        : in_(search), queries_(queries), results_(results), first_(first), last_(last) {
      const Index d = in_.x_.columns, group = in_.group_, groups = (last - first + group - 1) / group;
      packed_.assign(at(groups * group * d), 0.0f);
      // padding: no sample passes the filter
      thresholds_.assign(at(groups * group), -std::numeric_limits<float>::infinity());
      squares_.resize(at(last - first));
      for (Index q = first; q < last; ++q) {
        const double *query = in_.q_.data + q * d;
        float *to = packed_.data() + (q - first) / group * group * d + (q - first) % group;
        double square = 0.0;
        for (Index j = 0; j < d; ++j) {
          const double value = (query[j] - in_.centre_[at(j)]) * in_.scale_;
          square += value * value;
          to[j * group] = static_cast<float>(-2.0 * value);
        }
        squares_[at(q - first)] = square;
        collectors_.push_back(results.make());
        results.start(collectors_.back(), q);
        update_threshold(q);
      }
    }

    // A panel stays in the first-level cache for all queries, while the next one is prefetched.
    void filter_all() {
      const Index size = in_.side_ * in_.x_.columns, panels = static_cast<Index>(in_.numbers_.size()) / in_.side_;
      const Index groups = (last_ - first_ + in_.group_ - 1) / in_.group_, share = (size + groups - 1) / groups;
      for (Index panel = 0; panel < panels; ++panel)
        for (Index g = 0; g < groups; ++g) {
          const Index from = (panel + 1) * size + g * share, to = std::min(from + share, (panel + 2) * size);
          for (Index i = from; i < (panel + 1 < panels ? to : from); i += 64 / static_cast<Index>(sizeof(float)))
            __builtin_prefetch(in_.rows_.data() + i, 0, 2);
          filter(panel, first_ + g * in_.group_);
        }
      for (Index q = first_; q < last_; ++q)
        results_.finish(collectors_[at(q - first_)], q);
    }

  private:
    void filter(Index panel, Index first) {
      constexpr std::size_t most = 16;
      const Index d = in_.x_.columns, side = in_.side_;
      std::uint32_t marks[most];
      const bool any =
          kernels().knn_filter(in_.rows_.data() + panel * side * d, in_.numbers_.data() + panel * side,
                               packed_.data() + (first - first_) * d, thresholds_.data() + (first - first_), d, marks);
      if (!any)
        return;
      for (Index q = first; q < std::min(last_, first + in_.group_); ++q)
        if (marks[q - first] != 0)
          measure(panel * side, marks[q - first], q);
    }
    void measure(Index begin, std::uint32_t marks, Index q) {
      const Index d = in_.x_.columns, self = queries_.self(q);
      auto &collector = collectors_[at(q - first_)];
      const double before = collector.worst();
      for (; marks != 0; marks &= marks - 1) {
        const Index row = begin + std::countr_zero(marks);
        if (row == self || row >= in_.x_.rows)
          continue;
        const double distance = in_.on_.square_distance(in_.x_.data + row * d, in_.q_.data + q * d, d);
        if (distance <= collector.worst())
          collector.offer(distance, row);
      }
      if (collector.worst() < before)
        update_threshold(q);
    }
    void update_threshold(Index q) {
      const double worst = collectors_[at(q - first_)].worst() * in_.scale_ * in_.scale_;
      const double m = squares_[at(q - first_)];
      thresholds_[at(q - first_)] = round_up(worst - (1.0 - in_.error_) * m + in_.least_);
    }

    const GemmSearch &in_;
    const Queries &queries_;
    Results &results_;
    Index first_, last_;
    std::vector<float> packed_, thresholds_;
    std::vector<double> squares_;
    std::vector<typename Results::Collector> collectors_;
  };

  Dense<T> x_;
  Dense<double> q_;
  Index side_, group_;
  double error_, least_, scale_ = 1.0;
  bool possible_ = false;
  std::vector<double> centre_;
  std::vector<float> rows_, numbers_;
  const DenseKernels<T> &on_ = kernels().dense<T>();
};

} // namespace tenfold
