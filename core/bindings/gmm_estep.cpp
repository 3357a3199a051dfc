#include "bindings.hpp"

#include "tenfold/gmm_estep_gemm.hpp"
#include "tenfold/logsumexp.hpp"

namespace tenfold {
namespace {

using Triangles = Maybe<double, 3>;
using Diagonals = Maybe<double, 2>;

// Validates the shapes.
Gaussians gaussians(Index p, const In<double, 2> &means, const Triangles &factors, const Diagonals &scales,
                    const Maybe<double, 1> &centre, const In<double, 1> &offsets) {
  const Index K = offsets.shape(0);
  require(K >= 1 && means.shape(0) == K && means.shape(1) == p, "means must be (components, columns of X)");
  require(factors.has_value() != scales.has_value(), "give factors or scales");
  if (factors)
    require(factors->shape(0) == (centre ? 1 : K) && factors->shape(1) == p && factors->shape(2) == p,
            "factors must be (components, p, p), or (1, p, p) with a centre");
  if (scales)
    require(scales->shape(0) == K && scales->shape(1) == p && !centre, "scales must be (components, columns of X)");
  require(!centre || centre->shape(0) == p, "centre must have one entry a column of X");
  return {means.span(), span_or_none(factors), span_or_none(scales), span_or_none(centre), offsets.span(), p};
}

template <class T> void bind_rows(nb::module_ &m) {
  m.def(
      "gmm_estep",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 2> &means, const Triangles &factors,
         const Diagonals &scales, const Maybe<double, 1> &centre, const In<double, 1> &offsets, int threads) {
        const Index p = X.shape(1);
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        const Gaussians g = gaussians(p, means, factors, scales, centre, offsets);
        const int workers = checked_threads(threads);
        GmmSums result;
        {
          const nb::gil_scoped_release release;
          result = gmm_estep(Dense<T>{X.data(), X.shape(0), p}, span_or_none(weight), g, workers);
        }
        const Index K = g.components();
        const Given<double> squares = g.diagonal() ? give<double, 2>(std::move(result.squares), {K, p})
                                                   : give<double, 3>(std::move(result.squares), {g.triangles(), p, p});
        return std::make_tuple(result.weight, result.value, give<double, 1>(std::move(result.count), {K}),
                               give<double, 2>(std::move(result.sums), {K, p}), squares);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("means"), nb::arg("factors").none(), nb::arg("scales").none(),
      nb::arg("centre").none(), nb::arg("offsets"), nb::arg("threads"),
      "E-step of a Gaussian mixture: (weight, value, count, sums, squares).");
  m.def(
      "gmm_responsibilities",
      [](const In<T, 2> &X, const In<double, 2> &means, const Triangles &factors, const Diagonals &scales,
         const Maybe<double, 1> &centre, const In<double, 1> &offsets, bool posteriors, int threads) {
        const Index p = X.shape(1);
        const Gaussians g = gaussians(p, means, factors, scales, centre, offsets);
        const int workers = checked_threads(threads);
        const Out<double, 1> log_density({X.shape(0)});
        const Out<double, 2> r({posteriors ? X.shape(0) : 0, g.components()});
        {
          const nb::gil_scoped_release release;
          gmm_responsibilities(Dense<T>{X.data(), X.shape(0), p}, g, workers, log_density.span(), r.span());
        }
        return std::make_tuple(log_density.give(), r.give());
      },
      nb::arg("X"), nb::arg("means"), nb::arg("factors").none(), nb::arg("scales").none(), nb::arg("centre").none(),
      nb::arg("offsets"), nb::arg("posteriors"), nb::arg("threads"),
      "Log densities (n,) under a Gaussian mixture, and with posteriors the responsibilities (n, K).");
}

template <class T> void bind_features(nb::module_ &m) {
  m.def(
      "gmm_estep_gemm",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 1> &centre, const In<double, 1> &scale,
         const In<double, 2> &coef, int threads) {
        const Index p = X.shape(1), K = coef.shape(0), size = feature_count(p);
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        require(centre.shape(0) == p && scale.shape(0) == p, "centre and scale must have one entry a column of X");
        require(K >= 1 && coef.shape(1) == size, "coef must be (components, (p + 1)(p + 2) / 2)");
        const int workers = checked_threads(threads);
        GmmFeatureMoments result;
        {
          const nb::gil_scoped_release release;
          result = gmm_estep_gemm(Dense<T>{X.data(), X.shape(0), p}, span_or_none(weight), centre.span(), scale.span(),
                                  coef.span(), K, workers);
        }
        return std::make_tuple(result.weight, result.value, give<double, 2>(std::move(result.moments), {K, size}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("centre"), nb::arg("scale"), nb::arg("coef"), nb::arg("threads"),
      "With features f = (1, a, a_j a_k for j <= k) of a = (x - centre) scale and log densities -1/2 coef f of "
      "components: weight, sum of weight times log density, and sums of responsibilities times f: (weight, value, "
      "moments).");
}

} // namespace

void bind_gmm_estep(nb::module_ &m) {
  m.def(
      "logsumexp",
      [](const In<double, 2> &sq_distances, const In<double, 1> &offset, const In<double, 1> &weight, bool posteriors,
         int threads) {
        const Index n = sq_distances.shape(0), K = sq_distances.shape(1);
        require(K >= 1 && offset.shape(0) == K, "offset must have one entry a column of sq_distances");
        require(weight.shape(0) == n, "weight must have one entry a row");
        const int workers = checked_threads(threads);
        const Out<double, 1> log_density({n});
        const Out<double, 2> posterior({K, posteriors ? n : 0});
        {
          const nb::gil_scoped_release release;
          logsumexp(sq_distances.span(), offset.span(), weight.span(), workers, log_density.span(), posterior.span());
        }
        return std::make_tuple(log_density.give(), posterior.give());
      },
      nb::arg("sq_distances"), nb::arg("offset"), nb::arg("weight"), nb::arg("posteriors"), nb::arg("threads"),
      "log sum_k exp(offset_k - sq_distances_ik / 2), (n,), and with posteriors the softmax times the sample weights, "
      "(K, n).");
  bind_rows<float>(m);
  bind_rows<double>(m);
  bind_features<float>(m);
  bind_features<double>(m);
}

} // namespace tenfold
