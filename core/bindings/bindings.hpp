// The bindings of the extension module, one file per header.
#pragma once

#include "arrays.hpp"

#include "tenfold/blas.hpp"

namespace tenfold {

void bind_moments(nb::module_ &m);
void bind_class_sums(nb::module_ &m);
void bind_contingency(nb::module_ &m);
void bind_within_scatter(nb::module_ &m);
void bind_argmax_float32(nb::module_ &m);
void bind_scatter_float32(nb::module_ &m);
void bind_loss_derivatives(nb::module_ &m);
void bind_softmax(nb::module_ &m);
void bind_batched_loss(nb::module_ &m);
void bind_bisection(nb::module_ &m);
void bind_gmm_estep(nb::module_ &m);
void bind_cd(nb::module_ &m);
void bind_cd_quadratic(nb::module_ &m);
void bind_dual_cd(nb::module_ &m);
void bind_crammer_singer_cd(nb::module_ &m);
void bind_leaps_and_bounds(nb::module_ &m);
void bind_matvec(nb::module_ &m);
void bind_nnls_rows(nb::module_ &m);
void bind_perceptron(nb::module_ &m);
void bind_viterbi(nb::module_ &m);
void bind_sgd(nb::module_ &m);
void bind_sparse_codes(nb::module_ &m);
void bind_lars(nb::module_ &m);
void bind_huber(nb::module_ &m);
void bind_kmeans(nb::module_ &m);
void bind_residual_cosines(nb::module_ &m);
void bind_ridge_loo(nb::module_ &m);
void bind_knn(nb::module_ &m);
void bind_csv(nb::module_ &m);
void bind_columns_to_rows(nb::module_ &m);
void bind_elementwise(nb::module_ &m);
void bind_cosine_features(nb::module_ &m);
void bind_blas(nb::module_ &m);
void bind_csr_normal_product(nb::module_ &m);
void bind_kde_tree(nb::module_ &m);
void bind_pairwise(nb::module_ &m);
void bind_dense_glm(nb::module_ &m);
void bind_svm(nb::module_ &m);
void bind_hierarchy(nb::module_ &m);
void bind_forward_backward(nb::module_ &m);
void bind_smacof(nb::module_ &m);
void bind_string_kernels(nb::module_ &m);

// SciPy's BLAS, imported at the first call. Needs the GIL.
const Blas &scipy_blas();

} // namespace tenfold
