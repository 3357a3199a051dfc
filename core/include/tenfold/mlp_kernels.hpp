// Loops over units and weights of a multi-layer perceptron, once for each instruction set: a table of its own, so that
// a change of it does not compile the other loops anew. core/src/isa/mlp.cpp has the loops.
#pragma once

#include "tenfold/types.hpp"

namespace tenfold {

// f(z) of a hidden unit: z, 1 / (1 + exp(-z)), tanh z, max(0, z). All slopes f'(z) are functions of f(z).
enum class UnitFunction : int { identity, logistic, tanh, relu };

// One step of a batch. g = (gradient + alpha w) scale, then
//   momentum  u = first u - rate g;  w += u, or with nesterov  w += first u - rate g
//   adam      m = first m + (1 - first) g;  v = second v + (1 - second) g^2;  w -= rate m / (sqrt(v) + epsilon)
// The vector of u is that of m.
struct WeightStep {
  bool adam = false, nesterov = false;
  double rate = 0.0, first = 0.0, second = 0.0, epsilon = 0.0, scale = 1.0;
};

template <class T> struct MlpKernels {
  // z (rows x columns) = f(z + bias), in place
  void (*activate)(UnitFunction f, const T *bias, Index rows, Index columns, T *z);
  // delta *= f', from the values a of f
  void (*apply_slopes)(UnitFunction f, const T *a, Index count, T *delta);
  // g += rows of u (rows x columns)
  void (*add_rows)(const T *u, Index rows, Index columns, T *g);
  // y += a x
  void (*axpy)(T a, const T *x, Index count, T *y);
  // the step of `count` weights with penalty alpha; returns sum w^2 before it
  double (*descend)(const WeightStep &step, double alpha, Index count, const T *g, T *w, T *m, T *v);
};

// Those of the instruction set that `kernels()` has chosen.
template <class T> const MlpKernels<T> &mlp_kernels();

} // namespace tenfold
