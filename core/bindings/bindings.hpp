// The parts of the extension module, one file each.
#pragma once

#include "arrays.hpp"

#include "tenfold/blas.hpp"

namespace tenfold {

void bind_moments(nb::module_ &m);
void bind_class_columns(nb::module_ &m);
void bind_class_tables(nb::module_ &m);
void bind_within(nb::module_ &m);
void bind_decide(nb::module_ &m);
void bind_singles(nb::module_ &m);
void bind_derivatives(nb::module_ &m);
void bind_softmax(nb::module_ &m);
void bind_batched_loss(nb::module_ &m);
void bind_mixture(nb::module_ &m);
void bind_descent(nb::module_ &m);
void bind_descent_columns(nb::module_ &m);
void bind_dual_ascent(nb::module_ &m);
void bind_joint_ascent(nb::module_ &m);
void bind_subsets(nb::module_ &m);
void bind_times(nb::module_ &m);
void bind_perceptron(nb::module_ &m);
void bind_viterbi(nb::module_ &m);
void bind_sgd(nb::module_ &m);
void bind_lars(nb::module_ &m);
void bind_nearest(nb::module_ &m);
void bind_loo(nb::module_ &m);
void bind_neighbours(nb::module_ &m);
void bind_csv(nb::module_ &m);
void bind_beside(nb::module_ &m);
void bind_elementwise(nb::module_ &m);
void bind_blas(nb::module_ &m);
void bind_both_ways(nb::module_ &m);
void bind_window_tree(nb::module_ &m);

// SciPy's BLAS, imported at the first call. Needs the GIL.
const Blas &scipy_blas();

} // namespace tenfold
