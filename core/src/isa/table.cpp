// The table of ISA functions; compiled once per instruction set, with TENFOLD_ISA as the namespace and the matching
// -march.
#include "axpy.hpp"
#include "batched_losses.hpp"
#include "classes.hpp"
#include "cosines.hpp"
#include "decide.hpp"
#include "distances.hpp"
#include "elementwise.hpp"
#include "gemm_panel.hpp"
#include "gemm_unpacked.hpp"
#include "gram.hpp"
#include "hamerly_bounds.hpp"
#include "kmeanspp_gains.hpp"
#include "knn_filter.hpp"
#include "loo.hpp"
#include "loss.hpp"
#include "matvec.hpp"
#include "matvec_t.hpp"
#include "mixture.hpp"
#include "nearest_centre_float32.hpp"
#include "nonnegative.hpp"
#include "pack.hpp"
#include "pair_entries.hpp"
#include "pair_functions.hpp"
#include "panel_cross.hpp"
#include "quadratic_features.hpp"
#include "row_ops.hpp"
#include "sgemm_tile.hpp"
#include "smo.hpp"
#include "softmax.hpp"
#include "sparse.hpp"
#include "subsequence.hpp"
#include "viterbi.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class T>
constexpr DenseKernels<T> dense = {
    .pack = pack<T>,
    .pack_centred = pack_centred<T>,
    .matvec = matvec<T>,
    .matvec_t = matvec_t<T>,
    .column_sums = column_sums<T>,
    .centre_row = centre_row<T>,
    .axpy = axpy<T>,
    .exp = elementwise<exponential, T>,
    .log1p = elementwise<log_one_plus, T>,
    .sigmoid = elementwise<logistic, T>,
    .softplus = elementwise<softplus, T>,
    .cosines = cosines<T>,
    .pair_function = pair_function<T>,
    .form_squares = form_squares<T>,
    .transpose_tile = transpose_tile<T>,
    .dot = dot<T>,
    .squared_norm = squared_norm<T>,
    .axpy_norms = axpy_norms<T>,
    .count_above = count_above<T>,
    .add_centred_moments = add_centred_moments<T>,
    .min_value = min_value<T>,
    .scaled_distances = scaled_distances<T>,
    .transpose_rows = transpose_rows<T>,
    .city_block = city_block<T>,
    .chessboard = chessboard<T>,
    .to_singles = to_singles<T>,
    .square_distance = square_distance<T>,
    .add_about = add_about<T>,
    .scale_row = scale_row<T>,
    .smo_move = smo_move<T>,
    .smo_gain = smo_gain<T>,
    .gemm_unpacked = gemm_unpacked<T>,
    .gemm_unpacked_t = gemm_unpacked_t<T>,
};

template <class T, class I>
constexpr SparseKernels<T, I> sparse = {
    .matvec = sparse_matvec<T, I>,
    .matvec_t = sparse_matvec_t<T, I>,
    .normal_product = sparse_normal_product<T, I>,
    .column_sums = sparse_column_sums<T, I>,
    .nearest_centre = sparse_nearest_centre<T, I>,
};

constexpr Kernels kernels = {
    .name = TENFOLD_ISA_NAME,
    .panel = panel,
    .gram = gram,
    .losses = losses,
    .softmax = softmax,
    .model_logistic = model_logistic,
    .model_softmax = model_softmax,
    .gemm_panel = gemm_panel,
    .gemm_packed = gemm_packed,
    .pair_entries = pair_entries,
    .pair_moments = pair_moments,
    .panel_cross = panel_cross,
    .square = square,
    .leverages = leverages,
    .loo_errors = loo_errors,
    .truncate_l1 = truncate_l1,
    .add_class_rows = add_class_rows,
    .viterbi_step = viterbi_step,
    .subsequence_lanes = subsequence_lanes,
    .subsequence = subsequence<false>,
    .subsequence_slope = subsequence<true>,
    .whitened_sq_norms = whitened_sq_norms,
    .whiten = whiten,
    .scaled_sq_norms = scaled_sq_norms,
    .responsibilities = responsibilities,
    .column_moments = column_moments,
    .outer_products = outer_products,
    .forms_per_call = forms_block,
    .quadratic_features = quadratic_features,
    .quadratic_forms = quadratic_forms,
    .feature_moments = feature_moments,
    .filter_rows = filter_rows,
    .filter_queries = filter_queries,
    .knn_filter = knn_filter,
    .singles = singles,
    .nearest_centre = nearest_centre,
    .gains = gains,
    .drift = drift,
    .sgemm_tile = sgemm_tile,
    .softmax_float32_tile = softmax_float32_tile,
    .transpose_float32 = transpose_float32,
    .row_sq_norms = row_sq_norms,
    .top_two = top_two,
    .nonnegative_sweeps = nonnegative_sweeps,
    .f32 = dense<float>,
    .f64 = dense<double>,
    .f32_i32 = sparse<float, std::int32_t>,
    .f32_i64 = sparse<float, std::int64_t>,
    .f64_i32 = sparse<double, std::int32_t>,
    .f64_i64 = sparse<double, std::int64_t>,
};

} // namespace

const Kernels &table();
const Kernels &table() { return kernels; }

} // namespace tenfold::TENFOLD_ISA
