// The nearest of k centres for every sample, exactly as in float64, mostly by products in float32. A specialisation of
// pairwise.hpp: product and argmax are fused in registers, 3.5 times as fast as a float64 tile and its reduction
// (kmeans_assign_float64.hpp; 200k x 32, k = 64).
//
// The centre of a sample is  argmin_k sum_j (x_j - c_kj)^2  in float64, the first of equals. Scores
// s_k = x.c_k - ||c_k||^2 / 2  of samples and centres about a common point, in units of the largest centre, are summed
// in float32 first (isa/nearest_centre_float32.hpp). With u = 2^-24, samples and centres rounded to it and
// p + 1 sums, no score is further from the true one than
//   (p + 4) u C (||x|| + C / 2),   C the longest centre,
// so that a best score that leads the second by more than twice that is the best one; where it does not, or where
// something overflowed, the sample is compared with all centres in float64. Sparse samples are not centred: for them
// the point is zero, and ||x - c||^2 = ||c||^2 + sum over stored (x_j (x_j - 2 c_j)).
// Flops: 2 n p k in float32; bytes: X once. Nothing of size n k is stored.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/tile_products.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

using Singles = std::vector<float, CacheLineAllocator<float>>;

constexpr double float32_roundoff = 5.9604644775390625e-8;

// The power of two that makes numbers up to `largest` about one.
inline double unit_for(double largest) {
  return largest > 0.0 && std::isfinite(largest) ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1.0;
}

// Centres (k x p) in float32 panels for the scores; the values of the caller must outlive this.
struct CentresFloat32 {
  std::span<const double> values; // (k, p)
  Index count, columns;
  Weights shift; // (p) the common point
  double unit = 1.0;
  Index panels = 0;
  Singles packed, half;
  std::vector<double> squares; // (k) ||c_k||^2, for sparse rows
  double reach = 0.0;          // the longest, in units

  CentresFloat32(std::span<const double> centres, Index k, Index p)
      : values(centres), count(k), columns(p), shift(static_cast<std::size_t>(p)),
        squares(static_cast<std::size_t>(k)) {}

  const double *at(Index k) const { return values.data() + k * columns; }

  // The power of two that makes the largest entry about one.
  void choose_unit() {
    double largest = 0.0;
    for (Index k = 0; k < count; ++k)
      for (Index j = 0; j < columns; ++j)
        largest = std::max(largest, std::fabs(at(k)[j] - shift[static_cast<std::size_t>(j)]));
    unit =
        largest > 0.0 && std::isfinite(largest) ? std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000)) : 1.0;
  }
  // Lengths in units.
  void measure() {
    const Index lane = kernels().singles;
    panels = (count + lane - 1) / lane;
    half.assign(static_cast<std::size_t>(panels * lane), std::numeric_limits<float>::infinity());
    for (Index k = 0; k < count; ++k) {
      double norm = 0.0, square = 0.0;
      for (Index j = 0; j < columns; ++j) {
        const double value = at(k)[j], difference = unit * (value - shift[static_cast<std::size_t>(j)]);
        norm += difference * difference;
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
  // By how much the best score must lead, for a sample of this squared length with so many entries.
  double margin(double square, Index entries) const {
    return 2.1 * static_cast<double>(entries + 4) * float32_roundoff * reach * (std::sqrt(square) + reach / 2.0);
  }
};

// In panels, about the shift and in the unit that were chosen.
inline void pack_panels(CentresFloat32 &c) {
  const Index p = c.columns, lane = kernels().singles;
  c.measure();
  c.packed.assign(static_cast<std::size_t>(c.panels * p * lane), 0.0f);
  for (Index k = 0; k < c.count; ++k) {
    float *to = c.packed.data() + k / lane * p * lane + k % lane;
    for (Index j = 0; j < p; ++j)
      to[j * lane] = c.entry(k, j);
  }
}

template <class T> void pack(CentresFloat32 &c, const Dense<T> &) {
  for (Index k = 0; k < c.count; ++k)
    for (Index j = 0; j < c.columns; ++j)
      c.shift[static_cast<std::size_t>(j)] += c.at(k)[j] / static_cast<double>(c.count);
  c.choose_unit();
  pack_panels(c);
}
// Features x centres: a stored entry is multiplied by adjacent centres.
template <class T, class I> void pack(CentresFloat32 &c, const Sparse<T, I> &) {
  c.choose_unit();
  c.measure();
  const Index step = c.panels * kernels().singles;
  c.packed.assign(static_cast<std::size_t>(c.columns * step), 0.0f);
  for (Index k = 0; k < c.count; ++k)
    for (Index j = 0; j < c.columns; ++j)
      c.packed[static_cast<std::size_t>(j * step + k)] = c.entry(k, j);
}

template <class Rows> CentresFloat32 centres_for(const Rows &x, std::span<const double> centres, Index k) {
  CentresFloat32 c(centres, k, x.columns);
  pack(c, x);
  return c;
}

// A batch of samples in the form of the scores: what one worker has.
struct CentreBatch {
  Index columns;
  Singles x;                  // dense rows, (most, columns)
  std::vector<Index> row;     // their numbers
  std::vector<double> square; // their squared lengths, in units
  Index count = 0;

  CentreBatch(Index most, Index p, bool dense)
      : columns(p), x(static_cast<std::size_t>(dense ? most * p : 0)), row(static_cast<std::size_t>(most)),
        square(static_cast<std::size_t>(most)) {}
  Index most() const { return static_cast<Index>(row.size()); }
  const float *at(Index i) const { return x.data() + i * columns; }
};

// As many samples as stay in the second-level cache, in whole vectors.
template <class T> CentreBatch make_batch(const Dense<T> &x) {
  return {std::clamp<Index>(32768 / std::max<Index>(1, x.columns) / 16 * 16, 64, 512), x.columns, true};
}
template <class T, class I> CentreBatch make_batch(const Sparse<T, I> &x) { return {256, x.columns, false}; }

template <class T> void enter(const Dense<T> &x, Index row, const CentresFloat32 &c, CentreBatch &batch) {
  const auto i = static_cast<std::size_t>(batch.count);
  batch.row[i] = row;
  batch.square[i] = static_cast<double>(kernels().dense<T>().to_singles(
      x.data + row * x.columns, x.columns, c.shift.data(), c.unit, batch.x.data() + batch.count * x.columns));
  ++batch.count;
}
template <class T, class I> void enter(const Sparse<T, I> &x, Index row, const CentresFloat32 &c, CentreBatch &batch) {
  double square = 0.0;
  for (std::int64_t e = x.indptr.data()[row]; e < x.indptr.data()[row + 1]; ++e) {
    const double value = c.unit * static_cast<double>(x.data.data()[e]);
    square += value * value;
  }
  batch.row[static_cast<std::size_t>(batch.count)] = row;
  batch.square[static_cast<std::size_t>(batch.count)] = square;
  ++batch.count;
}

// The two best scores of some samples of a batch with the centres of the panels first, ..., last - 1.
struct Scores {
  float best[nearest_centre_samples], second[nearest_centre_samples];
  std::int32_t number[nearest_centre_samples];
};

template <class T>
void score_panels(const Dense<T> &x, const CentreBatch &batch, const Index *list, Index count, const CentresFloat32 &c,
                  Index first, Index last, Scores &out) {
  const float *rows[nearest_centre_samples];
  for (Index i = 0; i < count; ++i)
    rows[i] = batch.at(list[i]);
  const Index lane = kernels().singles;
  kernels().nearest_centre(rows, count, x.columns, c.packed.data() + first * x.columns * lane,
                           c.half.data() + first * lane, last - first, out.best, out.second, out.number);
  for (Index i = 0; i < count; ++i)
    out.number[i] += static_cast<std::int32_t>(first * lane);
}
template <class T, class I>
void score_panels(const Sparse<T, I> &x, const CentreBatch &batch, const Index *list, Index count,
                  const CentresFloat32 &c, Index first, Index last, Scores &out) {
  const Index lane = kernels().singles;
  for (Index i = 0; i < count; ++i) {
    const Index row = batch.row[static_cast<std::size_t>(list[i])];
    const std::int64_t from = x.indptr.data()[row], entries = x.indptr.data()[row + 1] - from;
    require_columns(kernels().sparse<T, I>().nearest_centre(
        x.data.data() + from, x.indices.data() + from, entries, x.columns, c.unit, c.packed.data() + first * lane,
        c.panels * lane, c.half.data() + first * lane, last - first, out.best + i, out.second + i, out.number + i));
    out.number[i] += static_cast<std::int32_t>(first * lane);
  }
}

template <class T> Index entries_of(const Dense<T> &x, Index) { return x.columns; }
template <class T, class I> Index entries_of(const Sparse<T, I> &x, Index row) {
  return x.indptr.data()[row + 1] - x.indptr.data()[row];
}

template <class T> double distance_to(const Dense<T> &x, Index row, const CentresFloat32 &c, Index k) {
  return kernels().dense<T>().square_distance(x.data + row * x.columns, c.at(k), x.columns);
}
template <class T, class I> double distance_to(const Sparse<T, I> &x, Index row, const CentresFloat32 &c, Index k) {
  const auto *indptr = x.indptr.data();
  const double *centre = c.at(k);
  double total = c.squares[static_cast<std::size_t>(k)];
  for (std::int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
    const double value = static_cast<double>(x.data.data()[e]);
    total += value * (value - 2.0 * centre[x.indices.data()[e]]);
  }
  return std::max(total, 0.0);
}

// In float64; the first of equals, and the first where nothing can be compared.
template <class Rows> std::int32_t nearest_centre_float64(const Rows &x, Index row, const CentresFloat32 &c) {
  double least = std::numeric_limits<double>::infinity();
  Index best = 0;
  for (Index k = 0; k < c.count; ++k) {
    const double difference = distance_to(x, row, c, k);
    if (difference < least) {
      least = difference;
      best = k;
    }
  }
  return static_cast<std::int32_t>(best);
}

// Writes the nearest centres of a batch to `number`, and empties the batch.
template <class Rows>
void nearest_centres_of_batch(const Rows &x, const CentresFloat32 &c, CentreBatch &batch, std::int32_t *number) {
  Scores scores;
  Index list[nearest_centre_samples];
  for (Index begin = 0; begin < batch.count; begin += nearest_centre_samples) {
    const Index count = std::min(nearest_centre_samples, batch.count - begin);
    for (Index i = 0; i < count; ++i)
      list[i] = begin + i;
    score_panels(x, batch, list, count, c, 0, c.panels, scores);
    for (Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(begin + i);
      const double lead = static_cast<double>(scores.best[i]) - static_cast<double>(scores.second[i]);
      const bool sure = lead > c.margin(batch.square[at], entries_of(x, batch.row[at]));
      number[begin + i] = sure ? scores.number[i] : nearest_centre_float64(x, batch.row[at], c);
    }
  }
  batch.count = 0;
}

// Vector operations of a sample.
template <class Rows> double nearest_centre_work(const Rows &x, Index k) {
  return row_work(x) * (2.0 + static_cast<double>(k) / 4.0);
}

// The number of each sample's nearest centre, and its squared distance.
template <class Rows>
void nearest_centres(const Rows &x, const CentresFloat32 &c, int threads, std::span<std::int32_t> number,
                     std::span<double> square) {
  const Index slots = partition_count(x.rows, nearest_centre_work(x, c.count), 64);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = partition_range(x.rows, slots, slot);
    CentreBatch batch = make_batch(x);
    for (Index begin = range.begin; begin < range.end; begin += batch.most()) {
      const Index end = std::min(begin + batch.most(), range.end);
      for (Index i = begin; i < end; ++i)
        enter(x, i, c, batch);
      nearest_centres_of_batch(x, c, batch, number.data() + begin);
      for (Index i = begin; i < end; ++i)
        square.data()[i] = distance_to(x, i, c, number.data()[i]);
    }
  });
}

} // namespace tenfold
