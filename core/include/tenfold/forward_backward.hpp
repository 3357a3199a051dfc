// Expected bigrams in gaps of sequences by the forward-backward recursion.
//
// A gap is a run of m missing words between a word b, or the start of its sequence, and a word d. With transitions
// P (V, V), rows of the word before, and start probabilities s (V,), its forward vectors are f_1 = P[b, :] (s at the
// start), f_t = f_(t-1) P, its backward vectors g_m = P[:, d], g_(t-1) = P g_t, and Z = f_t . g_t is the probability of
// d given b. The expected bigrams are f_(t-1)(i) P(i, j) g_t(j) / Z, and P[b, :] g_1 / Z, f_m P[:, d] / Z at the ends.
//
// Time: O(V) for a gap of one word, O(m V^2) for a longer one. Vectors are scaled by their sums, whose logarithms add
// up.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

// A gap of `length` words after the word `left`, -1 at a start, and before `right`, which counts `weight` times.
struct Gap {
  std::int64_t left, length, right;
  double weight;
};

class ForwardBackward {
public:
  // P and its transpose, and s; expected bigrams (V, V) and starts (V,) are added to.
  ForwardBackward(const double *transition, const double *transposed, const double *start, Index words, double *bigrams,
                  double *starts)
      : p_(transition), pt_(transposed), s_(start), v_(words), bigrams_(bigrams), starts_(starts) {}

  // Adds a gap and returns its weighted log probability, -inf where it is impossible.
  double add(const Gap &gap) {
    const auto m = static_cast<std::size_t>(gap.length), width = static_cast<std::size_t>(v_);
    if (forward_.size() < m * width)
      forward_.resize(m * width), backward_.resize(m * width);
    double log = 0.0;
    const double *first = gap.left < 0 ? s_ : p_ + gap.left * v_;
    std::copy_n(first, v_, forward_.begin());
    for (std::size_t t = 1; t < m; ++t)
      log += step(pt_, forward_.data() + (t - 1) * width, forward_.data() + t * width);
    const double *last = pt_ + gap.right * v_;
    const double z = kernels().f64.dot(forward_.data() + (m - 1) * width, last, v_);
    if (!(z > 0.0))
      return -std::numeric_limits<double>::infinity();
    std::copy_n(last, v_, backward_.data() + (m - 1) * width);
    for (std::size_t t = m - 1; t > 0; --t)
      step(p_, backward_.data() + t * width, backward_.data() + (t - 1) * width);
    collect(gap);
    return gap.weight * (log + std::log(z));
  }

private:
  // out = M x by rows, scaled to sum one; returns the log of the scale
  double step(const double *matrix, const double *x, double *out) const {
    double sum = 0.0;
    for (Index i = 0; i < v_; ++i)
      sum += out[i] = kernels().f64.dot(matrix + i * v_, x, v_);
    if (sum > 0.0)
      for (Index i = 0; i < v_; ++i)
        out[i] /= sum;
    return std::log(sum);
  }
  void collect(const Gap &gap) {
    const auto m = static_cast<std::size_t>(gap.length), width = static_cast<std::size_t>(v_);
    const auto row = [&](std::vector<double> &of, std::size_t t) { return of.data() + t * width; };
    double z = kernels().f64.dot(row(forward_, 0), row(backward_, 0), v_);
    double *first = gap.left < 0 ? starts_ : bigrams_ + gap.left * v_;
    for (Index j = 0; j < v_; ++j)
      first[j] += gap.weight / z * forward_[static_cast<std::size_t>(j)] * backward_[static_cast<std::size_t>(j)];
    for (std::size_t t = 1; t < m; ++t) {
      const double *f = row(forward_, t - 1), *g = row(backward_, t);
      double total = 0.0;
      for (Index i = 0; i < v_; ++i)
        total += f[i] * kernels().f64.dot(p_ + i * v_, g, v_);
      for (Index i = 0; i < v_; ++i) {
        const double scale = gap.weight / total * f[i];
        if (scale > 0.0)
          for (Index j = 0; j < v_; ++j)
            bigrams_[i * v_ + j] += scale * p_[i * v_ + j] * g[j];
      }
    }
    const double *f = row(forward_, m - 1), *last = pt_ + gap.right * v_;
    z = kernels().f64.dot(f, last, v_);
    for (Index i = 0; i < v_; ++i)
      bigrams_[i * v_ + gap.right] += gap.weight / z * f[i] * last[i];
  }

  const double *p_, *pt_, *s_;
  Index v_;
  double *bigrams_, *starts_;
  std::vector<double> forward_, backward_;
};

} // namespace tenfold
