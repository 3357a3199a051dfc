// A random matrix in both storages; a fraction `density` of the entries is nonzero.
#pragma once

#include "check.hpp"

#include "tenfold/types.hpp"

namespace tenfold::test {

inline std::size_t index(Index i) { return static_cast<std::size_t>(i); }

template <class T> struct Matrix {
  Matrix(Index n_, Index p_, double density, unsigned seed, double mean = 0.0)
      : n(n_), p(p_), values(as<T>(normal(index(n * p), seed, mean))) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    indptr.push_back(0);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < p; ++j) {
        T &value = values[index(i * p + j)];
        if (unit(random) >= density)
          value = 0;
        else {
          data.push_back(value);
          indices.push_back(static_cast<std::int32_t>(j));
        }
      }
      indptr.push_back(static_cast<std::int64_t>(data.size()));
    }
  }

  double operator()(Index i, Index j) const { return static_cast<double>(values[index(i * p + j)]); }
  Dense<T> dense() const { return {values.data(), n, p}; }
  Sparse<T, std::int32_t> sparse() const { return {data, indices, indptr, n, p}; }

  Index n, p;
  std::vector<T> values, data;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> indptr;
};

} // namespace tenfold::test
