// One step of expectation for a mixture of Gaussians, in one pass over the rows.
//
// Given X (n x p), weights (or none), means m_k (K x p), factors and offsets o_k (K), with lengths
//   q_ik = ||(x_i - m_k) B_k||^2        B_k an upper triangle of each component, or one of all, or a diagonal of each,
// the log density log p_i = log sum_k exp(o_k - q_ik / 2) and r_ik = w_i exp(o_k - q_ik / 2) / p_i, returns
//   value = sum w log p      count_k = sum r_k      sums_k = sum r_k (x - m_k)
//   squares_k = sum r_k (x - m_k)(x - m_k)'    of each component; its diagonal where B_k is one; and where all
//                                              components share B, sum w (x - c)(x - c)' about a centre c.
// Rows lie side by side in a chunk that the second-level cache holds: all responsibilities of the chunk first, then the
// moments of one component after the other. Flops: 2 n K p (p + 3) with triangles of their own; bytes: X once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <numeric>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index chunk_group = 32; // rows of a chunk are a multiple of it

// factors: (K, p, p), (1, p, p) with a centre (p), or empty with scales (K, p). Offsets may be minus infinity.
struct Gaussians {
  std::span<const double> means;
  std::span<const double> factors;
  std::span<const double> scales;
  std::span<const double> centre;
  std::span<const double> offsets;
  Index columns;

  Index components() const { return static_cast<Index>(offsets.size()); }
  bool diagonal() const { return factors.empty(); }
  bool shared() const { return !centre.empty(); }
  Index triangles() const { return diagonal() ? 0 : shared() ? 1 : components(); }
};

struct MixtureSums {
  double weight = 0.0;
  double value = 0.0;
  std::vector<double> count;   // (K)
  std::vector<double> sums;    // (K, p)
  std::vector<double> squares; // (K, p, p), (K, p) or (1, p, p)
};

// Factors as the kernels read them, and means in the coordinates of a shared factor.
class MixtureFactors {
public:
  explicit MixtureFactors(const Gaussians &g) : g_(g), ones_(static_cast<std::size_t>(g.columns), 1.0) {
    constexpr Index few = 4;
    const Index p = g.columns, blocks = (p + few - 1) / few;
    size_ = blocks * (blocks + 1) / 2 * few * few;
    packed_ = Buffer(g.triangles() * size_);
    for (Index k = 0; k < g.triangles(); ++k) {
      double *to = packed_.data() + k * size_;
      for (Index first = 0; first < p; to += (first + few) * few, first += few)
        for (Index j = first; j < std::min(p, first + few); ++j)
          for (Index l = 0; l <= j; ++l)
            to[l * few + j - first] = g.factors[static_cast<std::size_t>((k * p + l) * p + j)];
    }
    if (g.shared())
      for (Index k = 0; k < g.components(); ++k)
        for (Index j = 0; j < p; ++j) {
          double along = 0.0;
          for (Index l = 0; l <= j; ++l)
            along += (g.means[index(k * p + l)] - g.centre[index(l)]) * g.factors[index(l * p + j)];
          turned_.push_back(along);
        }
  }

  // q[k * step + i] of the rows of a chunk; turned: room for the chunk in the coordinates of a shared factor
  void lengths(const double *x, Index step, Index count, double *scratch, double *turned, double *q) const {
    const Index p = g_.columns, K = g_.components();
    const Kernels &kernel = kernels();
    if (g_.shared())
      kernel.whitened(x, step, count, p, g_.centre.data(), packed_.data(), scratch, turned);
    for (Index k = 0; k < K; ++k) {
      if (g_.shared())
        kernel.scaled_lengths(turned, step, count, p, turned_.data() + k * p, ones_.data(), q + k * step);
      else if (g_.diagonal())
        kernel.scaled_lengths(x, step, count, p, g_.means.data() + k * p, g_.scales.data() + k * p, q + k * step);
      else
        kernel.whitened_lengths(x, step, count, p, g_.means.data() + k * p, packed_.data() + k * size_, scratch,
                                q + k * step);
    }
  }

private:
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

  const Gaussians &g_;
  Index size_ = 0;
  Buffer packed_;
  std::vector<double> turned_, ones_;
};

// Rows begin ... begin + count side by side, x[j * step + i]; returns count rounded up, with rows of weight zero
// behind.
template <class T>
Index fill_columns(const Dense<T> &from, std::span<const double> weights, Index begin, Index count, Index step,
                   double *x, double *weight) {
  const Index p = from.columns, whole = (count + chunk_group - 1) / chunk_group * chunk_group;
  kernels().dense<T>().to_columns(from.data + begin * p, count, p, step, x);
  for (Index j = 0; j < p && whole > count; ++j)
    std::fill(x + j * step + count, x + j * step + whole, 0.0);
  if (weights.empty())
    std::fill_n(weight, count, 1.0);
  else
    std::copy_n(weights.data() + begin, count, weight);
  std::fill(weight + count, weight + whole, 0.0);
  return whole;
}

// The chunk of one thread.
struct MixtureChunk {
  MixtureChunk(const Gaussians &g, Index rows)
      : step(rows + lanes), x(g.columns * step), q(g.components() * step), weight(rows), log_density(rows),
        scratch(g.columns * chunk_group), turned(g.shared() ? g.columns * step : 0) {}

  static Index rows_for(const Gaussians &g, Index rows) {
    constexpr Index numbers = 256 * 1024;
    const Index most = std::clamp<Index>(numbers / (g.columns + g.components()), 256, 2048);
    return (std::min(most, rows) + chunk_group - 1) / chunk_group * chunk_group;
  }

  template <class T> Index fill(const Dense<T> &from, std::span<const double> weights, Index begin, Index count) {
    return fill_columns(from, weights, begin, count, step, x.data(), weight.data());
  }

  Index step;
  Buffer x, q, weight, log_density, scratch, turned;
};

inline Index mixture_slots(const Gaussians &g, Index rows, Index stride) {
  constexpr Index most_numbers = 8 * 1024 * 1024;
  const double p = static_cast<double>(g.columns), K = static_cast<double>(g.components());
  const double work = K * (g.diagonal() ? p : p * (p + 2.0)) / 4.0 + 4.0 * K;
  return slot_count(rows, work, std::clamp<Index>(most_numbers / std::max<Index>(1, stride), 2, most_slots));
}

// Scratch of outer_sums.
struct OuterRoom {
  explicit OuterRoom(Index columns)
      : in_lanes((columns + 3) / 4 * 4 * ((columns + 3) / 4 * 4) * lanes), tile(2 * 128 * ((columns + 3) / 4 * 4)),
        ignored(columns) {}

  Buffer in_lanes, tile, ignored;
};

// The moments of the rows of a chunk, added to a slot: weight, value, count (K), sums (K p), squares.
inline void add_moments(const Gaussians &g, const MixtureChunk &chunk, Index count, OuterRoom &room, double *slot) {
  const Index p = g.columns, K = g.components();
  const Kernels &kernel = kernels();
  double *counts = slot + 2, *sums = counts + K, *squares = sums + K * p;
  for (Index k = 0; k < K; ++k) {
    const double *r = chunk.q.data() + k * chunk.step, *mean = g.means.data() + k * p;
    if (g.diagonal() || g.shared())
      counts[k] += kernel.column_moments(chunk.x.data(), chunk.step, count, p, mean, r, sums + k * p,
                                         g.diagonal() ? squares + k * p : nullptr);
    else
      counts[k] += kernel.outer_sums(chunk.x.data(), chunk.step, count, p, mean, r, room.in_lanes.data(),
                                     room.tile.data(), sums + k * p, squares + k * p * p);
  }
  if (g.shared())
    kernel.outer_sums(chunk.x.data(), chunk.step, count, p, g.centre.data(), chunk.weight.data(), room.in_lanes.data(),
                      room.tile.data(), room.ignored.data(), squares);
}

template <class T>
MixtureSums mixture_sums(const Dense<T> &x, std::span<const double> weight, const Gaussians &g, int threads) {
  const Index n = x.rows, p = x.columns, K = g.components();
  const Index squares = g.diagonal() ? K * p : g.triangles() * p * p, stride = 2 + K + K * p + squares;
  const MixtureFactors factors(g);
  const Index slots = mixture_slots(g, n, stride), length = MixtureChunk::rows_for(g, n);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, slots));
  std::vector<MixtureChunk> chunks;
  std::vector<OuterRoom> rooms;
  for (int w = 0; w < workers; ++w) {
    chunks.emplace_back(g, length);
    rooms.emplace_back(g.diagonal() ? 0 : p);
  }
  Buffer sums(slots * stride);
  parallel(slots, workers, [&](Index slot, int worker) {
    MixtureChunk &chunk = chunks[static_cast<std::size_t>(worker)];
    double *own = sums.data() + slot * stride;
    const Range range = slot_range(n, slots, slot);
    for (Index begin = range.begin; begin < range.end; begin += length) {
      const Index count = chunk.fill(x, weight, begin, std::min(length, range.end - begin));
      factors.lengths(chunk.x.data(), chunk.step, count, chunk.scratch.data(), chunk.turned.data(), chunk.q.data());
      own[0] = std::accumulate(chunk.weight.data(), chunk.weight.data() + count, own[0]);
      own[1] += kernels().responsibilities(chunk.q.data(), chunk.step, count, K, g.offsets.data(), chunk.weight.data(),
                                           chunk.log_density.data());
      add_moments(g, chunk, count, rooms[static_cast<std::size_t>(worker)], own);
    }
  });
  merge_slots(sums.data(), slots, stride, stride, threads);
  const double *found = sums.data();
  MixtureSums out{found[0], found[1], {}, {}, {}};
  out.count.assign(found + 2, found + 2 + K);
  out.sums.assign(found + 2 + K, found + 2 + K + K * p);
  out.squares.assign(found + 2 + K + K * p, found + stride);
  if (!g.diagonal())
    for (Index k = 0; k < g.triangles(); ++k)
      for (Index a = 0; a < p; ++a)
        for (Index b = 0; b < a; ++b)
          out.squares[static_cast<std::size_t>((k * p + a) * p + b)] =
              out.squares[static_cast<std::size_t>((k * p + b) * p + a)];
  return out;
}

// log p_i of each row, and r_ik (n x K) of weights one unless that is empty.
template <class T>
void mixture_posterior(const Dense<T> &x, const Gaussians &g, int threads, std::span<double> log_density,
                       std::span<double> r) {
  const Index n = x.rows, K = g.components();
  const MixtureFactors factors(g);
  const Index slots = mixture_slots(g, n, 0), length = MixtureChunk::rows_for(g, n);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, slots));
  std::vector<MixtureChunk> chunks;
  for (int w = 0; w < workers; ++w)
    chunks.emplace_back(g, length);
  parallel(slots, workers, [&](Index slot, int worker) {
    MixtureChunk &chunk = chunks[static_cast<std::size_t>(worker)];
    const Range range = slot_range(n, slots, slot);
    for (Index begin = range.begin; begin < range.end; begin += length) {
      const Index used = std::min(length, range.end - begin), count = chunk.fill(x, {}, begin, used);
      factors.lengths(chunk.x.data(), chunk.step, count, chunk.scratch.data(), chunk.turned.data(), chunk.q.data());
      kernels().responsibilities(chunk.q.data(), chunk.step, count, K, g.offsets.data(), chunk.weight.data(),
                                 chunk.log_density.data());
      std::copy_n(chunk.log_density.data(), used, log_density.data() + begin);
      for (Index i = 0; i < used && !r.empty(); ++i)
        for (Index k = 0; k < K; ++k)
          r[static_cast<std::size_t>((begin + i) * K + k)] = chunk.q[k * chunk.step + i];
    }
  });
}

} // namespace tenfold
