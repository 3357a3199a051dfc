// The softmax loss of one tile: log(sum_k exp(z_k)) - z_y of each row, y its class.
//
// z_ik is z[k * step + i]; `count` rows, padded to a multiple of `lanes`, weight with zeros. Adds to
//   value = sum weight * loss      slope_k = sum weight * (p_k - [k = y]),   p_k = exp(z_k) / sum_j exp(z_j)
// and writes u_ik = weight * (p_k - [k = y]) like z. The largest z_k is subtracted, and its term is kept out of the sum
// of the others: a small loss, and the derivative of a nearly certain class, keep their digits. Rows of weight zero
// give zero whatever z.
#pragma once

#include "functions.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

void softmax(const double *y, const double *z, Index step, Index classes, const double *weight, Index count,
             double *value, double *slope, double *u) {
  Vector values{};
  for (Index i = 0; i < count; i += width) {
    const Vector w = load(weight + i), own = load(y + i);
    const auto counts = w > 0.0;
    Vector largest = load(z + i), best{}, right = largest;
    for (Index k = 1; k < classes; ++k) {
      const Vector zk = load(z + k * step + i), number = all(static_cast<double>(k));
      best = zk > largest ? number : best;
      largest = zk > largest ? zk : largest;
      right = own == number ? zk : right;
    }
    Vector others{};
    for (Index k = 0; k < classes; ++k) {
      const Vector e = exponential(load(z + k * step + i) - largest);
      others += best == all(static_cast<double>(k)) ? Vector{} : e;
      store(u + k * step + i, e);
    }
    const Vector share = 1.0 / (1.0 + others);
    values += counts ? w * (log_one_plus(others) + (largest - right)) : Vector{};
    for (Index k = 0; k < classes; ++k) {
      const Vector number = all(static_cast<double>(k));
      const Vector p = load(u + k * step + i) * share;
      const Vector missing = best == number ? -others * share : p - 1.0;
      const Vector weighted = counts ? w * (own == number ? missing : p) : Vector{};
      store(u + k * step + i, weighted);
    }
  }
  *value += sum(values);
  for (Index k = 0; k < classes; ++k) {
    Vector slopes{};
    for (Index i = 0; i < count; i += width)
      slopes += load(u + k * step + i);
    slope[k] += sum(slopes);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
