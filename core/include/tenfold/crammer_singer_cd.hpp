// Block coordinate descent on the dual of the joint hinge loss of several classes (Crammer and Singer 2001; Keerthi,
// Sundararajan, Chang, Hsieh and Lin 2008).
//
// Given rows x_i, each with one more entry `unit`, classes y_i, costs C_i > 0 and offsets o_k of the classes, minimises
//   1/2 sum_k |w_k|^2 + sum_i C_i (max_k (z_ik + [k != y_i]) - z_iy),   z_ik = w_k.[x_i, unit] + o_k,
// by its dual: shares p_i of the simplex, w_k = sum_i C_i ([k = y_i] - p_ik) [x_i, unit]. The best p_i for given others
// is the point of the simplex nearest to p_i + (z_i + [k != y_i]) / (C_i (|x_i|^2 + unit^2)). An epoch takes every row
// once, in a shuffled order, but those that were left out: with all of their share on their own class, and further from
// any other than anything moved in the last epoch. The violation of a row is the largest of z + [k != y] minus the
// least that has a share; an epoch returns the largest, and leaves the sum of the gaps C_i (max_k - sum_k p_ik) (z_ik +
// [k != y_i]) that it has met. Flops: 4 K an entry of the rows that move, 2 K of the others.
// The weights of a column are next to each other.
#pragma once

#include "tenfold/permutation.hpp"
#include "tenfold/row_access.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace tenfold {

struct JointAscent {
  // the problem
  Index classes = 0;
  std::vector<std::int32_t> label;
  std::vector<double> cost, offset;
  double unit = 0.0;
  // where it is: shares (rows x classes), weights (columns + 1 x classes), those of `unit` last
  std::vector<double> share, w, square;
  std::vector<Index> order;
  Index active = 0;
  double reach = std::numeric_limits<double>::infinity(), gap = 0.0;
  Random random{0};
  std::vector<double> z, next, sorted; // of one row

  Index rows() const { return static_cast<Index>(label.size()); }
  Index vectors() const { return classes; } // of weights
  void take_all() {
    active = static_cast<Index>(order.size());
    reach = std::numeric_limits<double>::infinity();
  }
};

// z_k += sum_j x_j w_jk, or w_jk += c_k x_j.
template <class T, class F> void for_entries(const Dense<T> &x, Index i, F &&f) {
  for (Index j = 0; j < x.columns; ++j)
    f(j, static_cast<double>(x.data[i * x.columns + j]));
}
template <class T, class I, class F> void for_entries(const Sparse<T, I> &x, Index i, F &&f) {
  const auto begin = static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(i)]);
  const auto end = static_cast<std::size_t>(x.indptr[static_cast<std::size_t>(i) + 1]);
  for (std::size_t e = begin; e < end; ++e)
    f(static_cast<Index>(x.indices[e]), static_cast<double>(x.data[e]));
}

template <class Rows> void begin(const Rows &x, JointAscent &s) {
  const auto row = row_of(x);
  const std::size_t n = s.label.size(), K = static_cast<std::size_t>(s.classes);
  s.share.assign(n * K, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    s.share[i * K + static_cast<std::size_t>(s.label[i])] = 1.0;
  s.w.assign((static_cast<std::size_t>(x.columns) + 1) * K, 0.0);
  s.square.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    s.square[i] = row.squares(static_cast<Index>(i)) + s.unit * s.unit;
  s.order.resize(n);
  std::iota(s.order.begin(), s.order.end(), Index{0});
  s.z.resize(K), s.next.resize(K), s.sorted.resize(K);
  s.take_all();
}

// The point of the simplex nearest to v (Held, Wolfe and Crowder 1974).
inline void onto_simplex(std::span<double> v, std::span<double> sorted) {
  std::copy(v.begin(), v.end(), sorted.begin());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double sum = 0.0, level = 0.0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double candidate = (sum - 1.0) / static_cast<double>(k + 1);
    if (sorted[k] > candidate)
      level = candidate;
  }
  for (double &entry : v)
    entry = std::max(0.0, entry - level);
}

// One epoch. Returns the largest violation.
template <class Rows> double epoch(const Rows &x, JointAscent &s) {
  const auto row = row_of(x);
  const Index K = s.classes;
  for (Index k = 0; k < s.active; ++k) {
    const Index other = k + static_cast<Index>(s.random.below(static_cast<std::uint64_t>(s.active - k)));
    std::swap(s.order[static_cast<std::size_t>(k)], s.order[static_cast<std::size_t>(other)]);
  }
  double largest = 0.0, *last = s.w.data() + x.columns * K, *z = s.z.data(), *next = s.next.data();
  s.gap = 0.0;
  for (Index place = 0; place < s.active; ++place) {
    if (place + 2 < s.active)
      row.fetch(s.order[static_cast<std::size_t>(place + 2)]);
    const Index i = s.order[static_cast<std::size_t>(place)];
    const auto at = static_cast<std::size_t>(i);
    const Index own = s.label[at];
    double *p = s.share.data() + i * K;
    for (Index k = 0; k < K; ++k)
      z[k] = s.offset[static_cast<std::size_t>(k)] + last[k] * s.unit + (k == own ? 0.0 : 1.0);
    for_entries(x, i, [&](Index j, double value) {
      const double *w = s.w.data() + j * K;
      for (Index k = 0; k < K; ++k)
        z[k] += value * w[k];
    });
    double high = -std::numeric_limits<double>::infinity(), low = std::numeric_limits<double>::infinity(), rival = high;
    for (Index k = 0; k < K; ++k) {
      high = std::max(high, z[k]);
      if (p[k] > 0.0)
        low = std::min(low, z[k]);
      if (k != own)
        rival = std::max(rival, z[k]);
    }
    if (!(high > low)) {
      if (p[own] == 1.0 && z[own] - rival > s.reach) {
        --s.active;
        std::swap(s.order[static_cast<std::size_t>(place)], s.order[static_cast<std::size_t>(s.active)]);
        --place;
      }
      continue;
    }
    largest = std::max(largest, high - low);
    for (Index k = 0; k < K; ++k)
      s.gap += s.cost[at] * p[k] * (high - z[k]);
    const double curvature = s.cost[at] * s.square[at];
    // without curvature all of the share goes to the largest
    for (Index k = 0; k < K; ++k)
      next[k] = curvature > 0.0 ? p[k] + z[k] / curvature : (z[k] == high ? 1.0 : 0.0);
    if (curvature > 0.0)
      onto_simplex(s.next, s.sorted);
    for (Index k = 0; k < K; ++k) {
      const double change = s.cost[at] * (p[k] - next[k]);
      p[k] = next[k];
      next[k] = change;
      last[k] += change * s.unit;
    }
    for_entries(x, i, [&](Index j, double value) {
      double *w = s.w.data() + j * K;
      for (Index k = 0; k < K; ++k)
        w[k] += value * next[k];
    });
  }
  s.reach = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
  return largest;
}

} // namespace tenfold
