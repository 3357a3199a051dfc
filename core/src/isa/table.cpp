// Compiled once for every instruction set, with TENFOLD_ISA as the namespace and the matching -march.
#include "axpy.hpp"
#include "batched_losses.hpp"
#include "classes.hpp"
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
#include "pack.hpp"
#include "panel_cross.hpp"
#include "quadratic_features.hpp"
#include "row_ops.hpp"
#include "sgemm_tile.hpp"
#include "softmax.hpp"
#include "sparse.hpp"
#include "viterbi.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class T>
constexpr DenseKernels<T> dense = {
    .pack = pack<T>,
    .pack_about = pack_about<T>,
    .margins = margins<T>,
    .gradient = gradient<T>,
    .column_sums = column_sums<T>,
    .centre_row = centre_row<T>,
    .axpy = axpy<T>,
    .exp = elementwise<exponential, T>,
    .log1p = elementwise<log_one_plus, T>,
    .sigmoid = elementwise<logistic, T>,
    .softplus = elementwise<softplus, T>,
    .dot = dot<T>,
    .squares = squares_of<T>,
    .add = add<T>,
    .add_above = add_above<T>,
    .add_squares = add_squares<T>,
    .lowest = lowest<T>,
    .scaled_distances = scaled_distances<T>,
    .to_columns = to_columns<T>,
    .city_block = city_block<T>,
    .chessboard = chessboard<T>,
    .to_singles = to_singles<T>,
    .square_distance = square_distance<T>,
    .add_about = add_about<T>,
    .scaled_row = scaled_row<T>,
    .slab_times = slab_times<T>,
    .slab_times_t = slab_times_t<T>,
};

template <class T, class I>
constexpr SparseKernels<T, I> sparse = {
    .margins = sparse_margins<T, I>,
    .gradient = sparse_gradient<T, I>,
    .both_ways = sparse_both_ways<T, I>,
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
    .product = product,
    .panel_times = panel_times,
    .panel_cross = panel_cross,
    .squares = squares,
    .leverage = leverage,
    .loo = loo,
    .truncate = truncate,
    .add_rows = add_rows,
    .best_moves = best_moves,
    .whitened_lengths = whitened_lengths,
    .whitened = whitened,
    .scaled_lengths = scaled_lengths,
    .responsibilities = responsibilities,
    .column_moments = column_moments,
    .outer_sums = outer_sums,
    .forms_together = together,
    .quadratic_features = quadratic_features,
    .feature_forms = feature_forms,
    .feature_sums = feature_sums,
    .filter_rows = filter_rows,
    .filter_queries = filter_queries,
    .knn_filter = knn_filter,
    .singles = singles,
    .nearest_centre = nearest_centre,
    .gains = gains,
    .drift = drift,
    .single_sums = single_sums,
    .single_softmax = single_softmax,
    .turn = turn,
    .row_squares = row_squares,
    .leaders = leaders,
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
