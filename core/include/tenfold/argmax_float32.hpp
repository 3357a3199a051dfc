// The class with the largest score of every row, mostly by products in single precision.
//
// With d_j = unit_j (x_j - place_j) the score of class k is one of
//   diagonal   c_k + sum_j b_kj d_j + sum_j a_kj d_j^2
//   whole      c_k - 1/2 sum_j (sum_{i <= j} d_i G_kij - t_kj)^2,   G_k an upper triangle
// computed here with u = 2^-24, every number rounded to it. A sum of n terms whose factors were rounded is within
// g = (n + 8) u of the sum of the terms' sizes (n u is small), so that
//   diagonal   no score is further from the true one than g (max |c| + max ||b_k|| ||d|| + max |a_kj| ||d||^2)
//   whole      the vector that is squared is off by no more than e = g (||t_k|| + |G_k| ||d||), |G_k| a bound of the
//              spectral norm of the absolute values, and the score by e (r + e / 2) + g r^2 / 2, r its length
// The caller adds as `slack` what the same scores in double precision may be off by: three factors, of 1, ||d|| and
// ||d||^2. Where the best score leads by more than all that its number is written, else -1: such rows, and all with
// values that are not finite, are left to double precision.
// Flops: 2 n p k (4 with squares; n p (p + 1) k of triangles) in single precision; bytes: X once.
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

constexpr Index decided_rows = 64; // of a tile, whole vectors
constexpr Index decided_columns = 256;
constexpr Index most_whole_columns = 1024;

// n + 8 roundings, and a little for products of them.
inline double single_error(Index terms) { return 1.01 * 0x1p-24 * static_cast<double>(terms + 8); }

// By how much a best score must lead: nothing of a larger bound overflows on the way to it.
constexpr double most_lead = 1e20, least_lead = 1e-30;

using SingleVector = std::vector<float, OnLines<float>>;

// The place and the units of the columns, and the tile of one worker.
template <class T> class ScaledTile {
public:
  ScaledTile(const Dense<T> &x, std::span<const double> place, std::span<const double> unit, Index columns)
      : x_(x), place_(place), unit_(unit), step_((columns + 15) / 16 * 16),
        rows_(static_cast<std::size_t>(decided_rows * step_)), turned_(rows_.size()) {}

  // Columns of d, each `decided_rows` long.
  const float *write(Index row, Index count, Index begin, Index columns) {
    for (Index i = 0; i < count; ++i)
      kernels().dense<T>().scaled_row(x_.data + (row + i) * x_.columns + begin, columns, place_.data() + begin,
                                      unit_.data() + begin, rows_.data() + i * step_);
    kernels().turn(rows_.data(), step_, decided_rows, step_, turned_.data(), decided_rows);
    return turned_.data();
  }

private:
  const Dense<T> &x_;
  std::span<const double> place_, unit_;
  Index step_;
  SingleVector rows_, turned_;
};

inline SingleVector in_singles(std::span<const double> values) {
  SingleVector out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), [](double v) { return static_cast<float>(v); });
  return out;
}

template <class F> double largest_row(std::span<const double> values, Index rows, Index columns, F size) {
  double largest = 0.0;
  for (Index k = 0; k < rows; ++k)
    largest = std::max(largest,
                       size(values.subspan(static_cast<std::size_t>(k * columns), static_cast<std::size_t>(columns))));
  return largest;
}
inline double length_of(std::span<const double> v) {
  double total = 0.0;
  for (const double value : v)
    total += value * value;
  return std::sqrt(total);
}
inline double largest_size(std::span<const double> v) {
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
void decide(const Dense<T> &x, const DiagonalScores &s, int threads, std::span<std::int64_t> number) {
  const Index p = x.columns, classes = static_cast<Index>(s.constant.size()), width = std::min(p, decided_columns);
  const bool squares = !s.squared.empty();
  const double g = single_error(squares ? 2 * p : p);
  const double base = 2.0 * (g * largest_size(s.constant) + s.slack[0]) + least_lead;
  const double slope = 2.0 * (g * largest_row(s.linear, classes, p, length_of) + s.slack[1]);
  const double curve = 2.0 * (g * largest_size(s.squared) + s.slack[2]);
  const SingleVector linear = in_singles(s.linear), squared = in_singles(s.squared), constant = in_singles(s.constant);
  const Index tiles = (x.rows + decided_rows - 1) / decided_rows;
  const Index slots = std::min(slot_count(x.rows, static_cast<double>(p * (classes + 4)) / 8.0, 64), tiles);
  parallel(slots, threads, [&](Index slot, int) {
    ScaledTile<T> tile(x, s.place, s.unit, width);
    SingleVector square(static_cast<std::size_t>(squares ? decided_rows * width : 0));
    SingleVector z(static_cast<std::size_t>(decided_rows * classes));
    alignas(64) float norms[decided_rows], best[decided_rows], second[decided_rows];
    std::int32_t found[decided_rows];
    const Range range = slot_range(tiles, slots, slot);
    for (Index row = range.begin * decided_rows; row < std::min(x.rows, range.end * decided_rows);
         row += decided_rows) {
      const Index count = std::min(decided_rows, x.rows - row), groups = decided_rows / kernels().singles;
      std::fill(z.begin(), z.end(), 0.0F);
      std::fill_n(norms, decided_rows, 0.0F);
      for (Index begin = 0; begin < p; begin += width) {
        const Index columns = std::min(width, p - begin);
        const float *d = tile.write(row, count, begin, columns);
        kernels().row_squares(d, decided_rows, columns, decided_rows, squares ? square.data() : nullptr, norms);
        kernels().single_sums(linear.data() + begin, p, 1, classes, columns, d, decided_rows, groups, z.data(),
                              decided_rows);
        if (squares)
          kernels().single_sums(squared.data() + begin, p, 1, classes, columns, square.data(), decided_rows, groups,
                                z.data(), decided_rows);
      }
      kernels().leaders(z.data(), decided_rows, classes, constant.data(), decided_rows, best, second, found);
      for (Index i = 0; i < count; ++i) {
        const double norm = 1.01 * static_cast<double>(norms[i]);
        const double needed = base + slope * std::sqrt(norm) + curve * norm;
        const double lead = static_cast<double>(best[i]) - static_cast<double>(second[i]);
        number[static_cast<std::size_t>(row + i)] = lead > needed && needed < most_lead ? found[i] : -1;
      }
    }
  });
}

struct WholeScores {
  std::span<const double> place, unit; // (p)
  std::span<const double> factors;     // (k, p, p)
  std::span<const double> offsets;     // (k, p)
  std::span<const double> constant;    // (k)
  std::span<const double> slack;       // (3)
};

// A bound of the spectral norm of the absolute values of a matrix.
inline double absolute_norm(std::span<const double> matrix, Index p) {
  std::vector<double> across(static_cast<std::size_t>(p)), down(static_cast<std::size_t>(p));
  for (Index i = 0; i < p; ++i)
    for (Index j = 0; j < p; ++j) {
      const double size = std::fabs(matrix[static_cast<std::size_t>(i * p + j)]);
      across[static_cast<std::size_t>(i)] += size;
      down[static_cast<std::size_t>(j)] += size;
    }
  return std::min(length_of(matrix), std::sqrt(largest_size(across) * largest_size(down)));
}

// Of a row whose lengths in the metrics of the classes are the roots of z (k, decided_rows apart): the first of the
// best, or -1.
struct WholeContest {
  std::vector<double> constant, fixed, slope; // e = fixed + slope ||d||
  double error, slack[3];

  WholeContest(const WholeScores &s, Index p) : constant(s.constant.begin(), s.constant.end()), error(single_error(p)) {
    std::copy_n(s.slack.begin(), 3, slack);
    const auto size = static_cast<std::size_t>(p);
    for (std::size_t k = 0; k < constant.size(); ++k) {
      fixed.push_back(error * length_of(s.offsets.subspan(k * size, size)));
      slope.push_back(error * absolute_norm(s.factors.subspan(k * size * size, size * size), p));
    }
  }

  std::int64_t best(const float *z, double norm) const {
    const double length = std::sqrt(norm), always = slack[0] + slack[1] * length + slack[2] * norm + least_lead;
    const auto score = [&](std::size_t k) {
      return constant[k] - 0.5 * static_cast<double>(z[static_cast<Index>(k) * decided_rows]);
    };
    const auto off = [&](std::size_t k) {
      const double square = 1.01 * static_cast<double>(z[static_cast<Index>(k) * decided_rows]);
      const double e = fixed[k] + slope[k] * length;
      return e * (std::sqrt(square) + 0.5 * e) + 0.5 * error * square + always;
    };
    std::size_t first = 0;
    for (std::size_t k = 1; k < constant.size(); ++k)
      first = score(k) > score(first) ? k : first;
    const double low = score(first) - off(first);
    bool sure = low > -most_lead;
    for (std::size_t k = 0; k < constant.size(); ++k)
      sure &= k == first || (low > score(k) + off(k) && score(k) > -most_lead);
    return sure ? static_cast<std::int64_t>(first) : -1;
  }
};

template <class T> void decide(const Dense<T> &x, const WholeScores &s, int threads, std::span<std::int64_t> number) {
  constexpr Index together = 10; // columns of a triangle: what is below the diagonal in them is multiplied too
  const Index p = x.columns, classes = static_cast<Index>(s.constant.size());
  const WholeContest contest(s, p);
  const SingleVector factors = in_singles(s.factors), offsets = in_singles(s.offsets);
  const Index tiles = (x.rows + decided_rows - 1) / decided_rows;
  const Index slots = std::min(slot_count(x.rows, static_cast<double>(p * p * classes) / 16.0 + 8.0, 64), tiles);
  parallel(slots, threads, [&](Index slot, int) {
    ScaledTile<T> tile(x, s.place, s.unit, p);
    SingleVector z(static_cast<std::size_t>(decided_rows * classes));
    alignas(64) float norms[decided_rows], y[together * decided_rows];
    const Range range = slot_range(tiles, slots, slot);
    for (Index row = range.begin * decided_rows; row < std::min(x.rows, range.end * decided_rows);
         row += decided_rows) {
      const Index count = std::min(decided_rows, x.rows - row), groups = decided_rows / kernels().singles;
      const float *d = tile.write(row, count, 0, p);
      std::fill_n(norms, decided_rows, 0.0F);
      std::fill(z.begin(), z.end(), 0.0F);
      kernels().row_squares(d, decided_rows, p, decided_rows, nullptr, norms);
      for (Index k = 0; k < classes; ++k)
        for (Index j = 0; j < p; j += together) {
          const Index some = std::min(together, p - j);
          for (Index o = 0; o < some; ++o)
            std::fill_n(y + o * decided_rows, decided_rows, -offsets[static_cast<std::size_t>(k * p + j + o)]);
          kernels().single_sums(factors.data() + k * p * p + j, 1, p, some, j + some, d, decided_rows, groups, y,
                                decided_rows);
          kernels().row_squares(y, decided_rows, some, decided_rows, nullptr, z.data() + k * decided_rows);
        }
      for (Index i = 0; i < count; ++i)
        number[static_cast<std::size_t>(row + i)] = contest.best(z.data() + i, 1.01 * static_cast<double>(norms[i]));
    }
  });
}

} // namespace tenfold
