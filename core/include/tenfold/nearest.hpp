// The nearest of k centres for every row, exactly as in double precision, mostly by products in single precision.
//
// The number of a row's centre is  argmin_k sum_j (x_j - c_kj)^2  in double precision, the first of equals. Scores
// s_k = x.c_k - ||c_k||^2 / 2  of rows and centres about a common place, in units of the largest centre, are summed in
// single precision first (kernels/nearest.hpp). With u = 2^-24, rows and centres rounded to it and p + 1 sums, no score
// is further from the true one than
//   (p + 4) u C (||x|| + C / 2),   C the longest centre,
// so that a best score that leads the second by more than twice that is the best one; where it does not, or where
// something overflowed, the row is compared with all centres in double precision. Sparse rows stay where they are: for
// them the place is zero, and ||x - c||^2 = ||c||^2 + sum over stored (x_j (x_j - 2 c_j)).
// Flops: 2 n p k in single precision; bytes: X once. Nothing of size n k is kept.
#pragma once

#include "tenfold/buffer.hpp"
#include "tenfold/kernels.hpp"
#include "tenfold/products.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

using Singles = std::vector<float, OnLines<float>>;

constexpr double single_roundoff = 5.9604644775390625e-8;

// Centres (k x p) as the scores need them, from those of the caller, which must outlive them.
struct Centres {
  std::span<const double> values; // (k, p)
  Index count, columns;
  Weights shift; // (p) the common place
  double unit = 1.0;
  Index panels = 0;
  Singles packed, half;
  std::vector<double> squares; // (k) ||c_k||^2, for sparse rows
  double reach = 0.0;          // the longest, in units

  Centres(std::span<const double> centres, Index k, Index p)
      : values(centres), count(k), columns(p), shift(static_cast<std::size_t>(p)),
        squares(static_cast<std::size_t>(k)) {}

  const double *at(Index k) const { return values.data() + k * columns; }

  // The power of two that makes the largest entry about one, and the norms in it.
  void measure() {
    double largest = 0.0;
    for (Index k = 0; k < count; ++k)
      for (Index j = 0; j < columns; ++j)
        largest = std::max(largest, std::fabs(at(k)[j] - shift[static_cast<std::size_t>(j)]));
    unit =
        largest > 0.0 && std::isfinite(largest) ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1.0;
    const Index lane = kernels().singles;
    panels = (count + lane - 1) / lane;
    half.assign(static_cast<std::size_t>(panels * lane), std::numeric_limits<float>::infinity());
    for (Index k = 0; k < count; ++k) {
      double norm = 0.0, square = 0.0;
      for (Index j = 0; j < columns; ++j) {
        const double value = at(k)[j], away = unit * (value - shift[static_cast<std::size_t>(j)]);
        norm += away * away;
        square += value * value;
      }
      squares[static_cast<std::size_t>(k)] = square;
      half[static_cast<std::size_t>(k)] = static_cast<float>(norm / 2.0);
      reach = std::max(reach, std::sqrt(norm));
    }
  }
  float entry(Index k, Index j) const {
    return static_cast<float>(unit * (at(k)[j] - shift[static_cast<std::size_t>(j)]));
  }
  // By how much the best score must lead, for a row of this squared length with so many entries.
  double margin(double square, Index entries) const {
    return 2.1 * static_cast<double>(entries + 4) * single_roundoff * reach * (std::sqrt(square) + reach / 2.0);
  }
};

template <class T> void pack(Centres &c, const Dense<T> &) {
  const Index p = c.columns, lane = kernels().singles;
  for (Index k = 0; k < c.count; ++k)
    for (Index j = 0; j < p; ++j)
      c.shift[static_cast<std::size_t>(j)] += c.at(k)[j] / static_cast<double>(c.count);
  c.measure();
  c.packed.assign(static_cast<std::size_t>(c.panels * p * lane), 0.0f);
  for (Index k = 0; k < c.count; ++k) {
    float *to = c.packed.data() + k / lane * p * lane + k % lane;
    for (Index j = 0; j < p; ++j)
      to[j * lane] = c.entry(k, j);
  }
}
template <class T, class I> void pack(Centres &c, const Sparse<T, I> &) {
  c.measure();
  const Index step = c.panels * kernels().singles;
  c.packed.assign(static_cast<std::size_t>(c.columns * step), 0.0f);
  for (Index k = 0; k < c.count; ++k)
    for (Index j = 0; j < c.columns; ++j)
      c.packed[static_cast<std::size_t>(j * step + k)] = c.entry(k, j);
}

template <class Rows> Centres centres_for(const Rows &x, std::span<const double> centres, Index k) {
  Centres c(centres, k, x.columns);
  pack(c, x);
  return c;
}

// What one worker needs for up to `contest_rows` rows.
struct Contest {
  Singles x;
  float best[contest_rows], second[contest_rows];
  std::int32_t number[contest_rows];
};

template <class T> Contest contest_for(const Dense<T> &x) {
  Contest contest;
  contest.x.resize(static_cast<std::size_t>(x.columns * contest_rows));
  return contest;
}
template <class T, class I> Contest contest_for(const Sparse<T, I> &) { return {}; }

// Rows of one call: their singles stay in the first-level cache.
template <class T> Index contest_size(const Dense<T> &x) {
  return std::clamp<Index>(8192 / std::max<Index>(1, x.columns) / 8 * 8, 8, contest_rows);
}
template <class T, class I> Index contest_size(const Sparse<T, I> &) { return contest_rows; }

template <class T> double distance_to(const Dense<T> &x, Index row, const Centres &c, Index k) {
  return kernels().dense<T>().square_distance(x.data + row * x.columns, c.at(k), x.columns);
}
template <class T, class I> double distance_to(const Sparse<T, I> &x, Index row, const Centres &c, Index k) {
  const auto *indptr = x.indptr.data();
  const double *centre = c.at(k);
  double total = c.squares[static_cast<std::size_t>(k)];
  for (std::int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
    const double value = static_cast<double>(x.data.data()[e]);
    total += value * (value - 2.0 * centre[x.indices.data()[e]]);
  }
  return std::max(total, 0.0);
}

// In double precision; the first of equals, and the first where nothing can be compared.
template <class Rows> std::int32_t nearest_in_double(const Rows &x, Index row, const Centres &c) {
  double least = std::numeric_limits<double>::infinity();
  Index found = 0;
  for (Index k = 0; k < c.count; ++k) {
    const double away = distance_to(x, row, c, k);
    if (away < least) {
      least = away;
      found = k;
    }
  }
  return static_cast<std::int32_t>(found);
}

// The nearest centres of the rows begin, ..., begin + count - 1, in contest.number.
template <class T> void nearest_of(const Dense<T> &x, Index begin, Index count, const Centres &c, Contest &contest) {
  const Index p = x.columns;
  float squares[contest_rows];
  for (Index i = 0; i < count; ++i)
    squares[i] =
        kernels().dense<T>().to_singles(x.data + (begin + i) * p, p, c.shift.data(), c.unit, contest.x.data() + i * p);
  kernels().nearest(contest.x.data(), p, count, p, c.packed.data(), c.half.data(), c.panels, contest.best,
                    contest.second, contest.number);
  for (Index i = 0; i < count; ++i)
    if (!(static_cast<double>(contest.best[i]) - static_cast<double>(contest.second[i]) >
          c.margin(static_cast<double>(squares[i]), p)))
      contest.number[i] = nearest_in_double(x, begin + i, c);
}
template <class T, class I>
void nearest_of(const Sparse<T, I> &x, Index begin, Index count, const Centres &c, Contest &contest) {
  const auto *indptr = x.indptr.data();
  for (Index i = 0; i < count; ++i) {
    const std::int64_t from = indptr[begin + i], entries = indptr[begin + i + 1] - from;
    const T *data = x.data.data() + from;
    require_columns(kernels().sparse<T, I>().nearest(
        data, x.indices.data() + from, entries, x.columns, c.unit, c.packed.data(), c.panels * kernels().singles,
        c.half.data(), c.panels, contest.best + i, contest.second + i, contest.number + i));
    double square = 0.0;
    for (std::int64_t e = 0; e < entries; ++e)
      square += c.unit * static_cast<double>(data[e]) * c.unit * static_cast<double>(data[e]);
    if (!(static_cast<double>(contest.best[i]) - static_cast<double>(contest.second[i]) > c.margin(square, entries)))
      contest.number[i] = nearest_in_double(x, begin + i, c);
  }
}

// Vector operations that a row costs.
template <class Rows> double contest_work(const Rows &x, Index k) {
  return row_work(x) * (2.0 + static_cast<double>(k) / 4.0);
}

// The number of each row's nearest centre, and its squared distance.
template <class Rows>
void nearest(const Rows &x, const Centres &c, int threads, std::span<std::int32_t> number, std::span<double> square) {
  const Index slots = slot_count(x.rows, contest_work(x, c.count), 64), size = contest_size(x);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = slot_range(x.rows, slots, slot);
    Contest contest = contest_for(x);
    for (Index begin = range.begin; begin < range.end; begin += size) {
      const Index count = std::min(size, range.end - begin);
      nearest_of(x, begin, count, c, contest);
      for (Index i = 0; i < count; ++i) {
        number.data()[begin + i] = contest.number[i];
        square.data()[begin + i] = distance_to(x, begin + i, c, contest.number[i]);
      }
    }
  });
}

} // namespace tenfold
