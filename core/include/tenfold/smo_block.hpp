// Sequential minimal optimisation of a few variables, whose kernel is in memory: for given z, bounds and diagonal
//   min over beta   1/2 beta' K beta + 1/2 sum_v d_v beta_v^2 - sum_v z_v beta_v,   lo <= beta <= hi,
// the sum of beta of each group of variables staying what it is. With value_v = z_v - (K beta)_v - d_v beta_v, minus
// the derivative, a variable below hi may increase and one above lo may decrease; at a minimum no value of one that may
// increase exceeds a value of one that may decrease within a group. The pair of a step is the largest that may
// increase, and the one that may decrease with the largest decrease of the objective with it (Fan, Chen and Lin, 2005).
//
// Variables of group 0 come first, and each group is padded to whole SIMD vectors.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/poll.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace tenfold {

constexpr double infinite = std::numeric_limits<double>::infinity();

inline Index round_up_lanes(Index count) { return (count + lanes - 1) / lanes * lanes; }

template <class T> class SmoBlock {
public:
  // Room for `first` variables of group 0 and `second` of group 1.
  SmoBlock(Index first, Index second)
      : begin_{0, round_up_lanes(first), round_up_lanes(first) + round_up_lanes(second)}, value_(size()),
        increase_(size()), decrease_(size()), diagonal_(size()), beta_(size()), lo_(size()), hi_(size()),
        extra_(size()), kernel_(static_cast<std::size_t>(size() * size())) {
    for (Index v = 0; v < size(); ++v)
      increase_[v] = -infinite, decrease_[v] = infinite;
  }

  Index size() const { return begin_[2]; }
  Index begin(int group) const { return begin_[static_cast<std::size_t>(group)]; }
  T *row(Index v) { return kernel_.data() + v * size(); }
  double beta(Index v) const { return beta_[v]; }
  double value(Index v) const { return value_[v]; }

  // Variable v; its row of the kernel is written by the caller before `solve`.
  void set(Index v, double value, double beta, double lo, double hi, double extra) {
    value_[v] = value, beta_[v] = beta, lo_[v] = lo, hi_[v] = hi, extra_[v] = extra;
    mark(v);
  }

  // Steps until no pair differs by more than `allowed`, or `limit` of them; returns their number.
  Index solve(double allowed, Index limit) {
    for (Index v = 0; v < size(); ++v)
      diagonal_[v] = static_cast<double>(row(v)[v]) + extra_[v];
    const double least = 1e-12 * std::max(*std::max_element(diagonal_.data(), diagonal_.data() + size()), 1e-290);
    std::array<SmoTop, 2> top;
    move(0, 0, 0.0, top);
    Index steps = 0;
    for (; steps < limit; ++steps) {
      Index up = -1, down = -1;
      double gain = 0.0;
      for (int g = 0; g < 2; ++g)
        if (const SmoTop &best = top[static_cast<std::size_t>(g)]; best.value - best.least > allowed)
          choose(g, best, least, up, down, gain);
      if (down < 0)
        break;
      step(up, down, least, top);
      if (steps % 4096 == 4095)
        poll();
    }
    return steps;
  }

private:
  void mark(Index v) {
    increase_[v] = beta_[v] < hi_[v] ? 0.0 : -infinite;
    decrease_[v] = beta_[v] > lo_[v] ? 0.0 : infinite;
  }
  void move(Index up, Index down, double t, std::array<SmoTop, 2> &top) {
    for (int g = 0; g < 2; ++g) {
      const Index b = begin(g), count = begin(g + 1) - b;
      SmoTop &best = top[static_cast<std::size_t>(g)];
      best = {-infinite, infinite, 0};
      if (count > 0)
        kernels().dense<T>().smo_move(value_.data() + b, increase_.data() + b, decrease_.data() + b, row(up) + b,
                                      row(down) + b, t, count, &best);
      best.number += b;
    }
  }
  void choose(int g, const SmoTop &best, double least, Index &up, Index &down, double &gain) {
    const Index b = begin(g), i = best.number;
    const Index j =
        kernels().dense<T>().smo_gain(value_.data() + b, decrease_.data() + b, row(i) + b, diagonal_.data() + b,
                                      diagonal_[i], best.value, least, begin(g + 1) - b);
    if (j < 0)
      return;
    const double away = best.value - value_[b + j], here = away * away / curvature(i, b + j, least);
    if (here > gain)
      up = i, down = b + j, gain = here;
  }
  double curvature(Index i, Index j, double least) {
    return std::max(diagonal_[i] + diagonal_[j] - 2.0 * static_cast<double>(row(i)[j]), least);
  }
  void step(Index i, Index j, double least, std::array<SmoTop, 2> &top) {
    const double up = hi_[i] - beta_[i], down = beta_[j] - lo_[j];
    const double free = (value_[i] - value_[j]) / curvature(i, j, least), t = std::min({free, up, down});
    beta_[i] = t == up ? hi_[i] : beta_[i] + t;
    beta_[j] = t == down ? lo_[j] : beta_[j] - t;
    value_[i] -= t * extra_[i], value_[j] += t * extra_[j];
    mark(i), mark(j);
    move(i, j, t, top);
  }

  std::array<Index, 3> begin_;
  Buffer value_, increase_, decrease_, diagonal_, beta_, lo_, hi_, extra_;
  std::vector<T, CacheLineAllocator<T>> kernel_;
};

} // namespace tenfold
