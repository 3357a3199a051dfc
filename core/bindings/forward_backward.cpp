#include "bindings.hpp"

#include "tenfold/forward_backward.hpp"
#include "tenfold/poll.hpp"

namespace tenfold {
namespace {

auto expect_bigrams(const In<double, 2> &transition, const In<double, 2> &transposed, const In<double, 1> &start,
                    const In<std::int64_t, 2> &gaps, const In<double, 1> &weight) {
  const Index words = start.shape(0), count = weight.shape(0);
  bool good = transition.shape(0) == words && transition.shape(1) == words && transposed.shape(0) == words &&
              transposed.shape(1) == words && gaps.shape(0) == count && gaps.shape(1) == 3;
  require(good, "transitions must be square, with a start for each word, and gaps need a weight each");
  for (Index g = 0; g < count; ++g) {
    const std::int64_t *gap = gaps.data() + 3 * g;
    good = good && gap[0] >= -1 && gap[0] < words && gap[1] >= 1 && gap[2] >= 0 && gap[2] < words;
  }
  require(good, "gaps must be of at least one word, between words");
  std::vector<double> bigrams(static_cast<std::size_t>(words * words)), starts(static_cast<std::size_t>(words));
  double value = 0.0;
  {
    const nb::gil_scoped_release release;
    ForwardBackward recursion(transition.data(), transposed.data(), start.data(), words, bigrams.data(), starts.data());
    for (Index g = 0; g < count; ++g) {
      if (g % 64 == 0)
        poll();
      const std::int64_t *gap = gaps.data() + 3 * g;
      value += recursion.add({gap[0], gap[1], gap[2], weight.data()[g]});
    }
  }
  return std::make_tuple(give<double, 2>(std::move(bigrams), {words, words}),
                         give<double, 1>(std::move(starts), {words}), value);
}

} // namespace

void bind_forward_backward(nb::module_ &m) {
  m.def("expect_bigrams", &expect_bigrams, nb::arg("transition"), nb::arg("transposed"), nb::arg("start"),
        nb::arg("gaps"), nb::arg("weight"),
        "Expected bigrams and starts in gaps (left, length, right), and their log probability.");
}

} // namespace tenfold
