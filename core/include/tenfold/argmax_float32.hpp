// argmax of class scores for every sample in single precision, with proven error bounds.
//
// With d_j = unit_j (x_j - place_j) the score of class k is one of
//   diagonal   c_k + sum_j b_kj d_j + sum_j a_kj d_j^2
//   full       c_k - 1/2 sum_j (sum_{i <= j} d_i G_kij - t_kj)^2,   G_k an upper triangle
// evaluated with unit roundoff u = 2^-24 on operands rounded to it. A sum of n terms whose factors were rounded is
// within g = (n + 8) u of the sum of the absolute terms (n u is small), so that
//   diagonal   the error of a score is at most g (max |c| + max ||b_k|| ||d|| + max |a_kj| ||d||^2)
//   full       the error of the squared vector is at most e = g (||t_k|| + |G_k| ||d||), |G_k| a bound on the spectral
//   norm of
//              the absolute values, and that of the score e (r + e / 2) + g r^2 / 2, r the norm of the vector
// The caller adds as `slack` the error of the same scores in double precision: coefficients of 1, ||d|| and ||d||^2.
// Where the best score leads by more than the bounds its class is written, else -1: these samples, and all with
// non-finite values, are left to double precision. Flops: 2 n p k (4 with squares; n p (p + 1) k for triangles) in
// single precision; bytes: X once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index argmax_tile_rows = 64;     // rows of a tile, whole SIMD vectors
constexpr Index argmax_tile_columns = 256; // columns of a tile
constexpr Index max_full_columns = 1024;   // of full scores: a tile of 64 such rows is 256 KiB

// Relative error bound of a single-precision sum: n + 8 roundings, and 1 % for products of them.
inline double float32_error_bound(Index terms) { return 1.01 * 0x1p-24 * static_cast<double>(terms + 8); }

// Range of required leads: nothing in a larger bound overflows.
constexpr double max_lead = 1e20, min_lead = 1e-30;

using FloatVector = std::vector<float, CacheLineAllocator<float>>;

// The scaled columns d of a tile of rows, with the work space of one thread.
template <class T> class ScaledTile {
public:
  ScaledTile(const Dense<T> &x, std::span<const double> place, std::span<const double> unit, Index columns)
      : x_(x), place_(place), unit_(unit), step_((columns + 15) / 16 * 16),
        rows_(static_cast<std::size_t>(argmax_tile_rows * step_)), transposed_(rows_.size()) {}

  // Columns of d, each `argmax_tile_rows` long.
  const float *write(Index row, Index count, Index begin, Index columns) {
    for (Index i = 0; i < count; ++i)
      kernels().dense<T>().scale_row(x_.data + (row + i) * x_.columns + begin, columns, place_.data() + begin,
                                     unit_.data() + begin, rows_.data() + i * step_);
    kernels().transpose_float32(rows_.data(), step_, argmax_tile_rows, step_, transposed_.data(), argmax_tile_rows);
    return transposed_.data();
  }

private:
  const Dense<T> &x_;
  std::span<const double> place_, unit_;
  Index step_;
  FloatVector rows_, transposed_;
};

inline FloatVector to_floats(std::span<const double> values) {
  FloatVector out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), [](double v) { return static_cast<float>(v); });
  return out;
}

template <class F> double max_over_rows(std::span<const double> values, Index rows, Index columns, F size) {
  double largest = 0.0;
  for (Index k = 0; k < rows; ++k)
    largest = std::max(largest,
                       size(values.subspan(static_cast<std::size_t>(k * columns), static_cast<std::size_t>(columns))));
  return largest;
}
inline double norm_of(std::span<const double> v) {
  double total = 0.0;
  for (const double value : v)
    total += value * value;
  return std::sqrt(total);
}
inline double max_abs(std::span<const double> v) {
  double largest = 0.0;
  for (const double value : v)
    largest = std::max(largest, std::fabs(value));
  return largest;
}

struct DiagonalScores {
  std::span<const double> place, unit;     // (p)
  std::span<const double> linear, squared; // (k, p); no squares: empty
  std::span<const double> constant;        // (k)
  std::span<const double> slack;           // (3)
};

template <class T>
void argmax_float32(const Dense<T> &x, const DiagonalScores &s, int threads, std::span<std::int64_t> number) {
  const Index p = x.columns, classes = static_cast<Index>(s.constant.size()), width = std::min(p, argmax_tile_columns);
  const bool squares = !s.squared.empty();
  const double g = float32_error_bound(squares ? 2 * p : p);
  const double base = 2.0 * (g * max_abs(s.constant) + s.slack[0]) + min_lead;
  const double slope = 2.0 * (g * max_over_rows(s.linear, classes, p, norm_of) + s.slack[1]);
  const double curve = 2.0 * (g * max_abs(s.squared) + s.slack[2]);
  const FloatVector linear = to_floats(s.linear), squared = to_floats(s.squared), constant = to_floats(s.constant);
  const Index tiles = (x.rows + argmax_tile_rows - 1) / argmax_tile_rows;
  const Index partitions = std::min(partition_count(x.rows, static_cast<double>(p * (classes + 4)) / 8.0, 64), tiles);
  parallel(partitions, threads, [&](Index partition, int) {
    ScaledTile<T> tile(x, s.place, s.unit, width);
    FloatVector square(static_cast<std::size_t>(squares ? argmax_tile_rows * width : 0));
    FloatVector z(static_cast<std::size_t>(argmax_tile_rows * classes));
    alignas(64) float norms[argmax_tile_rows], best[argmax_tile_rows], second[argmax_tile_rows];
    std::int32_t best_class[argmax_tile_rows];
    const Range range = partition_range(tiles, partitions, partition);
    for (Index row = range.begin * argmax_tile_rows; row < std::min(x.rows, range.end * argmax_tile_rows);
         row += argmax_tile_rows) {
      const Index count = std::min(argmax_tile_rows, x.rows - row), groups = argmax_tile_rows / kernels().singles;
      std::fill(z.begin(), z.end(), 0.0F);
      std::fill_n(norms, argmax_tile_rows, 0.0F);
      for (Index begin = 0; begin < p; begin += width) {
        const Index columns = std::min(width, p - begin);
        const float *d = tile.write(row, count, begin, columns);
        kernels().row_sq_norms(d, argmax_tile_rows, columns, argmax_tile_rows, squares ? square.data() : nullptr,
                               norms);
        kernels().sgemm_tile(linear.data() + begin, p, 1, classes, columns, d, argmax_tile_rows, groups, z.data(),
                             argmax_tile_rows);
        if (squares)
          kernels().sgemm_tile(squared.data() + begin, p, 1, classes, columns, square.data(), argmax_tile_rows, groups,
                               z.data(), argmax_tile_rows);
      }
      kernels().top_two(z.data(), argmax_tile_rows, classes, constant.data(), argmax_tile_rows, best, second,
                        best_class);
      for (Index i = 0; i < count; ++i) {
        const double norm = 1.01 * static_cast<double>(norms[i]);
        const double needed = base + slope * std::sqrt(norm) + curve * norm;
        const double lead = static_cast<double>(best[i]) - static_cast<double>(second[i]);
        number[static_cast<std::size_t>(row + i)] = lead > needed && needed < max_lead ? best_class[i] : -1;
      }
    }
  });
}

struct FullScores {
  std::span<const double> place, unit; // (p)
  std::span<const double> factors;     // (k, p, p)
  std::span<const double> offsets;     // (k, p)
  std::span<const double> constant;    // (k)
  std::span<const double> slack;       // (3)
};

// A bound on the spectral norm of the absolute values of a matrix.
inline double absolute_norm(std::span<const double> matrix, Index p) {
  std::vector<double> across(static_cast<std::size_t>(p)), down(static_cast<std::size_t>(p));
  for (Index i = 0; i < p; ++i)
    for (Index j = 0; j < p; ++j) {
      const double size = std::fabs(matrix[static_cast<std::size_t>(i * p + j)]);
      across[static_cast<std::size_t>(i)] += size;
      down[static_cast<std::size_t>(j)] += size;
    }
  return std::min(norm_of(matrix), std::sqrt(max_abs(across) * max_abs(down)));
}

// The class of the best score of a sample, given its squared norms z (k, argmax_tile_rows apart); -1 where the bounds
// overlap.
struct FullScoreBounds {
  std::vector<double> constant, fixed, slope; // e = fixed + slope ||d||
  double error, slack[3];

  FullScoreBounds(const FullScores &s, Index p)
      : constant(s.constant.begin(), s.constant.end()), error(float32_error_bound(p)) {
    std::copy_n(s.slack.begin(), 3, slack);
    const auto size = static_cast<std::size_t>(p);
    for (std::size_t k = 0; k < constant.size(); ++k) {
      fixed.push_back(error * norm_of(s.offsets.subspan(k * size, size)));
      slope.push_back(error * absolute_norm(s.factors.subspan(k * size * size, size * size), p));
    }
  }

  std::int64_t best(const float *z, double norm) const {
    const double length = std::sqrt(norm), fixed_error = slack[0] + slack[1] * length + slack[2] * norm + min_lead;
    const auto score = [&](std::size_t k) {
      return constant[k] - 0.5 * static_cast<double>(z[static_cast<Index>(k) * argmax_tile_rows]);
    };
    const auto error_bound = [&](std::size_t k) {
      const double square = 1.01 * static_cast<double>(z[static_cast<Index>(k) * argmax_tile_rows]);
      const double e = fixed[k] + slope[k] * length;
      return e * (std::sqrt(square) + 0.5 * e) + 0.5 * error * square + fixed_error;
    };
    std::size_t first = 0;
    for (std::size_t k = 1; k < constant.size(); ++k)
      first = score(k) > score(first) ? k : first;
    const double low = score(first) - error_bound(first);
    bool separated = low > -max_lead;
    for (std::size_t k = 0; k < constant.size(); ++k)
      separated &= k == first || (low > score(k) + error_bound(k) && score(k) > -max_lead);
    return separated ? static_cast<std::int64_t>(first) : -1;
  }
};

template <class T>
void argmax_float32(const Dense<T> &x, const FullScores &s, int threads, std::span<std::int64_t> number) {
  constexpr Index block_columns =
      10; // columns of a triangle at a time: their zeros below the diagonal are multiplied too
  const Index p = x.columns, classes = static_cast<Index>(s.constant.size());
  const FullScoreBounds bounds(s, p);
  const FloatVector factors = to_floats(s.factors), offsets = to_floats(s.offsets);
  const Index tiles = (x.rows + argmax_tile_rows - 1) / argmax_tile_rows;
  const Index partitions =
      std::min(partition_count(x.rows, static_cast<double>(p * p * classes) / 16.0 + 8.0, 64), tiles);
  parallel(partitions, threads, [&](Index partition, int) {
    ScaledTile<T> tile(x, s.place, s.unit, p);
    FloatVector z(static_cast<std::size_t>(argmax_tile_rows * classes));
    alignas(64) float norms[argmax_tile_rows], y[block_columns * argmax_tile_rows];
    const Range range = partition_range(tiles, partitions, partition);
    for (Index row = range.begin * argmax_tile_rows; row < std::min(x.rows, range.end * argmax_tile_rows);
         row += argmax_tile_rows) {
      const Index count = std::min(argmax_tile_rows, x.rows - row), groups = argmax_tile_rows / kernels().singles;
      const float *d = tile.write(row, count, 0, p);
      std::fill_n(norms, argmax_tile_rows, 0.0F);
      std::fill(z.begin(), z.end(), 0.0F);
      kernels().row_sq_norms(d, argmax_tile_rows, p, argmax_tile_rows, nullptr, norms);
      for (Index k = 0; k < classes; ++k)
        for (Index j = 0; j < p; j += block_columns) {
          const Index some = std::min(block_columns, p - j);
          for (Index o = 0; o < some; ++o)
            std::fill_n(y + o * argmax_tile_rows, argmax_tile_rows, -offsets[static_cast<std::size_t>(k * p + j + o)]);
          kernels().sgemm_tile(factors.data() + k * p * p + j, 1, p, some, j + some, d, argmax_tile_rows, groups, y,
                               argmax_tile_rows);
          kernels().row_sq_norms(y, argmax_tile_rows, some, argmax_tile_rows, nullptr, z.data() + k * argmax_tile_rows);
        }
      for (Index i = 0; i < count; ++i)
        number[static_cast<std::size_t>(row + i)] = bounds.best(z.data() + i, 1.01 * static_cast<double>(norms[i]));
    }
  });
}

} // namespace tenfold
