// Greedy k-means++ (Arthur and Vassilvitskii 2007): rows that serve as first centres.
//
// With d_i the squared distance of row i from the nearest centre so far, every step draws some candidates with
// probabilities w_i d_i / sum w d, and keeps the one that leaves the least sum w d. `draws` (k - 1, trials) are uniform
// numbers in [0, 1); candidate j of a step is the first row at which the running sum of w d reaches draws_j times its
// total. Returns the k rows.
//
// A candidate z is not nearer to a row than its centre c if ||z - c|| >= 2 ||x - c||: where clusters are apart most
// rows are passed over without being looked at. Of dense rows a copy in single precision is kept, and what candidates
// gain is summed from products with it; which one is kept depends on that, but the distances d do not: those of rows
// that come nearer are sums of squared differences in double precision, so that a copy of a centre has the distance
// zero and is not drawn again. Where little is left of the squares of the rows, gains are summed in double precision,
// too. Flops: 2 n p trials a step; bytes: the copy once a step, or what of it is looked at.
#pragma once

#include "tenfold/buffer.hpp"
#include "tenfold/nearest.hpp"
#include "tenfold/pool.hpp"
#include "tenfold/selection.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace tenfold {

// The values of a row, and its squared length.
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
// Differences of what is stored; the rest of the centre counts as it is.
template <class T, class I>
double square_between(const Sparse<T, I> &x, Index row, const double *centre, double square) {
  double inside = 0.0, left = square;
  for (std::int64_t e = x.indptr.data()[row]; e < x.indptr.data()[row + 1]; ++e) {
    const double c = centre[x.indices.data()[e]], away = static_cast<double>(x.data.data()[e]) - c;
    inside += away * away;
    left -= c * c;
  }
  return inside + (left > 1e-14 * square ? left : 0.0);
}

// Rows in single precision about a place amid them.
struct SingleRows {
  Weights shift;
  double unit = 1.0;
  Singles values;
  std::vector<float> square;
  Index columns = 0;
  double total = 0.0; // of the squares, in units

  bool empty() const { return values.empty(); }
  const float *at(Index row) const { return values.data() + row * columns; }
};
template <class T> SingleRows singles_of(const Dense<T> &x, int threads) {
  constexpr Index some = 1024;
  SingleRows found{Weights(static_cast<std::size_t>(x.columns)), 1.0, {}, {}, x.columns, 0.0};
  const Index count = std::min(some, x.rows), step = x.rows / count;
  double largest = 0.0;
  for (Index i = 0; i < count; ++i)
    kernels().dense<T>().add_scaled(1.0 / static_cast<double>(count), x.data + i * step * x.columns, x.columns,
                                    found.shift.data());
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < x.columns; ++j)
      largest = std::max(largest, std::fabs(static_cast<double>(x.data[i * step * x.columns + j]) -
                                            found.shift[static_cast<std::size_t>(j)]));
  found.unit = unit_for(largest);
  found.values.resize(static_cast<std::size_t>(x.rows * x.columns));
  found.square.resize(static_cast<std::size_t>(x.rows));
  constexpr Index piece = 4096;
  parallel((x.rows + piece - 1) / piece, threads, [&](Index item, int) {
    for (Index i = item * piece; i < std::min(x.rows, (item + 1) * piece); ++i)
      found.square[static_cast<std::size_t>(i)] = kernels().dense<T>().to_singles(
          x.data + i * x.columns, x.columns, found.shift.data(), found.unit, found.values.data() + i * x.columns);
  });
  for (const float square : found.square)
    found.total += static_cast<double>(square);
  return found;
}
template <class T, class I> SingleRows singles_of(const Sparse<T, I> &, int) { return {}; }

template <class Rows> class Seeding {
public:
  Seeding(const Rows &rows, std::span<const double> weights, Index k, Index trials, int threads)
      : x_(rows), weight_(weights), trials_(trials), threads_(threads),
        chosen_(static_cast<std::size_t>(k * rows.columns)), squares_(static_cast<std::size_t>(k)),
        candidates_(static_cast<std::size_t>(trials * rows.columns)),
        candidate_squares_(static_cast<std::size_t>(trials)), between_(static_cast<std::size_t>(k * trials)),
        near_(static_cast<std::size_t>(k)), distance_(static_cast<std::size_t>(rows.rows)),
        own_(static_cast<std::size_t>(rows.rows)) {
    singles_ = singles_of(rows, threads);
    touched_.assign(static_cast<std::size_t>(rows.rows), 1);
    slots_ = slot_count(rows.rows, row_work(rows) * static_cast<double>(trials), 64);
    totals_.resize(static_cast<std::size_t>(slots_));
    gains_.resize(static_cast<std::size_t>(slots_ * trials));
  }

  void start(Index row) {
    keep(row);
    each_slot([&](Index slot, Range range) {
      double total = 0.0;
      for (Index i = range.begin; i < range.end; ++i) {
        distance_[at(i)] = square_between(x_, i, chosen_.data(), squares_[0]);
        total += weight(i) * distance_[at(i)];
      }
      totals_[at(slot)] = total;
    });
  }

  // Draws candidates and keeps the best: its row.
  Index step(const double *draws) {
    std::vector<Index> rows(at(trials_));
    for (Index j = 0; j < trials_; ++j) {
      rows[at(j)] = drawn(draws[j]);
      copy_row(x_, rows[at(j)], candidate(j));
      candidate_squares_[at(j)] = square_of(candidate(j));
    }
    compare_centres();
    double left = 0.0;
    for (const double part : totals_)
      left += part;
    left *= singles_.unit * singles_.unit;
    if (!singles_.empty() && std::isfinite(singles_.total) && left > enough * singles_.total) {
      Centres packed(candidates_, trials_, x_.columns);
      packed.shift = singles_.shift;
      packed.unit = singles_.unit;
      pack_panels(packed);
      each_slot([&](Index slot, Range range) { gain(range, packed, gains_.data() + slot * trials_); });
    } else {
      each_slot([&](Index slot, Range range) { gain(range, gains_.data() + slot * trials_); });
    }
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
    const Index number = count_;
    keep(rows[at(best)]);
    each_slot([&](Index slot, Range range) { totals_[at(slot)] = update(range, number, best); });
    return rows[at(best)];
  }

private:
  // Below such a share of the squares, per unit of weight, products in single precision are not to be trusted.
  static constexpr double enough = 1e-3;

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
  template <class F> void each_slot(F &&body) {
    parallel(slots_, threads_, [&](Index slot, int) { body(slot, slot_range(x_.rows, slots_, slot)); });
  }
  void keep(Index row) {
    copy_row(x_, row, chosen_.data() + count_ * x_.columns);
    squares_[at(count_)] = square_of(centre(count_));
    ++count_;
  }

  // The first row at which the running sum reaches `share` of the total.
  Index drawn(double share) const {
    double total = 0.0, before = 0.0;
    for (const double part : totals_)
      total += part;
    const double wanted = share * total;
    Index last = x_.rows - 1;
    for (Index slot = 0; slot < slots_; ++slot) {
      if (before + totals_[at(slot)] >= wanted) {
        const Range range = slot_range(x_.rows, slots_, slot);
        double running = 0.0;
        for (Index i = range.begin; i < range.end; ++i) {
          running += weight(i) * distance_[at(i)];
          if (before + running >= wanted)
            return i;
        }
        last = range.end - 1;
      }
      before += totals_[at(slot)];
    }
    return last;
  }

  // A quarter of the squared distances of the candidates from the centres, a little less: what a row must exceed.
  void compare_centres() {
    constexpr double quarter = 0.2499999;
    parallel(count_, count_ * trials_ * x_.columns < 65536 ? 1 : threads_, [&](Index k, int) {
      double least = std::numeric_limits<double>::infinity();
      for (Index j = 0; j < trials_; ++j) {
        const double away = quarter * kernels().dense<double>().square_distance(
                                          centre(k), candidates_.data() + j * x_.columns, x_.columns);
        between_[at(k * trials_ + j)] = away;
        least = std::min(least, away);
      }
      near_[at(k)] = least;
    });
  }

  bool is_far(Index i) const { return distance_[at(i)] <= near_[at(own_[at(i)])] || weight(i) == 0.0; }

  void gain(Range range, double *gains) {
    std::fill_n(gains, trials_, 0.0);
    for (Index i = range.begin; i < range.end; ++i) {
      touched_[at(i)] = !is_far(i);
      if (!touched_[at(i)])
        continue;
      const double here = distance_[at(i)], *between = between_.data() + own_[at(i)] * trials_;
      for (Index j = 0; j < trials_; ++j)
        if (here > between[j])
          gains[j] += weight(i) * std::max(0.0, here - square_between(x_, i, candidate(j), candidate_squares_[at(j)]));
    }
  }

  // The same in single precision, by products of many rows with all candidates.
  void gain(Range range, const Centres &packed, double *gains) {
    const float *rows[contest_rows];
    float start[contest_rows], weights[contest_rows], most[contest_rows];
    Index row[contest_rows], count = 0;
    std::vector<float> part(packed.half.size());
    std::fill_n(gains, trials_, 0.0);
    const double unit = singles_.unit * singles_.unit;
    const auto flush = [&] {
      std::fill(part.begin(), part.end(), 0.0f);
      kernels().gains(rows, count, x_.columns, packed.packed.data(), packed.half.data(), packed.panels, start, weights,
                      part.data(), most);
      for (Index i = 0; i < count; ++i) {
        const double square = static_cast<double>(singles_.square[at(row[i])]);
        touched_[at(row[i])] =
            !(static_cast<double>(most[i]) < -packed.margin(square, x_.columns) - 8.0 * single_roundoff * square);
      }
      for (Index j = 0; j < trials_; ++j)
        gains[j] += static_cast<double>(part[at(j)]);
      count = 0;
    };
    for (Index i = range.begin; i < range.end; ++i) {
      touched_[at(i)] = 0;
      if (is_far(i))
        continue;
      rows[count] = singles_.at(i);
      start[count] = static_cast<float>(unit * distance_[at(i)] - static_cast<double>(singles_.square[at(i)]));
      weights[count] = static_cast<float>(weight(i));
      row[count++] = i;
      if (count == contest_rows)
        flush();
    }
    if (count > 0)
      flush();
  }

  double update(Range range, Index number, Index best) {
    double total = 0.0;
    for (Index i = range.begin; i < range.end; ++i) {
      double &here = distance_[at(i)];
      if (touched_[at(i)] && here > between_[at(own_[at(i)] * trials_ + best)]) {
        const double there = square_between(x_, i, centre(number), squares_[at(number)]);
        if (there < here) {
          here = there;
          own_[at(i)] = static_cast<std::int32_t>(number);
        }
      }
      total += weight(i) * here;
    }
    return total;
  }

  const Rows &x_;
  std::span<const double> weight_;
  Index trials_, slots_ = 1, count_ = 0;
  int threads_;
  Weights chosen_;
  std::vector<double> squares_;
  Weights candidates_;
  std::vector<double> candidate_squares_, between_, near_, distance_;
  std::vector<std::int32_t> own_;
  SingleRows singles_;
  std::vector<char> touched_;
  std::vector<double> totals_, gains_;
};

// `go_on` is asked now and then; where it says no, the rows so far are returned.
template <class Rows>
std::vector<std::int64_t> seed(const Rows &x, std::span<const double> weight, Index first,
                               std::span<const double> draws, Index trials, int threads,
                               const std::function<bool()> &go_on) {
  check_weights(weight);
  const Index more = static_cast<Index>(draws.size()) / trials;
  Seeding<Rows> seeding(x, weight, more + 1, trials, threads);
  std::vector<std::int64_t> rows{first};
  seeding.start(first);
  for (Index c = 0; c < more && (c % 16 != 15 || go_on()); ++c)
    rows.push_back(seeding.step(draws.data() + c * trials));
  return rows;
}

} // namespace tenfold
