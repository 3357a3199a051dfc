// Kernels of strings against sums over all places, and a step of SMACOF against its matrix.
#include "check.hpp"

#include "tenfold/smacof.hpp"
#include "tenfold/spectrum_kernel.hpp"
#include "tenfold/subsequence_kernel.hpp"

using namespace tenfold;
using namespace tenfold::test;

namespace {

std::size_t index(Index i) { return static_cast<std::size_t>(i); }

// Strings of random lengths, the first of them empty.
struct Drawn {
  Drawn(Index count, Index longest, unsigned seed) {
    std::mt19937_64 random(seed);
    offsets.push_back(0);
    for (Index i = 0; i < count; ++i) {
      const std::size_t length = i == 0 ? 0 : random() % index(longest + 1);
      for (std::size_t j = 0; j < length; ++j)
        characters.push_back(1.0 + static_cast<double>(random() % 3));
      offsets.push_back(static_cast<std::int64_t>(characters.size()));
    }
  }
  Strings view() const { return {characters, offsets}; }
  std::vector<double> characters;
  std::vector<std::int64_t> offsets;
};

// Sum over all choices of `left` places after `from` in both strings that agree.
double by_places(std::span<const double> s, std::span<const double> t, Index left, double decay, Index s_first,
                 Index t_first, Index s_from, Index t_from) {
  if (left == 0)
    return std::pow(decay, static_cast<double>(s_from - s_first + t_from - t_first));
  double sum = 0.0;
  for (Index i = s_from; i < static_cast<Index>(s.size()); ++i)
    for (Index j = t_from; j < static_cast<Index>(t.size()); ++j)
      if (s[index(i)] == t[index(j)])
        sum += by_places(s, t, left - 1, decay, s_first < 0 ? i : s_first, t_first < 0 ? j : t_first, i + 1, j + 1);
  return sum;
}

void test_subsequences(const std::string &isa) {
  const Drawn one(5, 7, 1), other(37, 9, 2);
  const Strings s = one.view(), t = other.view();
  for (const Index length : {1, 2, 3, 4})
    for (const double decay : {0.4, 1.0}) {
      std::vector<double> values(index(s.count() * t.count())), slopes(values.size()), ahead(values.size());
      const SubsequenceKernel kernel(t, length, decay);
      kernel(s, 0, 2, 1, values, {});
      kernel(s, 2, s.count(), 3, values, {});
      kernel(s, 0, s.count(), 2, ahead, slopes);
      for (Index i = 0; i < s.count(); ++i)
        for (Index j = 0; j < t.count(); ++j) {
          const std::size_t at = index(i * t.count() + j);
          const double expected = by_places(s[i], t[j], length, decay, -1, -1, 0, 0);
          const std::string what = isa + " subsequences of " + std::to_string(length);
          check_close(values[at], expected, 1e-12 * expected, what);
          check(values[at] == ahead[at], what + ": the same with slopes");
          const double step = 1e-6, up = by_places(s[i], t[j], length, decay * std::exp(step), -1, -1, 0, 0),
                       down = by_places(s[i], t[j], length, decay * std::exp(-step), -1, -1, 0, 0);
          check_close(slopes[at], (up - down) / (2.0 * step), 1e-6 * (1.0 + expected), what + ": the slope");
        }
    }
}

void test_spectrum() {
  const Drawn one(6, 12, 3), other(9, 15, 4);
  const Strings s = one.view(), t = other.view();
  const std::vector<std::vector<std::int64_t>> places = {{0, 1, 2}, {0, 2}, {1}, {}};
  for (const auto &chosen : places) {
    std::vector<double> values(index(s.count() * t.count()), -1.0);
    spectrum_kernel(s, t, 3, chosen, 2, values);
    for (Index i = 0; i < s.count(); ++i)
      for (Index j = 0; j < t.count(); ++j) {
        double expected = 0.0;
        for (Index a = 0; a + 3 <= s.length(i); ++a)
          for (Index b = 0; b + 3 <= t.length(j); ++b) {
            bool same = true;
            for (const std::int64_t place : chosen)
              same &= s[i][index(a + place)] == t[j][index(b + place)];
            expected += same ? 1.0 : 0.0;
          }
        check(values[index(i * t.count() + j)] == expected, "spectrum of " + std::to_string(chosen.size()) + " places");
      }
  }
}

void test_smacof() {
  for (const Index n : {1, 2, 7, 30}) {
    const Index k = 3;
    auto x = normal(index(k * n), 5), delta = normal(index(n * n), 6);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j)
        delta[index(i * n + j)] = delta[index(j * n + i)] = i == j ? 0.0 : std::abs(delta[index(i * n + j)]);
    if (n > 2)
      for (Index c = 0; c < k; ++c)
        x[index(c * n + 1)] = x[index(c * n)]; // points that coincide
    std::vector<double> out(x.size()), again(x.size());
    const SmacofStep step(delta, x, n, k);
    const StressSums sums = step(1, out), same = step(3, again);
    check(out == again && sums.stress == same.stress, "bits do not depend on threads");
    double stress = 0.0, squares = 0.0;
    std::vector<double> expected(x.size());
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        double square = 0.0;
        for (Index c = 0; c < k; ++c)
          square += std::pow(x[index(c * n + i)] - x[index(c * n + j)], 2);
        const double distance = std::sqrt(square), given = delta[index(i * n + j)];
        stress += 0.5 * std::pow(distance - given, 2), squares += 0.5 * square;
        for (Index c = 0; c < k && distance > 0.0; ++c)
          expected[index(i * k + c)] +=
              given / distance * (x[index(c * n + i)] - x[index(c * n + j)]) / static_cast<double>(n);
      }
    check_close(sums.stress, stress, 1e-12 * (1.0 + stress), "the stress");
    check_close(sums.squares, squares, 1e-12 * (1.0 + squares), "the squared distances");
    for (std::size_t e = 0; e < out.size(); ++e)
      check_close(out[e], expected[e], 1e-13, "the transform");
  }
}

} // namespace

int main() {
  for_each_isa(test_subsequences);
  test_spectrum();
  test_smacof();
  return result();
}
