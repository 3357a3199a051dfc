// Dual coordinate descent for linear support vector machines (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Ho and
// Lin 2012, LIBLINEAR), with shrinking and over-relaxation.
//
// Given samples x_i, each extended by one entry `unit`, targets t_i, box constraints [low_i, high_i], curvatures d_i >=
// 0 and the half width of a tube epsilon >= 0, minimises over the dual variables b
//   1/2 |w|^2 + sum_i (d_i b_i^2 / 2 - t_i b_i + epsilon |b_i|),   w = sum_i b_i [x_i, unit],   low_i <= b_i <= high_i.
// Hinge: epsilon = 0, t = y, the interval between 0 and y C_i, d = 0; squared hinge: between 0 and y infinity,
// d = 1 / (2 C_i); epsilon-insensitive losses: symmetric intervals. An epoch visits every active sample once, in random
// order:
//   b_i <- over-relaxed minimiser along b_i by the factor `relaxation`,  w <- w + (change of b_i) [x_i, unit].
// Any factor in [1, 2) decreases the objective (successive over-relaxation). If the gap decreases like the square of
// the error, the rate r of an epoch gives the spectral radius m of the Jacobi iteration, (r + f - 1)^2 = r f^2 m^2 with
// the factor f, and the optimal factor is 2 / (1 + sqrt(1 - m^2)) (Young 1954). That theory is for a fixed order and
// inactive constraints: larger factors than `max_relaxation` do not pay here. The order shuffles runs of consecutive
// rows, and then the rows within groups of 16 runs. It converges like a full shuffle and reads memory some kilobytes at
// a time, in half the time; whole runs without the second shuffle would need several times as many epochs. The
// violation of a sample is the size of its projected gradient; an epoch returns the largest. Its part of the duality
// gap is how far its own terms and z b_i, z = w.[x_i, unit], can decrease together; an epoch leaves the sum of the
// values it has seen, which costs no extra pass and mostly overestimates the gap after it. Flops: 4 per entry of
// samples whose variable changes, 2 otherwise; bytes: the active samples, once an epoch.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/permutation.hpp"
#include "tenfold/row_access.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tenfold {

struct DualCd {
  // the problem
  std::vector<double> target, low, high, curvature;
  double epsilon = 0.0, unit = 0.0;
  // the iterate: the last entry of w belongs to `unit`
  Weights w;
  std::vector<double> b, square;
  std::vector<Index> order;        // the first `active` entries are the active samples, in memory order
  std::vector<Index> runs, visits; // scratch: the visiting order of an epoch
  std::vector<char> shrunk;        // samples to shrink
  Index active = 0, run = 1;
  double shrink_threshold =
      std::numeric_limits<double>::infinity();          // shrinking threshold: the largest violation of the last epoch
  double gap = std::numeric_limits<double>::infinity(); // sum of the gap terms seen by the last epoch
  double relaxation = 1.0;
  Random random{0};

  Index rows() const { return static_cast<Index>(target.size()); }
  Index vectors() const { return 1; } // weight vectors
  void unshrink() {
    active = static_cast<Index>(order.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::fill(shrunk.begin(), shrunk.end(), char{0});
    shrink_threshold = gap = std::numeric_limits<double>::infinity();
  }
  // Sets the relaxation factor from the gap before the last epoch on the same active set. It never decreases: a better
  // factor shows its effect late.
  void update_relaxation(double previous) {
    constexpr double max_relaxation = 1.4;
    const double rate = std::sqrt(gap / previous), root = (rate + relaxation - 1.0) / relaxation;
    if (!(rate > relaxation - 1.0 && rate < 1.0 && rate > 0.0)) // the formula holds below the optimal factor
      return;
    const double radius = std::min(root * root / rate, 1.0); // its square
    relaxation = std::clamp(2.0 / (1.0 + std::sqrt(1.0 - radius)), relaxation, max_relaxation);
  }
  // Drops shrunk samples; the others keep their order, so that runs stay contiguous.
  void shrink() {
    const auto end = order.begin() + active;
    active = std::remove_if(order.begin(), end, [&](Index i) { return shrunk[static_cast<std::size_t>(i)] != 0; }) -
             order.begin();
  }
};

inline void shuffle(std::span<Index> order, Random &random) {
  for (std::size_t k = 0; k < order.size(); ++k)
    std::swap(order[k], order[k + static_cast<std::size_t>(random.below(order.size() - k))]);
}

// Initialises b = 0.
template <class Rows> void begin(const Rows &x, DualCd &state) {
  const auto row = row_access(x);
  const std::size_t n = state.target.size();
  state.b.assign(n, 0.0);
  state.w.assign(static_cast<std::size_t>(x.columns) + 1, 0.0);
  state.square.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    state.square[i] = row.squared_norm(static_cast<Index>(i)) + state.unit * state.unit;
  state.order.resize(n), state.shrunk.resize(n), state.visits.reserve(n);
  state.unshrink();
}

// One-sided derivatives of the dual objective at b_i, and the projected gradient.
struct OneSidedSlopes {
  double right, left, violation;
  OneSidedSlopes(double g, double b, double low, double high, double epsilon)
      : right(g + (b >= 0.0 ? epsilon : -epsilon)), left(g + (b > 0.0 ? epsilon : -epsilon)),
        violation(std::max({b < high ? -right : 0.0, b > low ? left : 0.0, 0.0})) {}
  // Whether to shrink: at a bound, or at the kink of the tube, and held there by more than the largest violation of the
  // last epoch.
  bool should_shrink(double b, double low, double high, double epsilon, double shrink_threshold) const {
    return (b == low && right > shrink_threshold) || (b == high && left < -shrink_threshold) ||
           (b == 0.0 && epsilon > 0.0 && right > shrink_threshold && left < -shrink_threshold);
  }
};

// Minimiser along b_i alone, where the derivative at b is g and the curvature q.
inline double minimise_coordinate(double g, double q, double b, double low, double high, double epsilon) {
  if (!(q > 0.0))
    return g < -epsilon ? high : (g > epsilon || epsilon == 0.0 ? low : 0.0);
  const double free = b - g / q, threshold = epsilon / q;
  const double moved = free > threshold ? free - threshold : (free < -threshold ? free + threshold : 0.0);
  return std::clamp(moved, low, high);
}

// Over-relaxed step from b beyond the minimiser `moved`, clipped to the bounds and to the kink of the tube.
inline double over_relax(double moved, double b, double relaxation, double low, double high, double epsilon) {
  if (epsilon > 0.0 && moved == 0.0)
    return moved;
  if (epsilon > 0.0)
    (moved > 0.0 ? low : high) = 0.0;
  return std::clamp(b + relaxation * (moved - b), low, high);
}

// Updates b_i and w. Returns the violation; marks the sample for shrinking where it is held at a bound.
template <class Row> double update_coordinate(const Row &row, Index i, DualCd &state, double &last) {
  const auto s = static_cast<std::size_t>(i);
  const double b = state.b[s], d = state.curvature[s], low = state.low[s], high = state.high[s];
  const double g = row.dot(i, state.w.data()) + last * state.unit - state.target[s] + d * b;
  const OneSidedSlopes slopes(g, b, low, high, state.epsilon);
  if (slopes.violation == 0.0) {
    state.shrunk[s] = slopes.should_shrink(b, low, high, state.epsilon, state.shrink_threshold);
    return 0.0;
  }
  const double far = minimise_coordinate(g, d, b, low, high, state.epsilon);
  state.gap += (b - far) * (g + 0.5 * d * (far - b)) + state.epsilon * (std::fabs(b) - std::fabs(far));
  const double best = minimise_coordinate(g, state.square[s] + d, b, low, high, state.epsilon);
  const double moved = over_relax(best, b, state.relaxation, low, high, state.epsilon);
  if (moved != b && std::isfinite(moved)) {
    state.b[s] = moved;
    row.axpy(i, moved - b, state.w.data());
    last += (moved - b) * state.unit;
  }
  return slopes.violation;
}

// Fills `visits`, the visiting order of an epoch.
inline void draw_order(DualCd &state) {
  constexpr std::size_t runs_per_group = 16; // runs that are shuffled together
  const Index runs = (state.active + state.run - 1) / state.run;
  state.runs.resize(static_cast<std::size_t>(runs));
  std::iota(state.runs.begin(), state.runs.end(), Index{0});
  shuffle(state.runs, state.random);
  state.visits.clear();
  std::size_t begin = 0;
  for (std::size_t k = 0; k < state.runs.size(); ++k) {
    const Index first = state.runs[k] * state.run, end = std::min(first + state.run, state.active);
    state.visits.insert(state.visits.end(), state.order.begin() + first, state.order.begin() + end);
    if ((k + 1) % runs_per_group == 0 || k + 1 == state.runs.size()) {
      shuffle(std::span(state.visits).subspan(begin), state.random);
      begin = state.visits.size();
    }
  }
}

// One epoch. Returns the largest violation.
template <class Rows> double epoch(const Rows &x, DualCd &state) {
  constexpr std::size_t ahead = 2; // rows of prefetch distance
  const auto row = row_access(x);
  draw_order(state);
  double largest = 0.0;
  const double previous = std::exchange(state.gap, 0.0);
  for (std::size_t k = 0; k < state.visits.size(); ++k) {
    if (k + ahead < state.visits.size())
      row.prefetch(state.visits[k + ahead]);
    largest = std::max(largest, update_coordinate(row, state.visits[k], state, state.w.back()));
  }
  state.update_relaxation(previous);
  state.shrink();
  state.shrink_threshold = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
  return largest;
}

} // namespace tenfold
