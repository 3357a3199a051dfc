// Decimal text to double, ours against the standard library's, in nanoseconds of the processor a number:
//
//   c++ -std=c++20 -O3 -march=x86-64-v2 -I core/include benchmarks/decimal.cpp -o build/decimal && build/decimal
//
// Both read the same cells of a text, one behind the other and with a comma after each, and must give the same bits.
#include "tenfold/decimal.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

using namespace tenfold;

namespace {

std::string cells(const char *format, double scale) {
  std::mt19937_64 random(0);
  std::normal_distribution<double> normal;
  std::string text;
  char buffer[64];
  for (int i = 0; i < 1 << 20; ++i)
    text.append(buffer, static_cast<std::size_t>(std::snprintf(buffer, sizeof buffer, format, scale * normal(random))))
        .push_back(',');
  return text;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The best of nine passes; `read` returns the value and where the number ends.
template <class Read> double nanoseconds(const std::string &text, std::vector<double> &out, Read read) {
  double best = INFINITY;
  for (int pass = 0; pass < 9; ++pass) {
    out.clear();
    const double start = now();
    for (const char *at = text.data(), *const end = at + text.size(); at < end; ++at) {
      const auto [value, stop] = read(at, end);
      out.push_back(value);
      at = stop;
    }
    best = std::min(best, 1e9 * (now() - start) / static_cast<double>(out.size()));
  }
  return best;
}

} // namespace

int main() {
  struct {
    const char *name, *format;
    double scale;
  } const kinds[] = {
      {"17 digits", "%.17g", 1}, {"6 digits", "%.6g", 1}, {"2 decimals", "%.2f", 100}, {"whole", "%.0f", 5e3}};
  std::puts("             ours  from_chars  ratio");
  for (const auto &kind : kinds) {
    const std::string text = cells(kind.format, kind.scale);
    std::vector<double> found, expected;
    found.reserve(1 << 20), expected.reserve(1 << 20);
    const double ours = nanoseconds(text, found, [](const char *at, const char *end) {
      const Number number = read_number(at, end);
      return std::pair{number.value, number.end};
    });
    const double theirs = nanoseconds(text, expected, [](const char *at, const char *end) {
      double value = 0.0;
      const char *const stop = std::from_chars(at, end, value).ptr;
      return std::pair{value, stop};
    });
    if (found != expected)
      return std::puts("not the same bits"), 1;
    std::printf("%-10s %5.1f ns    %5.1f ns   %.2f\n", kind.name, ours, theirs, theirs / ours);
  }
}
