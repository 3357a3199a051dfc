// The losses of one row under many models, which lie side by side: model m gives the row a margin z_m and the weight
// weight * share_m. `models` is a multiple of `lanes`; share is zero behind the last model. Adds to
//   value_m += weight loss        slope_m += weight loss'
// and writes u_m = weight loss'. A model for which the row has no weight gets zero, whatever z. Logarithms are dear:
// where all weights are one, those of up to 512 rows are taken together, and the row multiplies factor_m instead.
#pragma once

#include "loss.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

// value += w (linear + log(1 + e)), the logarithm to factor unless that is null
inline void add_loss(Vector w, Vector linear, Vector e, double *value, double *factor) {
  if (factor != nullptr) {
    store(value, load(value) + (w > 0.0 ? linear : Vector{}));
    store(factor, load(factor) * (w > 0.0 ? 1.0 + e : all(1.0)));
  } else {
    store(value, load(value) + (w > 0.0 ? w * (linear + log_one_plus(e)) : Vector{}));
  }
}

// log(1 + exp(-y (z + b))), y in {-1, +1}
void model_logistic(double y, const double *z, const double *intercept, const double *share, double weight,
                    Index models, Index, double *value, double *factor, double *slope, double *u) {
  for (Index m = 0; m < models; m += width) {
    const Vector w = weight * load(share + m), margin = y * (load(z + m) + load(intercept + m));
    const auto counts = w > 0.0;
    const Vector e = exponential(-magnitude(margin)), whole = 1.0 + e;
    const Vector wrong = (margin < 0.0 ? all(1.0) : e) / whole; // the probability of the other class
    const Vector weighted = counts ? -y * w * wrong : Vector{};
    add_loss(w, margin > 0.0 ? Vector{} : -margin, e, value + m, factor ? factor + m : nullptr);
    store(slope + m, load(slope + m) + weighted);
    store(u + m, weighted);
  }
}

// log(sum_k exp(z_k + b_k)) - z_y - b_y, y a class number; the classes of a model are `models` apart, in z, intercept,
// slope and u. As in softmax.hpp the largest z_k is taken out, and the others are summed apart from it.
void model_softmax(double y, const double *z, const double *intercept, const double *share, double weight, Index models,
                   Index classes, double *value, double *factor, double *slope, double *u) {
  const Index own = static_cast<Index>(y);
  for (Index m = 0; m < models; m += width) {
    const Vector w = weight * load(share + m);
    const auto counts = w > 0.0;
    Vector largest = load(z + m) + load(intercept + m), best{};
    for (Index k = 1; k < classes; ++k) {
      const Vector zk = load(z + k * models + m) + load(intercept + k * models + m);
      best = zk > largest ? all(static_cast<double>(k)) : best;
      largest = zk > largest ? zk : largest;
    }
    Vector others{}, right{};
    for (Index k = 0; k < classes; ++k) {
      const Vector zk = load(z + k * models + m) + load(intercept + k * models + m);
      const Vector e = exponential(zk - largest);
      others += best == all(static_cast<double>(k)) ? Vector{} : e;
      right = k == own ? zk : right;
      store(u + k * models + m, e);
    }
    const Vector part = 1.0 / (1.0 + others);
    add_loss(w, largest - right, others, value + m, factor ? factor + m : nullptr);
    for (Index k = 0; k < classes; ++k) {
      const Vector p = load(u + k * models + m) * part;
      const Vector missing = best == all(static_cast<double>(k)) ? -others * part : p - 1.0;
      const Vector weighted = counts ? w * (k == own ? missing : p) : Vector{};
      store(slope + k * models + m, load(slope + k * models + m) + weighted);
      store(u + k * models + m, weighted);
    }
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
