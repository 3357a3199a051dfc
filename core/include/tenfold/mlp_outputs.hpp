// The outputs of a multi-layer perceptron: their function, the loss, and its derivative; in float64.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>

namespace tenfold {

enum class MlpOutput : int { identity, exp, logistic, softmax };

inline double softplus_of(double z) { return std::max(z, 0.0) + std::log1p(std::exp(-std::fabs(z))); }

inline double logistic_of(double z) {
  const double e = std::exp(-std::fabs(z));
  return (z < 0.0 ? e : 1.0) / (1.0 + e);
}

// log sum_k exp(z_k), and z becomes the shares of the sum.
template <class T> double normalise(Index count, T *z) {
  double largest = static_cast<double>(z[0]), sum = 0.0;
  for (Index k = 1; k < count; ++k)
    largest = std::max(largest, static_cast<double>(z[k]));
  for (Index k = 0; k < count; ++k) {
    const double e = std::exp(static_cast<double>(z[k]) - largest);
    sum += e;
    z[k] = static_cast<T>(e);
  }
  for (Index k = 0; k < count; ++k)
    z[k] = static_cast<T>(static_cast<double>(z[k]) / sum);
  return largest + std::log(sum);
}

// weight * loss(y, z) of the raw outputs z of one sample, which become weight * (output - y).
template <class T> double add_loss(MlpOutput output, Index count, const T *y, double weight, T *z) {
  double loss = 0.0;
  if (output == MlpOutput::softmax) {
    for (Index k = 0; k < count; ++k)
      loss -= static_cast<double>(y[k]) * static_cast<double>(z[k]);
    loss += normalise(count, z);
  }
  for (Index k = 0; k < count; ++k) {
    const double target = static_cast<double>(y[k]), raw = static_cast<double>(z[k]);
    double value = raw;
    switch (output) {
    case MlpOutput::identity:
      loss += 0.5 * (raw - target) * (raw - target);
      break;
    case MlpOutput::exp:
      value = std::exp(raw);
      loss += value - target + (target > 0.0 ? target * (std::log(target) - raw) : 0.0);
      break;
    case MlpOutput::logistic:
      value = logistic_of(raw);
      loss += softplus_of(raw) - target * raw;
      break;
    case MlpOutput::softmax:
      break;
    }
    z[k] = static_cast<T>(weight * (value - target));
  }
  return weight * loss;
}

// The outputs of raw ones, in place.
template <class T> void apply_output(MlpOutput output, Index rows, Index count, T *z) {
  for (Index i = 0; i < rows; ++i, z += count)
    switch (output) {
    case MlpOutput::identity:
      break;
    case MlpOutput::exp:
      for (Index k = 0; k < count; ++k)
        z[k] = static_cast<T>(std::exp(static_cast<double>(z[k])));
      break;
    case MlpOutput::logistic:
      for (Index k = 0; k < count; ++k)
        z[k] = static_cast<T>(logistic_of(static_cast<double>(z[k])));
      break;
    case MlpOutput::softmax:
      normalise(count, z);
      break;
    }
}

} // namespace tenfold
