// Coordinate descent on the dual of a linear support vector machine (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008;
// Ho and Lin 2012), with rows left out that sit at an end of their interval (shrinking).
//
// Given rows x_i, each with one more entry `unit`, targets t_i, intervals [low_i, high_i], curvatures d_i >= 0 and half
// of the width of a tube epsilon >= 0, minimises over b
//   1/2 |w|^2 + sum_i (d_i b_i^2 / 2 - t_i b_i + epsilon |b_i|),   w = sum_i b_i [x_i, unit],   low_i <= b_i <= high_i.
// Hinge: epsilon = 0, t = y, the interval between 0 and y C_i, d = 0; squared hinge: between 0 and y infinity,
// d = 1 / (2 C_i); the losses with a tube: the same on both sides of 0. One epoch takes every row that is not left out
// once, in a shuffled order:
//   b_i <- past the minimum along b_i alone by a factor `stretch`,  w <- w + (change of b_i) [x_i, unit].
// Between 1 and 2 every factor goes down (successive over-relaxation). If the gap falls as the square of the error, the
// rate r of an epoch tells the radius m of Jacobi's method, (r + f - 1)^2 = r f^2 m^2 with the factor f, and the best
// factor is 2 / (1 + sqrt(1 - m^2)) (Young 1954). The theory is one of orders that are not shuffled and of rows that
// stay within their intervals: factors above some limit do not pay here.
// The order shuffles runs of neighbours in memory, and then the rows of every few runs together. It is as good as one
// that shuffles all rows at once, and reads the memory some kilobytes at a time, which takes half of the time; rows of
// one run after the other would need several times as many epochs.
// The violation of a row is how fast the objective falls where its interval lets b_i go; an epoch returns the largest.
// Its part of the duality gap is how far the row's own terms and z b_i, z = w.[x_i, unit], can fall together; an epoch
// leaves the sum of what it has met, which takes no other pass, and is mostly more than what is left after it.
// Flops: 4 an entry of the rows that move, 2 of the others; bytes: the rows that are taken, once an epoch.
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

struct DualAscent {
  // the problem
  std::vector<double> target, low, high, curvature;
  double epsilon = 0.0, unit = 0.0;
  // where it is: the last entry of w belongs to `unit`
  Weights w;
  std::vector<double> b, square;
  std::vector<Index> order;       // the rows that are taken, as in memory, and room for the others
  std::vector<Index> runs, taken; // scratch: the order of an epoch
  std::vector<char> out;          // the rows that are left out
  Index active = 0, run = 1;
  double reach = std::numeric_limits<double>::infinity(); // the largest violation of the epoch before
  double gap = std::numeric_limits<double>::infinity();   // the sum of the gaps that the last epoch met
  double stretch = 1.0;
  Random random{0};

  Index rows() const { return static_cast<Index>(target.size()); }
  Index vectors() const { return 1; } // of weights
  void take_all() {
    active = static_cast<Index>(order.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::fill(out.begin(), out.end(), char{0});
    reach = gap = std::numeric_limits<double>::infinity();
  }
  // From the gap before the last epoch, where the same rows were taken; what pays is seen late, so it never shrinks.
  void stretch_after(double before) {
    constexpr double most = 1.4;
    const double rate = std::sqrt(gap / before), root = (rate + stretch - 1.0) / stretch;
    if (!(rate > stretch - 1.0 && rate < 1.0 && rate > 0.0)) // the formula holds up to the best factor
      return;
    const double radius = std::min(root * root / rate, 1.0); // its square
    stretch = std::clamp(2.0 / (1.0 + std::sqrt(1.0 - radius)), stretch, most);
  }
  // The others stay in their places, so that runs stay runs.
  void forget_those_out() {
    const auto end = order.begin() + active;
    active = std::remove_if(order.begin(), end, [&](Index i) { return out[static_cast<std::size_t>(i)] != 0; }) -
             order.begin();
  }
};

inline void shuffle(std::span<Index> order, Random &random) {
  for (std::size_t k = 0; k < order.size(); ++k)
    std::swap(order[k], order[k + static_cast<std::size_t>(random.below(order.size() - k))]);
}

// From b = 0.
template <class Rows> void begin(const Rows &x, DualAscent &state) {
  const auto row = row_of(x);
  const std::size_t n = state.target.size();
  state.b.assign(n, 0.0);
  state.w.assign(static_cast<std::size_t>(x.columns) + 1, 0.0);
  state.square.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    state.square[i] = row.squares(static_cast<Index>(i)) + state.unit * state.unit;
  state.order.resize(n), state.out.resize(n), state.taken.reserve(n);
  state.take_all();
}

// The slopes of the dual objective to both sides of b_i, and what is left of them within the interval.
struct Sides {
  double right, left, violation;
  Sides(double g, double b, double low, double high, double epsilon)
      : right(g + (b >= 0.0 ? epsilon : -epsilon)), left(g + (b > 0.0 ? epsilon : -epsilon)),
        violation(std::max({b < high ? -right : 0.0, b > low ? left : 0.0, 0.0})) {}
  // At an end, or amid the tube, and held there more firmly than anything moved in the last epoch.
  bool held(double b, double low, double high, double epsilon, double reach) const {
    return (b == low && right > reach) || (b == high && left < -reach) ||
           (b == 0.0 && epsilon > 0.0 && right > reach && left < -reach);
  }
};

// The minimum along b_i alone, where the slope at b is g and the curvature q.
inline double best_along(double g, double q, double b, double low, double high, double epsilon) {
  if (!(q > 0.0))
    return g < -epsilon ? high : (g > epsilon || epsilon == 0.0 ? low : 0.0);
  const double free = b - g / q, threshold = epsilon / q;
  const double moved = free > threshold ? free - threshold : (free < -threshold ? free + threshold : 0.0);
  return std::clamp(moved, low, high);
}

// Past `moved`, which is best from b on: not over an end, nor over the kink in the middle of a tube.
inline double past(double moved, double b, double stretch, double low, double high, double epsilon) {
  if (epsilon > 0.0 && moved == 0.0)
    return moved;
  if (epsilon > 0.0)
    (moved > 0.0 ? low : high) = 0.0;
  return std::clamp(b + stretch * (moved - b), low, high);
}

// Moves b_i, and w with it. Returns the violation; a row that is held where it is is left out from now on.
template <class Row> double move(const Row &row, Index i, DualAscent &state, double &last) {
  const auto s = static_cast<std::size_t>(i);
  const double b = state.b[s], d = state.curvature[s], low = state.low[s], high = state.high[s];
  const double g = row.dot(i, state.w.data()) + last * state.unit - state.target[s] + d * b;
  const Sides sides(g, b, low, high, state.epsilon);
  if (sides.violation == 0.0) {
    state.out[s] = sides.held(b, low, high, state.epsilon, state.reach);
    return 0.0;
  }
  const double far = best_along(g, d, b, low, high, state.epsilon);
  state.gap += (b - far) * (g + 0.5 * d * (far - b)) + state.epsilon * (std::fabs(b) - std::fabs(far));
  const double best = best_along(g, state.square[s] + d, b, low, high, state.epsilon);
  const double moved = past(best, b, state.stretch, low, high, state.epsilon);
  if (moved != b && std::isfinite(moved)) {
    state.b[s] = moved;
    row.add(i, moved - b, state.w.data());
    last += (moved - b) * state.unit;
  }
  return sides.violation;
}

// Fills `taken`: the order of an epoch.
inline void draw(DualAscent &state) {
  constexpr std::size_t together = 16; // so many runs
  const Index runs = (state.active + state.run - 1) / state.run;
  state.runs.resize(static_cast<std::size_t>(runs));
  std::iota(state.runs.begin(), state.runs.end(), Index{0});
  shuffle(state.runs, state.random);
  state.taken.clear();
  std::size_t begin = 0;
  for (std::size_t k = 0; k < state.runs.size(); ++k) {
    const Index first = state.runs[k] * state.run, end = std::min(first + state.run, state.active);
    state.taken.insert(state.taken.end(), state.order.begin() + first, state.order.begin() + end);
    if ((k + 1) % together == 0 || k + 1 == state.runs.size()) {
      shuffle(std::span(state.taken).subspan(begin), state.random);
      begin = state.taken.size();
    }
  }
}

// One epoch. Returns the largest violation.
template <class Rows> double epoch(const Rows &x, DualAscent &state) {
  constexpr std::size_t ahead = 2;
  const auto row = row_of(x);
  draw(state);
  double largest = 0.0;
  const double before = std::exchange(state.gap, 0.0);
  for (std::size_t k = 0; k < state.taken.size(); ++k) {
    if (k + ahead < state.taken.size())
      row.fetch(state.taken[k + ahead]);
    largest = std::max(largest, move(row, state.taken[k], state, state.w.back()));
  }
  state.stretch_after(before);
  state.forget_those_out();
  state.reach = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
  return largest;
}

} // namespace tenfold
