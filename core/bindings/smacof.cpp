#include "bindings.hpp"

#include "tenfold/poll.hpp"
#include "tenfold/smacof.hpp"

namespace tenfold {
namespace {

auto step(const In<double, 2> &delta, const In<double, 2> &columns, int threads) {
  const Index k = columns.shape(0), n = columns.shape(1);
  require(delta.shape(0) == n && delta.shape(1) == n, "delta must have a row and a column for each point");
  checked_threads(threads);
  const Out<double, 2> out({n, k});
  StressSums sums;
  {
    const nb::gil_scoped_release release;
    sums = SmacofStep(delta.span(), columns.span(), n, k)(threads, out.span());
  }
  poll();
  return std::make_tuple(out.give(), sums.stress, sums.squares);
}

} // namespace

void bind_smacof(nb::module_ &m) {
  m.def(
      "smacof_step", &step, nb::arg("delta"), nb::arg("columns"), nb::arg("threads"),
      "The Guttman transform (n, k) of points, given transposed (k, n), their raw stress, and the sum of their squared "
      "distances, over pairs.");
}

} // namespace tenfold
