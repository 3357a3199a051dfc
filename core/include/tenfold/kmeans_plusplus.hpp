// Greedy k-means++ (Arthur and Vassilvitskii 2007): samples as initial centres.
//
// With d_i the squared distance of sample i from the nearest centre so far, every step draws some candidates with
// probabilities w_i d_i / sum w d, and keeps the one with the least resulting sum w d. `draws` (k - 1, trials) are
// uniform numbers in [0, 1); candidate j of a step is the first sample at which the running sum of w d reaches draws_j
// times its total. Returns the k samples.
//
// The gains of candidates are summed from float32 products with a copy of the samples (kmeans_plusplus_panels.hpp); the
// choice depends on them, but the distances d do not: those that decrease are sums of squared differences in float64,
// so that a copy of a centre has distance zero and is not drawn again. Where the sum of d is small beside the squares
// of the samples, and for sparse samples, gains are summed in float64, too.
//
// A candidate z is not nearer to a sample than its centre c if ||z - c|| >= 2 ||x - c||: a panel all of whose samples
// are that near to their centres is skipped. Where clusters are separated but mixed in the order of the samples, panels
// are rebuilt from samples of the same centre, as soon as the lanes computed in vain have cost more than that, and each
// time after twice as many. Flops: 2 n p trials a step; bytes: the panels that are not skipped.
// Sums of w d are stored for blocks of samples and recomputed where a block changed.
#pragma once

#include "tenfold/kmeans_plusplus_panels.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/row_groups.hpp"

#include <atomic>
#include <bit>

namespace tenfold {

template <class Rows> class KmeansPlusPlus {
public:
  KmeansPlusPlus(const Rows &rows, std::span<const double> weights, Index k, Index trials, int threads)
      : x_(rows), weight_(weights), trials_(trials), threads_(threads), panels_(rows, weights, threads),
        chosen_(at(k * rows.columns)), squares_(at(k)), candidates_(at(trials * rows.columns)),
        candidate_squares_(at(trials)), between_(at(k * trials)), near_(at(k)), distance_(at(rows.rows)),
        patience_(first_patience * static_cast<double>(rows.rows)) {
    slots_ = partition_count(panels_.count, row_work(rows) * static_cast<double>(panels_.side * trials), 64);
    gains_.resize(at(slots_ * trials));
    wasted_.resize(at(slots_));
    marks_.assign(at(panels_.count * trials), 0);
    blocks_.resize(at((rows.rows + block - 1) / block));
    changed_.assign(blocks_.size(), 1);
  }

  void start(Index row) {
    results(row);
    each_slot([&](Index, Range range) {
      for (Index lane = range.begin * panels_.side; lane < range.end * panels_.side; ++lane)
        if (const Index i = panels_.row(lane); i >= 0)
          set(lane, i, square_between(x_, i, chosen_.data(), squares_[0]), 0);
    });
    add_blocks();
  }

  // Draws candidates, keeps the best and returns its number.
  Index step(const double *draws) {
    std::vector<Index> rows(at(trials_));
    for (Index j = 0; j < trials_; ++j) {
      rows[at(j)] = drawn(draws[j]);
      copy_row(x_, rows[at(j)], candidate(j));
      candidate_squares_[at(j)] = square_of(candidate(j));
    }
    compare_centres();
    if (panels_.is_accurate(total_)) {
      const Candidates packed = panels_.candidates(candidates_, trials_);
      each_slot([&](Index slot, Range range) { gain(slot, range, packed); });
    } else {
      each_slot([&](Index slot, Range range) { gain(slot, range); });
    }
    const Index best = most_gained(), number = count_;
    results(rows[at(best)]);
    each_slot([&](Index, Range range) { update(range, number, best); });
    add_blocks();
    sort_if_worth();
    return rows[at(best)];
  }

private:
  static constexpr Index block = 256;
  static constexpr double first_patience = 8.0; // lanes a row

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  double weight(Index i) const { return weight_.empty() ? 1.0 : weight_[at(i)]; }
  double *candidate(Index j) { return candidates_.data() + j * x_.columns; }
  const double *centre(Index k) const { return chosen_.data() + k * x_.columns; }
  double square_of(const double *values) const {
    double total = 0.0;
    for (Index j = 0; j < x_.columns; ++j)
      total += values[j] * values[j];
    return total;
  }
  // Ranges of panels.
  template <class F> void each_slot(F &&body) {
    parallel(slots_, threads_, [&](Index slot, int) { body(slot, partition_range(panels_.count, slots_, slot)); });
  }
  void results(Index row) {
    copy_row(x_, row, chosen_.data() + count_ * x_.columns);
    squares_[at(count_)] = square_of(centre(count_));
    ++count_;
  }

  // The first sample at which the running sum reaches `share` of the total; never a centre, unless all samples are.
  Index drawn(double share) const {
    const double wanted = share * total_;
    double before = 0.0;
    Index last = x_.rows - 1;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (before + blocks_[b] >= wanted && blocks_[b] > 0.0) {
        const Index begin = static_cast<Index>(b) * block;
        double running = before;
        for (Index i = begin; i < std::min(x_.rows, begin + block); ++i) {
          const double mine = weight(i) * distance_[at(i)];
          running += mine;
          if (mine > 0.0) {
            last = i;
            if (running >= wanted)
              return i;
          }
        }
      }
      before += blocks_[b];
    }
    return last;
  }

  // A quarter of the squared distances of the candidates from the centres, rounded down: d of a sample that may gain
  // exceeds it.
  void compare_centres() {
    constexpr double quarter = 0.2499999;
    parallel(count_, count_ * trials_ * x_.columns < 65536 ? 1 : threads_, [&](Index k, int) {
      double least = std::numeric_limits<double>::infinity();
      for (Index j = 0; j < trials_; ++j) {
        const double square = quarter * kernels().dense<double>().square_distance(
                                            centre(k), candidates_.data() + j * x_.columns, x_.columns);
        between_[at(k * trials_ + j)] = square;
        least = std::min(least, square);
      }
      near_[at(k)] = round_down(least);
    });
  }

  // The number of samples of the panel that a candidate may be nearer to.
  Index open(Index panel) const {
    Index count = 0;
    for (Index lane = panel * panels_.side; lane < (panel + 1) * panels_.side; ++lane)
      count += panels_.squares[at(lane)] > near_[at(panels_.own[at(lane)])];
    return count;
  }

  void gain(Index slot, Range range, const Candidates &packed) {
    constexpr Index together = 16;
    Index list[together], count = 0, wasted = 0;
    double *gains = gains_.data() + slot * trials_;
    std::fill_n(gains, trials_, 0.0);
    Singles totals(at(trials_ * panels_.side));
    const Gains in = panels_.gains_with(packed);
    const auto flush = [&] {
      std::fill(totals.begin(), totals.end(), 0.0f);
      kernels().gains(in, list, count, totals.data(), marks_.data());
      for (Index j = 0; j < trials_; ++j)
        for (Index lane = 0; lane < panels_.side / 2; ++lane)
          gains[j] += static_cast<double>(totals[at(j * (panels_.side / 2) + lane)]);
      count = 0;
    };
    for (Index panel = range.begin; panel < range.end; ++panel) {
      const Index here = open(panel);
      if (here == 0) {
        std::fill_n(marks_.begin() + panel * trials_, trials_, 0u);
        continue;
      }
      wasted += panels_.side - here;
      list[count++] = panel;
      if (count == together)
        flush();
    }
    flush();
    wasted_[at(slot)] = wasted;
  }

  // The same in float64.
  void gain(Index slot, Range range) {
    double *gains = gains_.data() + slot * trials_;
    std::fill_n(gains, trials_, 0.0);
    std::fill_n(marks_.begin() + range.begin * trials_, (range.end - range.begin) * trials_, 0u);
    wasted_[at(slot)] = 0;
    for (Index lane = range.begin * panels_.side; lane < range.end * panels_.side; ++lane) {
      const Index i = panels_.row(lane), own = panels_.own[at(lane)];
      if (i < 0 || !(panels_.squares[at(lane)] > near_[at(own)]))
        continue;
      const double here = distance_[at(i)];
      for (Index j = 0; j < trials_; ++j)
        if (here > between_[at(own * trials_ + j)]) {
          const double there = square_between(x_, i, candidate(j), candidate_squares_[at(j)]);
          if (there < here) {
            gains[j] += weight(i) * (here - there);
            marks_[at(lane / panels_.side * trials_ + j)] |= std::uint32_t{1} << lane % panels_.side;
          }
        }
    }
  }

  Index most_gained() const {
    Index best = 0;
    double most = -1.0;
    for (Index j = 0; j < trials_; ++j) {
      double all = 0.0;
      for (Index slot = 0; slot < slots_; ++slot)
        all += gains_[at(slot * trials_ + j)];
      if (all > most) {
        most = all;
        best = j;
      }
    }
    return best;
  }

  void set(Index lane, Index row, double square, Index number) {
    distance_[at(row)] = square;
    panels_.set(lane, square, number);
    std::atomic_ref(changed_[at(row / block)]).store(1, std::memory_order_relaxed);
  }

  void update(Range range, Index number, Index best) {
    for (Index panel = range.begin; panel < range.end; ++panel)
      for (std::uint32_t marks = marks_[at(panel * trials_ + best)]; marks != 0; marks &= marks - 1) {
        const Index lane = panel * panels_.side + std::countr_zero(marks), row = panels_.row(lane);
        const double there = square_between(x_, row, centre(number), squares_[at(number)]);
        if (there < distance_[at(row)])
          set(lane, row, there, number);
      }
  }

  void add_blocks() {
    const auto count = static_cast<Index>(blocks_.size());
    parallel((count + 63) / 64, threads_, [&](Index item, int) {
      for (Index b = item * 64; b < std::min(count, (item + 1) * 64); ++b)
        if (changed_[at(b)]) {
          changed_[at(b)] = 0;
          double sum = 0.0;
          for (Index i = b * block; i < std::min(x_.rows, (b + 1) * block); ++i)
            sum += weight(i) * distance_[at(i)];
          blocks_[at(b)] = sum;
        }
    });
    total_ = 0.0;
    for (const double part : blocks_)
      total_ += part;
  }

  void sort_if_worth() {
    for (const Index lanes_in_vain : wasted_)
      in_vain_ += static_cast<double>(lanes_in_vain);
    if (in_vain_ > patience_) {
      panels_.sort(x_, weight_, count_, distance_, threads_);
      in_vain_ = 0.0;
      patience_ *= 2.0;
    }
  }

  const Rows &x_;
  std::span<const double> weight_;
  Index trials_, slots_ = 1, count_ = 0;
  int threads_;
  KmeansPlusPlusPanels<Rows> panels_;
  Weights chosen_;
  std::vector<double> squares_;
  Weights candidates_;
  std::vector<double> candidate_squares_, between_;
  std::vector<float> near_;
  std::vector<double> distance_; // of rows, as they stand
  std::vector<double> blocks_;
  std::vector<char> changed_;
  double total_ = 0.0;
  std::vector<double> gains_;
  std::vector<Index> wasted_; // lanes that were computed for nothing, by slots
  double in_vain_ = 0.0, patience_;
  std::vector<std::uint32_t> marks_; // (panels, trials)
};

template <class Rows>
std::vector<std::int64_t> kmeans_plusplus(const Rows &x, std::span<const double> weight, Index first,
                                          std::span<const double> draws, Index trials, int threads) {
  check_weights(weight);
  const Index more = static_cast<Index>(draws.size()) / trials;
  KmeansPlusPlus<Rows> seeding(x, weight, more + 1, trials, threads);
  std::vector<std::int64_t> rows{first};
  seeding.start(first);
  for (Index c = 0; c < more; ++c) {
    poll();
    rows.push_back(seeding.step(draws.data() + c * trials));
  }
  return rows;
}

} // namespace tenfold
