#include "bindings.hpp"

#include "tenfold/poll.hpp"
#include "tenfold/spectrum_kernel.hpp"
#include "tenfold/subsequence_kernel.hpp"

#include <cmath>

namespace tenfold {
namespace {

constexpr double products_between_polls = 1 << 28;

using Characters = In<double, 1>;
using Offsets = In<std::int64_t, 1>;

Strings strings(const Characters &characters, const Offsets &offsets) {
  const auto cuts = offsets.span();
  bool good = !cuts.empty() && cuts.front() == 0 && cuts.back() == characters.shape(0);
  for (std::size_t i = 1; i < cuts.size(); ++i)
    good &= cuts[i] >= cuts[i - 1];
  require(good, "offsets must rise from 0 to the number of characters");
  for (const double c : characters.span())
    good &= c >= 1.0 && c <= 9007199254740992.0 && c == std::floor(c);
  require(good, "characters must be positive whole numbers");
  return {characters.span(), cuts};
}

void check_places(Index length, const Offsets &places) {
  bool good = length >= 1;
  for (const std::int64_t place : places.span())
    good &= place >= 0 && place < length;
  require(good, "length must be at least 1, and places below it");
}

auto spectrum(const Characters &s, const Offsets &s_offsets, const Characters &t, const Offsets &t_offsets,
              Index length, const Offsets &places, int threads) {
  const Strings one = strings(s, s_offsets), other = strings(t, t_offsets);
  check_places(length, places);
  checked_threads(threads);
  const Out<double, 2> out({one.count(), other.count()});
  {
    const nb::gil_scoped_release release;
    spectrum_kernel(one, other, length, places.span(), threads, out.span());
  }
  poll();
  return out.give();
}

auto subsequence(const Characters &s, const Offsets &s_offsets, const Characters &t, const Offsets &t_offsets,
                 Index length, double decay, bool slopes, int threads) {
  const Strings one = strings(s, s_offsets), other = strings(t, t_offsets);
  require(length >= 1 && decay > 0.0, "length must be at least 1, and the decay positive");
  checked_threads(threads);
  const Out<double, 2> values({one.count(), other.count()});
  const Out<double, 2> slope({slopes ? one.count() : 0, other.count()});
  const SubsequenceKernel kernel(other, length, decay);
  for (Index begin = 0; begin < one.count();) {
    Index end = begin;
    for (double work = 0.0; end < one.count() && work < products_between_polls; ++end)
      work += kernel.work(one.length(end)) + 1.0;
    {
      const nb::gil_scoped_release release;
      kernel(one, begin, end, threads, values.span(), slope.span());
    }
    poll();
    begin = end;
  }
  return std::make_tuple(values.give(), slope.give());
}

// k(s_i, s_i) of each string, by a block of one.
template <class Block> auto diagonal(const Strings &s, int threads, const Block &block) {
  const Out<double, 1> out({s.count()});
  {
    const nb::gil_scoped_release release;
    parallel(s.count(), checked_threads(threads), [&](Index i, int) {
      const std::array<std::int64_t, 2> cuts = {0, s.length(i)};
      block(Strings{s[i], cuts}, out.span().subspan(static_cast<std::size_t>(i), 1));
    });
  }
  return out.give();
}

auto spectrum_diagonal(const Characters &s, const Offsets &offsets, Index length, const Offsets &places, int threads) {
  check_places(length, places);
  return diagonal(strings(s, offsets), threads, [&](const Strings &one, std::span<double> out) {
    spectrum_kernel(one, one, length, places.span(), 1, out);
  });
}

auto subsequence_diagonal(const Characters &s, const Offsets &offsets, Index length, double decay, bool slopes,
                          int threads) {
  require(length >= 1 && decay > 0.0, "length must be at least 1, and the decay positive");
  return diagonal(strings(s, offsets), threads, [&](const Strings &one, std::span<double> out) {
    std::array<double, 1> value{};
    SubsequenceKernel(one, length, decay)(one, 0, 1, 1, slopes ? std::span<double>(value) : out,
                                          slopes ? out : std::span<double>{});
  });
}

} // namespace

void bind_string_kernels(nb::module_ &m) {
  m.def("spectrum_kernel", &spectrum, nb::arg("s"), nb::arg("s_offsets"), nb::arg("t"), nb::arg("t_offsets"),
        nb::arg("length"), nb::arg("places"), nb::arg("threads"),
        "Spectrum kernel of all pairs of strings, (m, n), by the characters at some places of each window.");
  m.def("subsequence_kernel", &subsequence, nb::arg("s"), nb::arg("s_offsets"), nb::arg("t"), nb::arg("t_offsets"),
        nb::arg("length"), nb::arg("decay"), nb::arg("slopes"), nb::arg("threads"),
        "Subsequence kernel of all pairs of strings, (m, n), and with `slopes` its derivatives in log(decay).");
  m.def("spectrum_diagonal", &spectrum_diagonal, nb::arg("s"), nb::arg("offsets"), nb::arg("length"), nb::arg("places"),
        nb::arg("threads"), "k(s_i, s_i) of each string.");
  m.def("subsequence_diagonal", &subsequence_diagonal, nb::arg("s"), nb::arg("offsets"), nb::arg("length"),
        nb::arg("decay"), nb::arg("slopes"), nb::arg("threads"),
        "k(s_i, s_i) of each string; with `slopes` its derivative in log(decay).");
}

} // namespace tenfold
