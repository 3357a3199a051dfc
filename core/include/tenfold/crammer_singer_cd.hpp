// Block dual coordinate descent for the multiclass hinge loss of Crammer and Singer (2001; Keerthi, Sundararajan,
// Chang, Hsieh and Lin 2008).
//
// Given samples x_i, each extended by one entry `unit`, classes y_i, costs C_i > 0 and class offsets o_k, minimises
//   1/2 sum_k |w_k|^2 + sum_i C_i (max_k (z_ik + [k != y_i]) - z_iy),   z_ik = w_k.[x_i, unit] + o_k,
// through its dual: p_i in the simplex, w_k = sum_i C_i ([k = y_i] - p_ik) [x_i, unit]. The best p_i given the others
// is the projection of p_i + (z_i + [k != y_i]) / (C_i (|x_i|^2 + unit^2)) onto the simplex. An epoch visits every
// active sample once, in random order; samples with p_i on their own class and a margin above the largest violation of
// the last epoch are shrunk. The violation of a sample is the largest of z + [k != y] minus the smallest where p_ik >
// 0; an epoch returns the largest, and leaves the sum of the gap terms C_i (max_k - sum_k p_ik) (z_ik + [k != y_i]) it
// has seen. Flops: 4 K per entry of samples whose p_i changes, 2 K otherwise. The weights of a column are contiguous
// over classes.
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

struct CrammerSingerCd {
  // the problem
  Index classes = 0;
  std::vector<std::int32_t> label;
  std::vector<double> cost, offset;
  double unit = 0.0;
  // the iterate: dual variables p (n x classes), weights (columns + 1 x classes), those of `unit` last
  std::vector<double> dual, w, square;
  std::vector<Index> order;
  Index active = 0;
  double shrink_threshold = std::numeric_limits<double>::infinity(), gap = 0.0;
  Random random{0};
  std::vector<double> z, next, sorted; // scratch of one sample

  Index rows() const { return static_cast<Index>(label.size()); }
  Index vectors() const { return classes; } // weight vectors
  void unshrink() {
    active = static_cast<Index>(order.size());
    shrink_threshold = std::numeric_limits<double>::infinity();
  }
};

// Calls f(j, x_ij) for the entries of a row.
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

template <class Rows> void begin(const Rows &x, CrammerSingerCd &s) {
  const auto row = row_access(x);
  const std::size_t n = s.label.size(), K = static_cast<std::size_t>(s.classes);
  s.dual.assign(n * K, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    s.dual[i * K + static_cast<std::size_t>(s.label[i])] = 1.0;
  s.w.assign((static_cast<std::size_t>(x.columns) + 1) * K, 0.0);
  s.square.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    s.square[i] = row.squared_norm(static_cast<Index>(i)) + s.unit * s.unit;
  s.order.resize(n);
  std::iota(s.order.begin(), s.order.end(), Index{0});
  s.z.resize(K), s.next.resize(K), s.sorted.resize(K);
  s.unshrink();
}

// Euclidean projection onto the simplex (Held, Wolfe and Crowder 1974).
inline void project_onto_simplex(std::span<double> v, std::span<double> sorted) {
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
template <class Rows> double epoch(const Rows &x, CrammerSingerCd &s) {
  const auto row = row_access(x);
  const Index K = s.classes;
  for (Index k = 0; k < s.active; ++k) {
    const Index other = k + static_cast<Index>(s.random.below(static_cast<std::uint64_t>(s.active - k)));
    std::swap(s.order[static_cast<std::size_t>(k)], s.order[static_cast<std::size_t>(other)]);
  }
  double largest = 0.0, *last = s.w.data() + x.columns * K, *z = s.z.data(), *next = s.next.data();
  s.gap = 0.0;
  for (Index place = 0; place < s.active; ++place) {
    if (place + 2 < s.active)
      row.prefetch(s.order[static_cast<std::size_t>(place + 2)]);
    const Index i = s.order[static_cast<std::size_t>(place)];
    const auto at = static_cast<std::size_t>(i);
    const Index label_i = s.label[at];
    double *p = s.dual.data() + i * K;
    for (Index k = 0; k < K; ++k)
      z[k] = s.offset[static_cast<std::size_t>(k)] + last[k] * s.unit + (k == label_i ? 0.0 : 1.0);
    for_entries(x, i, [&](Index j, double value) {
      const double *w = s.w.data() + j * K;
      for (Index k = 0; k < K; ++k)
        z[k] += value * w[k];
    });
    double high = -std::numeric_limits<double>::infinity(), low = std::numeric_limits<double>::infinity(),
           runner_up = high;
    for (Index k = 0; k < K; ++k) {
      high = std::max(high, z[k]);
      if (p[k] > 0.0)
        low = std::min(low, z[k]);
      if (k != label_i)
        runner_up = std::max(runner_up, z[k]);
    }
    if (!(high > low)) {
      if (p[label_i] == 1.0 && z[label_i] - runner_up > s.shrink_threshold) {
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
    // without curvature p moves entirely to the largest score
    for (Index k = 0; k < K; ++k)
      next[k] = curvature > 0.0 ? p[k] + z[k] / curvature : (z[k] == high ? 1.0 : 0.0);
    if (curvature > 0.0)
      project_onto_simplex(s.next, s.sorted);
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
  s.shrink_threshold = largest > 0.0 ? largest : std::numeric_limits<double>::infinity();
  return largest;
}

} // namespace tenfold
