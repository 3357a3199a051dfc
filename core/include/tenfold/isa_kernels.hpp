// Table of the loops that are compiled once per instruction set and dispatched at run time. Every entry is a plain
// function on raw pointers, documented in core/src/isa.
#pragma once

#include "tenfold/types.hpp"

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tenfold {

// Elementwise functions of an inner product or a squared distance v: scale * f(v) + shift, w = gamma v.
struct PairFunction {
  enum Kind : int {
    identity,         // v
    root,             // sqrt(v)
    exponential,      // exp(-w)
    exponential_root, // exp(-gamma sqrt(v))
    power,            // (w + offset)^degree
    tangent,          // tanh(w + offset)
    arcsine,          // (2 / pi) arcsin(w)
    matern32,         // (1 + sqrt(3 w)) exp(-sqrt(3 w))
    matern52,         // (1 + sqrt(5 w) + 5 w / 3) exp(-sqrt(5 w))
    rational,         // (1 + w)^-degree
    periodic,         // exp(-2 degree sin(gamma sqrt(v))^2)
    // derivatives of these functions in their parameters
    exponential_slope, // exp(-gamma sqrt(v)) / sqrt(v), zero at zero
    rational_slope     // degree (1 + w)^-degree (w / (1 + w) - log(1 + w))
  };
  static constexpr int kinds = 13;
  Kind kind = identity;
  double gamma = 1.0, offset = 0.0, degree = 1.0, scale = 1.0, shift = 0.0;

  template <class T> void operator()(T *v, std::ptrdiff_t count) const;
};

// Problems of non-negative least squares that are swept side by side.
constexpr Index sweep_rows = 16;

// What is added or multiplied over the features of a pair: |x - q|, (x - q)^2, 1 + x q, (x - q)^2 / (x + q).
enum class PairEntries : int { distances, squares, subsets, chi2 };

// Of the variables of a block: the largest value that may rise and its number, and the smallest that may fall.
struct SmoTop {
  double value, least;
  Index number;
};

template <class T> struct DenseKernels {
  // core/src/isa/pack.hpp
  void (*pack)(const T *x, Index width, const Index *rows, Index count, Index columns, const double *unit,
               const double *centre, const double *root, double *panels, Index stride);
  void (*pack_centred)(const T *x, Index width, const Index *rows, Index count, Index columns, const double *centres,
                       Index step, const std::int32_t *of, const double *root, double *panels, Index stride);
  // core/src/isa/matvec.hpp
  void (*matvec)(const T *x, Index count, Index columns, const double *coef, Index targets, const double *shift,
                 const double *intercept, double *z, Index row_step, Index target_step);
  // core/src/isa/matvec_t.hpp
  void (*matvec_t)(const T *x, Index count, Index columns, const double *u, Index targets, Index row_step,
                   Index target_step, const double *shift, double *g);
  void (*column_sums)(const T *x, Index count, Index columns, const double *u, const double *v, const double *shift,
                      double *s);
  // core/src/isa/loo.hpp
  void (*centre_row)(const T *x, const double *centre, Index columns, double *out);
  // core/src/isa/axpy.hpp
  void (*axpy)(double a, const T *x, Index count, double *y);
  // core/src/isa/elementwise.hpp
  void (*exp)(const T *x, T *y, Index count);
  void (*log1p)(const T *x, T *y, Index count);
  void (*sigmoid)(const T *x, T *y, Index count);
  void (*softplus)(const T *x, T *y, Index count);
  // core/src/isa/cosines.hpp
  void (*cosines)(T *z, const T *offset, double factor, Index count);
  // core/src/isa/pair_functions.hpp
  void (*pair_function)(const PairFunction &f, T *v, Index count);
  // core/src/isa/pair_entries.hpp
  bool (*form_squares)(T *v, const T *squares, T own, Index count, T part);
  void (*transpose_tile)(const T *from, Index step, Index rows, Index columns, T *out, Index out_step);
  // core/src/isa/row_ops.hpp
  double (*dot)(const T *x, const double *v, Index columns);
  double (*squared_norm)(const T *x, Index columns);
  void (*axpy_norms)(const T *x, Index columns, double c, double *v, double *sums);
  // core/src/isa/classes.hpp
  double (*count_above)(double w, const T *x, double threshold, Index columns, double *sums);
  void (*add_centred_moments)(double w, const T *x, const double *shift, Index columns, double *sums, double *squares);
  double (*min_value)(const T *x, Index count, double low);
  void (*scaled_distances)(const T *x, Index count, Index columns, const double *centre, const double *scale,
                           Index classes, double *z);
  // core/src/isa/mixture.hpp
  void (*transpose_rows)(const T *x, Index rows, Index columns, Index step, double *out);
  // core/src/isa/distances.hpp
  double (*city_block)(const T *x, const double *q, Index columns);
  double (*chessboard)(const T *x, const double *q, Index columns);
  // core/src/isa/nearest_centre_float32.hpp
  float (*to_singles)(const T *x, Index columns, const double *shift, double unit, float *out);
  double (*square_distance)(const T *x, const double *c, Index columns);
  void (*add_about)(double w, const T *x, const double *shift, Index columns, double *sums);
  // core/src/isa/decide.hpp
  void (*scale_row)(const T *x, Index columns, const double *place, const double *unit, float *out);
  // core/src/isa/smo.hpp
  void (*smo_move)(double *value, const double *increase, const double *decrease, const T *k_up, const T *k_down,
                   double t, Index count, SmoTop *top);
  Index (*smo_gain)(const double *value, const double *decrease, const T *k_up, const double *diagonal, double own,
                    double top, double least, Index count);
  // core/src/isa/gemm_unpacked.hpp
  void (*gemm_unpacked)(const T *x, Index x_step, Index count, Index columns, const double *shift, const double *v,
                        Index v_step, Index vectors, double *z, Index z_step);
  void (*gemm_unpacked_t)(const T *x, Index x_step, Index count, Index columns, const double *shift, const double *u,
                          Index u_step, Index vectors, double *g, Index g_step);
};

template <class T, class I> struct SparseKernels {
  // core/src/isa/sparse.hpp
  bool (*matvec)(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                 const double *coef, Index targets, const double *intercept, double *z, Index row_step,
                 Index target_step);
  bool (*matvec_t)(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                   const double *u, Index targets, Index row_step, Index target_step, double *g);
  bool (*normal_product)(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                         Index step, const double *coef, const double *weight, const double *level, const double *along,
                         double *g, double *totals);
  bool (*column_sums)(const T *data, const I *indices, const std::int64_t *indptr, Index count, Index columns,
                      const double *weight, const double *other, double *sums, double *extremes);
  // core/src/isa/nearest_centre_float32.hpp
  bool (*nearest_centre)(const T *data, const I *indices, Index count, Index columns, double unit, const float *centres,
                         Index stride, const float *half, Index panel_count, float *best, float *second,
                         std::int32_t *number);
};

// Value and slope are sums over the tile; u = weight * loss' and curvature = weight * loss'' of each row. `count` is
// rounded up to `lanes` inside: y, z and weight are padded by the caller (weight with zeros).
using LossKernel = void (*)(const double *y, const double *z, const double *weight, double parameter, Index count,
                            double *value, double *slope, double *u, double *curvature);

// The losses of one row under many models, side by side.
using ModelLoss = void (*)(double y, const double *z, const double *intercept, const double *share, double weight,
                           Index models, Index classes, double *value, double *factor, double *slope, double *u);

enum class Loss {
  square,
  logistic,
  hinge,
  squared_hinge,
  epsilon_insensitive,
  squared_epsilon_insensitive,
  huber,
  quantile,
  poisson,
  gamma,
  tweedie,
  log_deviance,
  identity_deviance,
  student,
  tanh,
  modified_huber
};
constexpr int loss_count = 16;

// Panels of rows, entry (i, j) at rows[(i / filter_rows) * columns * filter_rows + j * filter_rows + i % filter_rows],
// with three numbers for each of them, and new centres, entry (c, j) at candidates[j * count + c].
struct Gains {
  const float *rows, *start, *size, *weight;
  Index columns;
  const float *candidates, *half;
  Index count;
  float slack, reach;
};

struct Kernels {
  const char *name;
  Index panel; // columns of a packed panel
  // core/src/isa/gram.hpp
  void (*gram)(const double *panels, Index stride, Index count, Index i0, Index i1, Index j0, Index j1, double *blocks,
               const char *const *next, Index lines);
  // core/src/isa/loss.hpp
  const LossKernel *losses; // in the order of enum Loss
  // core/src/isa/softmax.hpp
  void (*softmax)(const double *y, const double *z, Index step, Index classes, const double *weight, Index count,
                  double *value, double *slope, double *u);
  // core/src/isa/batched_losses.hpp
  ModelLoss model_logistic, model_softmax;
  // core/src/isa/gemm_panel.hpp
  void (*gemm_panel)(const double *a, Index a_step, Index count, Index inner, const double *b, Index stride,
                     Index panels, bool upper, double *out, Index out_step);
  void (*gemm_packed)(const double *x, Index x_stride, Index count, Index x_panels, const double *b, Index stride,
                      Index panels, double *out, Index out_step);
  // core/src/isa/pair_entries.hpp
  void (*pair_entries)(PairEntries kind, const double *q, Index q_step, Index count, Index columns,
                       const double *panels, Index stride, Index panel_count, double *out, Index out_step);
  void (*pair_moments)(const double *m, Index m_step, const double *q, Index q_step, Index count, Index columns,
                       const double *panels, Index stride, Index panel_count, double *sums);
  // core/src/isa/panel_cross.hpp
  void (*panel_cross)(const double *x, Index stride, Index x_panels, const double *u, Index u_stride, Index u_panels,
                      Index count, double *blocks);
  // core/src/isa/loo.hpp
  void (*square)(const double *z, Index count, double *out);
  void (*leverages)(double *spread, Index candidates, double weight, double base, double *largest);
  bool (*loo_errors)(const double *fit, const double *scale, Index candidates, double centred, double weight,
                     double *sums, double *errors);
  // core/src/isa/row_ops.hpp
  void (*truncate_l1)(double *v, double *q, double *average, Index columns, double scale, double due, double lag,
                      double *sums);
  // core/src/isa/classes.hpp
  void (*add_class_rows)(const double *panels, Index stride, Index panel_count, Index count, const std::int32_t *of,
                         const double *weight, double *sums, double *squares, Index step);
  // core/src/isa/viterbi.hpp
  void (*viterbi_step)(const double *score, const double *move, Index tags, double *best, double *back);
  // core/src/isa/subsequence.hpp
  Index subsequence_lanes; // strings of one call
  void (*subsequence)(const double *s, Index rows, const double *t, Index columns, Index length, double decay,
                      double *work, double *out, double *slope);
  void (*subsequence_slope)(const double *s, Index rows, const double *t, Index columns, Index length, double decay,
                            double *work, double *out, double *slope);
  // core/src/isa/mixture.hpp
  void (*whitened_sq_norms)(const double *x, Index step, Index count, Index columns, const double *centre,
                            const double *factor, double *scratch, double *q);
  void (*whiten)(const double *x, Index step, Index count, Index columns, const double *centre, const double *factor,
                 double *scratch, double *y);
  void (*scaled_sq_norms)(const double *x, Index step, Index count, Index columns, const double *centre,
                          const double *scale, double *q);
  double (*responsibilities)(double *q, Index step, Index count, Index components, const double *offset,
                             const double *weight, double *log_density);
  double (*column_moments)(const double *x, Index step, Index count, Index columns, const double *centre,
                           const double *r, double *sums, double *squares);
  double (*outer_products)(const double *x, Index step, Index count, Index columns, const double *centre,
                           const double *r, double *in_lanes, double *tile, double *sums, double *outer);
  // core/src/isa/quadratic_features.hpp
  Index forms_per_call; // largest number of components of one `quadratic_forms` call
  void (*quadratic_features)(const double *x, Index step, Index count, Index columns, const double *centre,
                             const double *scale, double *out);
  void (*quadratic_forms)(const double *features, Index step, Index count, Index size, const double *coef,
                          Index components, double *q, Index q_step);
  void (*feature_moments)(const double *features, Index step, Index count, Index size, const double *r, Index r_step,
                          Index components, double *in_lanes);
  // core/src/isa/knn_filter.hpp
  Index filter_rows, filter_queries; // of one panel and one group
  bool (*knn_filter)(const float *rows, const float *numbers, const float *queries, const float *thresholds,
                     Index inner, std::uint32_t *marks);
  // core/src/isa/nearest_centre_float32.hpp
  Index singles; // centres of one panel
  void (*nearest_centre)(const float *const *x, Index count, Index columns, const float *panels, const float *half,
                         Index panel_count, float *best, float *second, std::int32_t *number);
  // core/src/isa/kmeanspp_gains.hpp
  void (*gains)(const Gains &in, const Index *list, Index panels, float *totals, std::uint32_t *marks);
  // core/src/isa/hamerly_bounds.hpp
  void (*drift)(float *bounds, Index stride, Index groups, Index count, float keep, const float *decrease,
                float *least);
  // core/src/isa/sgemm_tile.hpp
  void (*sgemm_tile)(const float *a, Index a_outer, Index a_inner, Index outer, Index inner, const float *b,
                     Index b_step, Index groups, float *out, Index out_step);
  void (*softmax_float32_tile)(const float *y, float *z, Index step, Index classes, const float *b, const float *weight,
                               Index count, double *value, double *slope, float *u);
  void (*transpose_float32)(const float *from, Index step, Index rows, Index columns, float *out, Index out_step);
  // core/src/isa/decide.hpp
  void (*row_sq_norms)(const float *rows, Index step, Index columns, Index count, float *squares, float *norms);
  void (*top_two)(const float *z, Index step, Index classes, const float *b, Index count, float *best, float *second,
                  std::int32_t *number);
  // core/src/isa/nonnegative.hpp
  Index (*nonnegative_sweeps)(const double *A, const double *inverse, const double *c, double *w, Index k, Index sweeps,
                              double fraction);
  DenseKernels<float> f32;
  DenseKernels<double> f64;
  SparseKernels<float, std::int32_t> f32_i32;
  SparseKernels<float, std::int64_t> f32_i64;
  SparseKernels<double, std::int32_t> f64_i32;
  SparseKernels<double, std::int64_t> f64_i64;

  template <class T> const DenseKernels<T> &dense() const {
    if constexpr (std::is_same_v<T, float>)
      return f32;
    else
      return f64;
  }
  template <class T, class I> const SparseKernels<T, I> &sparse() const {
    if constexpr (std::is_same_v<T, float> && std::is_same_v<I, std::int32_t>)
      return f32_i32;
    else if constexpr (std::is_same_v<T, float>)
      return f32_i64;
    else if constexpr (std::is_same_v<I, std::int32_t>)
      return f64_i32;
    else
      return f64_i64;
  }
};

constexpr Index nearest_centre_samples = 64; // of one call of `nearest_centre` at most

constexpr Index lanes = 8; // doubles of the widest SIMD vector: tile buffers are padded to a multiple of it

// The active table: that of the best instruction set of this CPU, unless select_kernels has chosen another.
const Kernels &kernels();

template <class T> void PairFunction::operator()(T *v, Index count) const {
  kernels().dense<T>().pair_function(*this, v, count);
}

// The names of the instruction sets of this build that this CPU supports, best first: "x86-64-v4", "x86-64-v3",
// "x86-64-v2", or "aarch64".
std::vector<std::string_view> available_kernels();

// Selects an instruction set by name; false when it is not available. For tests: not while loops run.
bool select_kernels(std::string_view name);

} // namespace tenfold
