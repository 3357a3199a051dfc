#include "bindings.hpp"

#include "tenfold/best_subset_verify.hpp"
#include "tenfold/leaps_and_bounds.hpp"
#include "tenfold/poll.hpp"

#include <chrono>

namespace tenfold {
namespace {

// A time limit: false after `seconds`.
std::function<bool()> time_limit(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  return [=] {
    poll();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() <= seconds;
  };
}

} // namespace

void bind_leaps_and_bounds(nb::module_ &m) {
  m.def(
      "best_subsets",
      [](const In<double, 2> &R, const In<double, 1> &z, double rss, Index max_size, double seconds) {
        const Index p = z.shape(0);
        require(R.shape(0) == p && R.shape(1) == p, "R must be square, with one row an entry of z");
        require(p >= 1 && p <= 64, "there must be 1 to 64 columns");
        require(max_size >= 0 && max_size <= p, "max_size must be between 0 and the number of columns");
        BestSubsets result;
        {
          const std::function<bool()> should_continue = time_limit(seconds);
          LeapsAndBounds search(R.span(), z.span(), rss, max_size, should_continue);
          const nb::gil_scoped_release release;
          result = search.run();
        }
        std::vector<std::int64_t> columns(result.columns.begin(), result.columns.end());
        return std::make_tuple(give<double, 1>(std::move(result.rss), {max_size + 1}),
                               give<std::int64_t, 1>(std::move(columns), {max_size + 1}), result.nodes,
                               result.complete);
      },
      nb::arg("R"), nb::arg("z"), nb::arg("rss"), nb::arg("max_size"), nb::arg("seconds"),
      "The best subset of columns of every size: (residual sums of squares, columns as bits, nodes, complete).");
  m.def(
      "verify_subset",
      [](const In<double, 2> &R, const In<double, 1> &z, double rss, Index size, double bound, std::int64_t max_nodes) {
        const Index p = z.shape(0);
        require(R.shape(0) == p && R.shape(1) == p, "R must be square, with one row an entry of z");
        require(size >= 0 && size <= p, "size must be between 0 and the number of columns");
        SubsetVerification verification;
        {
          SubsetVerifier search(R.span(), z.span(), rss, size, bound, max_nodes);
          const nb::gil_scoped_release release;
          verification = search.run();
        }
        return std::make_tuple(verification.smallest, verification.nodes, verification.complete);
      },
      nb::arg("R"), nb::arg("z"), nb::arg("rss"), nb::arg("size"), nb::arg("bound"), nb::arg("max_nodes"),
      "Searches for a subset of one size with a residual sum of squares below a bound: (smallest, nodes, complete).");
}

} // namespace tenfold
