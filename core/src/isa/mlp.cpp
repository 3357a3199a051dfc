// The loops of tenfold/mlp_kernels.hpp; compiled once for each instruction set, as table.cpp.
#include "functions.hpp"

#include "tenfold/mlp_kernels.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

inline Vector hyperbolic_tangent(Vector x) {
  const Vector e = exponential(-2.0 * magnitude(x)), t = (1.0 - e) / (1.0 + e);
  return x < 0.0 ? -t : t;
}

template <Vector (*function)(Vector), class T> void activate_row(const T *bias, Index columns, T *z) {
  Index j = 0;
  for (; j + width <= columns; j += width)
    store(z + j, function(load(z + j) + load(bias + j)));
  if (j < columns)
    store_part(z + j, function(load_part(z + j, columns - j) + load_part(bias + j, columns - j)), columns - j);
}

template <class T> void activate(UnitFunction f, const T *bias, Index rows, Index columns, T *z) {
  for (Index i = 0; i < rows; ++i, z += columns)
    switch (f) {
    case UnitFunction::identity:
      for (Index j = 0; j < columns; ++j)
        z[j] += bias[j];
      break;
    case UnitFunction::relu: // NaN stays
      for (Index j = 0; j < columns; ++j) {
        const T x = z[j] + bias[j];
        z[j] = x < T{} ? T{} : x;
      }
      break;
    case UnitFunction::logistic:
      activate_row<logistic>(bias, columns, z);
      break;
    case UnitFunction::tanh:
      activate_row<hyperbolic_tangent>(bias, columns, z);
      break;
    }
}

template <class T> void apply_slopes(UnitFunction f, const T *a, Index count, T *delta) {
  constexpr T one{1};
  switch (f) {
  case UnitFunction::identity:
    break;
  case UnitFunction::relu:
    for (Index i = 0; i < count; ++i)
      delta[i] = a[i] == T{} ? T{} : delta[i];
    break;
  case UnitFunction::logistic:
    for (Index i = 0; i < count; ++i)
      delta[i] *= a[i] * (one - a[i]);
    break;
  case UnitFunction::tanh:
    for (Index i = 0; i < count; ++i)
      delta[i] *= one - a[i] * a[i];
    break;
  }
}

template <class T> void add_rows(const T *u, Index rows, Index columns, T *g) {
  for (Index i = 0; i < rows; ++i, u += columns)
    for (Index j = 0; j < columns; ++j)
      g[j] += u[j];
}

template <class T> void add_scaled(T a, const T *x, Index count, T *y) {
  for (Index j = 0; j < count; ++j)
    y[j] += a * x[j];
}

inline double square_root(double x) { return __builtin_sqrt(x); }
inline float square_root(float x) { return __builtin_sqrtf(x); }

template <class T> double squares(const T *w, Index count) {
  Vector sums[2] = {};
  Index j = 0;
  for (; j + 2 * width <= count; j += 2 * width)
    for (Index half = 0; half < 2; ++half) {
      const Vector x = load(w + j + half * width);
      sums[half] += x * x;
    }
  for (; j < count; j += width) {
    const Vector x = j + width <= count ? load(w + j) : load_part(w + j, count - j);
    sums[0] += x * x;
  }
  return sum(sums[0] + sums[1]);
}

template <class T>
double descend(const WeightStep &step, double alpha, Index count, const T *__restrict g, T *__restrict w,
               T *__restrict m, T *__restrict v) {
  const double total = alpha > 0.0 ? squares(w, count) : 0.0;
  const T penalty = static_cast<T>(alpha), scale = static_cast<T>(step.scale), rate = static_cast<T>(step.rate),
          first = static_cast<T>(step.first), second = static_cast<T>(step.second),
          epsilon = static_cast<T>(step.epsilon);
  if (step.adam) {
    const T rest = static_cast<T>(1.0 - step.first), rest_of_squares = static_cast<T>(1.0 - step.second);
    for (Index i = 0; i < count; ++i) {
      const T slope = (g[i] + penalty * w[i]) * scale;
      m[i] = first * m[i] + rest * slope;
      v[i] = second * v[i] + rest_of_squares * (slope * slope);
      w[i] -= rate * m[i] / (square_root(v[i]) + epsilon);
    }
  } else if (step.nesterov) {
    for (Index i = 0; i < count; ++i) {
      const T change = rate * ((g[i] + penalty * w[i]) * scale);
      m[i] = first * m[i] - change;
      w[i] += first * m[i] - change;
    }
  } else {
    for (Index i = 0; i < count; ++i) {
      m[i] = first * m[i] - rate * ((g[i] + penalty * w[i]) * scale);
      w[i] += m[i];
    }
  }
  return total;
}

template <class T>
constexpr MlpKernels<T> loops = {
    .activate = activate<T>,
    .apply_slopes = apply_slopes<T>,
    .add_rows = add_rows<T>,
    .axpy = add_scaled<T>,
    .descend = descend<T>,
};

} // namespace

const char *mlp_name() { return TENFOLD_ISA_NAME; }
const MlpKernels<float> &mlp_float32() { return loops<float>; }
const MlpKernels<double> &mlp_float64() { return loops<double>; }

} // namespace tenfold::TENFOLD_ISA
