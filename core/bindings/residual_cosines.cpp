#include "bindings.hpp"

#include "tenfold/residual_cosines.hpp"

#include <nanobind/stl/vector.h>

namespace tenfold {

void bind_residual_cosines(nb::module_ &m) {
  m.def(
      "residual_cosines",
      [](const In<double, 1> &value, const In<double, 1> &slope, const In<double, 2> &gradient,
         const In<double, 2> &coef, const In<double, 1> &intercept, const In<double, 1> &mean,
         const In<double, 1> &spread, const In<double, 1> &alpha, const Maybe<double, 2> &distance,
         const Maybe<double, 2> &lost, double weight, bool centred, bool positive, bool interpolated, double roundoff,
         double roundoff_of_intercept) {
        const Index t = value.shape(0), p = gradient.shape(1);
        require(gradient.shape(0) == t && coef.shape(0) == t, "gradient and coef must have one row a target");
        require(coef.shape(1) == p, "coef must have as many columns as gradient");
        require(slope.shape(0) == t && intercept.shape(0) == t && alpha.shape(0) == t,
                "slope, intercept and alpha must have one entry a target");
        require(mean.shape(0) == p + t && spread.shape(0) == p + t,
                "mean and spread must have one entry a column of [X y]");
        for (const Maybe<double, 2> *matrix : {&distance, &lost})
          require(!*matrix || ((*matrix)->shape(0) == t && (*matrix)->shape(1) == p),
                  "distance and lost must have the shape of gradient");
        ResidualCosines result;
        {
          const nb::gil_scoped_release release;
          result =
              residual_cosines({value.span(), slope.span(), gradient.span(), coef.span(), intercept.span(), mean.span(),
                                spread.span(), alpha.span(), span_or_none(distance), span_or_none(lost), weight,
                                centred, positive, interpolated, roundoff, roundoff_of_intercept});
        }
        return std::make_tuple(result.finite, give<double, 2>(std::move(result.gradient), {t, p}),
                               std::move(result.part), result.value, result.floor, result.largest_part,
                               result.largest_rounding, result.objective, result.radius, result.drift);
      },
      nb::arg("value"), nb::arg("slope"), nb::arg("gradient"), nb::arg("coef"), nb::arg("intercept"), nb::arg("mean"),
      nb::arg("spread"), nb::arg("alpha"), nb::arg("distance").none(), nb::arg("lost").none(), nb::arg("weight"),
      nb::arg("centred"), nb::arg("positive"), nb::arg("interpolated"), nb::arg("roundoff"),
      nb::arg("roundoff_of_intercept"),
      "Cosines of the residual of penalised least squares with the columns: (finite, gradient, parts, value, "
      "floor, largest_part, largest_rounding, objective, radius, drift).");
}

} // namespace tenfold
