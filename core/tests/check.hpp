// Support of the C++ tests: a check that counts failures, random numbers, the instruction sets of this CPU.
#pragma once

#include "tenfold/isa_kernels.hpp"

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace tenfold::test {

inline int failures = 0;

inline void check(bool condition, const std::string &what) {
  if (condition)
    return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
}

inline void check_close(double got, double expected, double allowed, const std::string &what) {
  const bool same = got == expected || (std::isnan(got) && std::isnan(expected));
  if (same || std::abs(got - expected) <= allowed)
    return;
  ++failures;
  std::fprintf(stderr, "failed: %s: %.17g instead of %.17g (allowed %.3g)\n", what.c_str(), got, expected, allowed);
}

inline std::vector<double> normal(std::size_t size, unsigned seed, double mean = 0.0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> distribution(mean, 1.0);
  std::vector<double> values(size);
  for (double &value : values)
    value = distribution(random);
  return values;
}

template <class T> std::vector<T> as(const std::vector<double> &values) {
  return std::vector<T>(values.begin(), values.end());
}

// Calls body(name) with each instruction set that this CPU has.
template <class F> void for_each_isa(F &&body) {
  const std::string best = kernels().name;
  for (const std::string_view name : available_kernels()) {
    select_kernels(name);
    body(std::string(name));
  }
  select_kernels(best);
}

inline int result() {
  if (failures > 0)
    std::fprintf(stderr, "%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

} // namespace tenfold::test
