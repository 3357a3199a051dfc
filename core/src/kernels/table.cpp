// Compiled once for every instruction set, with TENFOLD_ISA as the namespace and the matching -march.
#include "classes.hpp"
#include "cross.hpp"
#include "decide.hpp"
#include "delta.hpp"
#include "distances.hpp"
#include "drift.hpp"
#include "elementwise.hpp"
#include "features.hpp"
#include "gains.hpp"
#include "gradient.hpp"
#include "gram.hpp"
#include "loo.hpp"
#include "loss.hpp"
#include "margins.hpp"
#include "mixture.hpp"
#include "models.hpp"
#include "near.hpp"
#include "nearest.hpp"
#include "pack.hpp"
#include "product.hpp"
#include "singles.hpp"
#include "slabs.hpp"
#include "softmax.hpp"
#include "sparse.hpp"
#include "vectors.hpp"
#include "viterbi.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

template <class T>
constexpr DenseKernels<T> dense = {pack<T>,
                                   pack_about<T>,
                                   margins<T>,
                                   gradient<T>,
                                   column_sums<T>,
                                   centred_row<T>,
                                   add_scaled<T>,
                                   elementwise<exponential, T>,
                                   elementwise<log_one_plus, T>,
                                   elementwise<logistic, T>,
                                   elementwise<softplus, T>,
                                   dot<T>,
                                   squares_of<T>,
                                   add<T>,
                                   add_above<T>,
                                   add_squares<T>,
                                   lowest<T>,
                                   scaled_distances<T>,
                                   to_columns<T>,
                                   city_block<T>,
                                   chessboard<T>,
                                   to_singles<T>,
                                   square_distance<T>,
                                   add_about<T>,
                                   scaled_row<T>,
                                   slab_times<T>,
                                   slab_times_t<T>};

template <class T, class I>
constexpr SparseKernels<T, I> sparse = {sparse_margins<T, I>, sparse_gradient<T, I>, sparse_both_ways<T, I>,
                                        sparse_column_sums<T, I>, sparse_nearest<T, I>};

constexpr Kernels kernels = {
    TENFOLD_ISA_NAME,
    panel,
    gram,
    losses,
    softmax,
    model_logistic,
    model_softmax,
    product,
    panel_times,
    panel_cross,
    squares,
    leverage,
    loo,
    truncate,
    add_rows,
    best_moves,
    whitened_lengths,
    whitened,
    scaled_lengths,
    responsibilities,
    column_moments,
    outer_sums,
    together,
    quadratic_features,
    feature_forms,
    feature_sums,
    near_rows,
    near_queries,
    near,
    singles,
    nearest,
    gains,
    drift,
    single_sums,
    single_softmax,
    turn,
    row_squares,
    leaders,
    dense<float>,
    dense<double>,
    sparse<float, std::int32_t>,
    sparse<float, std::int64_t>,
    sparse<double, std::int32_t>,
    sparse<double, std::int64_t>,
};

} // namespace

const Kernels &table();
const Kernels &table() { return kernels; }

} // namespace tenfold::TENFOLD_ISA
