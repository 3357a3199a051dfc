#include "bindings.hpp"

#include "tenfold/lars.hpp"

namespace tenfold {

void bind_lars(nb::module_ &m) {
  nb::class_<Lars>(m, "Lars", "The path of least angle regression or the Lasso on a Gram matrix.")
      .def(
          "__init__",
          [](Lars *self, const In<double, 1> &c, const In<double, 1> &squares, double target_square, bool lasso,
             bool positive, double end, Index most_steps, double dependent) {
            require(c.shape(0) == squares.shape(0), "squares must have one entry a column");
            require(target_square >= 0.0, "target_square must be at least 0");
            require(most_steps >= 0, "most_steps must be at least 0");
            new (self)
                Lars(c.span(), squares.span(), target_square, LarsOptions{lasso, positive, end, most_steps, dependent});
          },
          nb::arg("c"), nb::arg("squares"), nb::arg("target_square"), nb::arg("lasso"), nb::arg("positive"),
          nb::arg("end"), nb::arg("most_steps"), nb::arg("dependent"))
      .def(
          "advance",
          [](Lars &self) {
            const nb::gil_scoped_release release;
            return self.advance();
          },
          "Runs until the path is complete (-1) or a Gram row is missing: its number.")
      .def(
          "set_gram_row",
          [](Lars &self, Index column, const In<double, 1> &row) {
            require(column >= 0 && column < static_cast<Index>(self.correlations().size()), "no such column");
            require(row.shape(0) == static_cast<Index>(self.correlations().size()), "row must have one entry a column");
            self.set_gram_row(column, row.span());
          },
          nb::arg("column"), nb::arg("row"), "Passes the Gram row of a column.")
      .def(
          "correlations",
          [](const Lars &self) {
            const std::span<const double> c = self.correlations();
            return give<double, 1>(std::vector<double>(c.begin(), c.end()), {static_cast<Index>(c.size())});
          },
          "Correlations of the columns with the residual.")
      .def(
          "path",
          [](const Lars &self) {
            const Index knots = static_cast<Index>(self.max_correlations().size());
            const Index p = static_cast<Index>(self.correlations().size());
            std::vector<std::int64_t> active(self.active().begin(), self.active().end());
            const Index count = static_cast<Index>(active.size());
            return std::make_tuple(give<double, 1>(std::vector<double>(self.max_correlations()), {knots}),
                                   give<double, 2>(std::vector<double>(self.weights()), {knots, p}),
                                   give<std::int64_t, 1>(std::move(active), {count}));
          },
          "The largest correlation and the weights at every knot, and the active columns at the end.");
}

} // namespace tenfold
