#include "bindings.hpp"

#include "tenfold/best_subset_verify.hpp"
#include "tenfold/leaps_and_bounds.hpp"
#include "tenfold/poll.hpp"

#include <chrono>

namespace tenfold {
namespace {

// Whether to go on: not after `seconds`.
std::function<bool()> until(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  return [=] {
    poll();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <= seconds;
  };
}

} // namespace

void bind_subsets(nb::module_ &m) {
  m.def(
      "best_subsets",
      [](const In<double, 2> &R, const In<double, 1> &z, double rest, Index largest, double seconds) {
        const Index p = z.shape(0);
        require(R.shape(0) == p && R.shape(1) == p, "R must be square, with one row an entry of z");
        require(p >= 1 && p <= 64, "there must be 1 to 64 columns");
        require(largest >= 0 && largest <= p, "largest must be between 0 and the number of columns");
        Subsets found;
        {
          const std::function<bool()> go_on = until(seconds);
          SubsetSearch search(R.span(), z.span(), rest, largest, go_on);
          const nb::gil_scoped_release release;
          found = search.run();
        }
        std::vector<std::int64_t> columns(found.columns.begin(), found.columns.end());
        return std::make_tuple(give<double, 1>(std::move(found.squares), {largest + 1}),
                               give<std::int64_t, 1>(std::move(columns), {largest + 1}), found.nodes, found.complete);
      },
      nb::arg("R"), nb::arg("z"), nb::arg("rest"), nb::arg("largest"), nb::arg("seconds"),
      "The best subset of columns of every size: (sums of squares, columns as bits, nodes, complete).");
  m.def(
      "prove_subset",
      [](const In<double, 2> &R, const In<double, 1> &z, double rest, Index size, double bound, std::int64_t most) {
        const Index p = z.shape(0);
        require(R.shape(0) == p && R.shape(1) == p, "R must be square, with one row an entry of z");
        require(size >= 0 && size <= p, "size must be between 0 and the number of columns");
        SubsetProof proof;
        {
          ProofSearch search(R.span(), z.span(), rest, size, bound, most);
          const nb::gil_scoped_release release;
          proof = search.run();
        }
        return std::make_tuple(proof.smallest, proof.nodes, proof.complete);
      },
      nb::arg("R"), nb::arg("z"), nb::arg("rest"), nb::arg("size"), nb::arg("bound"), nb::arg("most"),
      "The smallest sum of squares below a bound of a subset of one size: (smallest, nodes, complete).");
}

} // namespace tenfold
