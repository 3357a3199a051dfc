#include "bindings.hpp"

#include "tenfold/gmm_estep_gemm.hpp"
#include "tenfold/logsumexp.hpp"

namespace tenfold {
namespace {

using Triangles = Maybe<double, 3>;
using Diagonals = Maybe<double, 2>;

// The sizes of all parts, checked.
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
      "mixture_sums",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 2> &means, const Triangles &factors,
         const Diagonals &scales, const Maybe<double, 1> &centre, const In<double, 1> &offsets, int threads) {
        const Index p = X.shape(1);
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        const Gaussians g = gaussians(p, means, factors, scales, centre, offsets);
        const int workers = checked_threads(threads);
        MixtureSums found;
        {
          const nb::gil_scoped_release release;
          found = mixture_sums(Dense<T>{X.data(), X.shape(0), p}, span_or_none(weight), g, workers);
        }
        const Index K = g.components();
        const Given<double> squares = g.diagonal() ? give<double, 2>(std::move(found.squares), {K, p})
                                                   : give<double, 3>(std::move(found.squares), {g.triangles(), p, p});
        return std::make_tuple(found.weight, found.value, give<double, 1>(std::move(found.count), {K}),
                               give<double, 2>(std::move(found.sums), {K, p}), squares);
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("means"), nb::arg("factors").none(), nb::arg("scales").none(),
      nb::arg("centre").none(), nb::arg("offsets"), nb::arg("threads"),
      "One step of expectation for a mixture of Gaussians: (weight, value, count, sums, squares).");
  m.def(
      "mixture_posterior",
      [](const In<T, 2> &X, const In<double, 2> &means, const Triangles &factors, const Diagonals &scales,
         const Maybe<double, 1> &centre, const In<double, 1> &offsets, bool shares, int threads) {
        const Index p = X.shape(1);
        const Gaussians g = gaussians(p, means, factors, scales, centre, offsets);
        const int workers = checked_threads(threads);
        const Out<double, 1> log_density({X.shape(0)});
        const Out<double, 2> r({shares ? X.shape(0) : 0, g.components()});
        {
          const nb::gil_scoped_release release;
          mixture_posterior(Dense<T>{X.data(), X.shape(0), p}, g, workers, log_density.span(), r.span());
        }
        return std::make_tuple(log_density.give(), r.give());
      },
      nb::arg("X"), nb::arg("means"), nb::arg("factors").none(), nb::arg("scales").none(), nb::arg("centre").none(),
      nb::arg("offsets"), nb::arg("shares"), nb::arg("threads"),
      "Log densities (n,) of rows in a mixture of Gaussians, and where asked for the shares (n, K) of its components.");
}

template <class T> void bind_features(nb::module_ &m) {
  m.def(
      "feature_sums",
      [](const In<T, 2> &X, const Maybe<double, 1> &weight, const In<double, 1> &centre, const In<double, 1> &scale,
         const In<double, 2> &coef, int threads) {
        const Index p = X.shape(1), K = coef.shape(0), size = feature_count(p);
        require(!weight || weight->shape(0) == X.shape(0), "weight must have one entry a row");
        require(centre.shape(0) == p && scale.shape(0) == p, "centre and scale must have one entry a column of X");
        require(K >= 1 && coef.shape(1) == size, "coef must be (components, (p + 1)(p + 2) / 2)");
        const int workers = checked_threads(threads);
        FeatureSums found;
        {
          const nb::gil_scoped_release release;
          found = feature_sums(Dense<T>{X.data(), X.shape(0), p}, span_or_none(weight), centre.span(), scale.span(),
                               coef.span(), K, workers);
        }
        return std::make_tuple(found.weight, found.value, give<double, 2>(std::move(found.moments), {K, size}));
      },
      nb::arg("X"), nb::arg("weight").none(), nb::arg("centre"), nb::arg("scale"), nb::arg("coef"), nb::arg("threads"),
      "With features f = (1, a, a_j a_k for j <= k) of a = (x - centre) scale and log densities -1/2 coef f of "
      "components: weight, sum of weight times log density, and sums of responsibilities times f: (weight, value, "
      "moments).");
}

} // namespace

void bind_mixture(nb::module_ &m) {
  m.def(
      "log_shares",
      [](const In<double, 2> &lengths, const In<double, 1> &offset, const In<double, 1> &weight, bool shares,
         int threads) {
        const Index n = lengths.shape(0), K = lengths.shape(1);
        require(K >= 1 && offset.shape(0) == K, "offset must have one entry a column of lengths");
        require(weight.shape(0) == n, "weight must have one entry a row");
        const int workers = checked_threads(threads);
        const Out<double, 1> density({n});
        const Out<double, 2> share({K, shares ? n : 0});
        {
          const nb::gil_scoped_release release;
          log_shares(lengths.span(), offset.span(), weight.span(), workers, density.span(), share.span());
        }
        return std::make_tuple(density.give(), share.give());
      },
      nb::arg("lengths"), nb::arg("offset"), nb::arg("weight"), nb::arg("shares"), nb::arg("threads"),
      "log sum_k exp(offset_k - lengths_ik / 2), (n,), and where asked for the shares of the terms times the weights "
      "of "
      "the rows, (K, n).");
  bind_rows<float>(m);
  bind_rows<double>(m);
  bind_features<float>(m);
  bind_features<double>(m);
}

} // namespace tenfold
