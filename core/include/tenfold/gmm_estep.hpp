// E-step of a Gaussian mixture, in one pass over the samples.
//
// Given X (n x p), weights (or none), means m_k (K x p), factors and log weights (offsets) o_k (K), with squared
// distances
//   q_ik = ||(x_i - m_k) B_k||^2        B_k an upper triangle per component, or one shared, or a diagonal per
//   component,
// the log density log p_i = log sum_k exp(o_k - q_ik / 2) and responsibilities r_ik = w_i exp(o_k - q_ik / 2) / p_i,
// returns
//   value = sum w log p      count_k = sum r_k      sums_k = sum r_k (x - m_k)
//   squares_k = sum r_k (x - m_k)(x - m_k)'    per component; its diagonal for diagonal B_k; and for a shared B
//                                              sum w (x - c)(x - c)' about a centre c.
// Samples are transposed in chunks that fit L2 (one lane per sample): first the responsibilities of the chunk, then the
// moments of one component after the other. Flops: 2 n K p (p + 3) with full factors; bytes: X once.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"

#include <numeric>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index chunk_group = 32; // the rows of a chunk are a multiple of this

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

struct GmmSums {
  double weight = 0.0;
  double value = 0.0;
  std::vector<double> count;   // (K)
  std::vector<double> sums;    // (K, p)
  std::vector<double> squares; // (K, p, p), (K, p) or (1, p, p)
};

// Factors in the layout of the SIMD loops, and means in the coordinates of a shared factor.
class GmmFactors {
public:
  explicit GmmFactors(const Gaussians &g) : g_(g), ones_(static_cast<std::size_t>(g.columns), 1.0) {
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
          double coordinate = 0.0;
          for (Index l = 0; l <= j; ++l)
            coordinate += (g.means[index(k * p + l)] - g.centre[index(l)]) * g.factors[index(l * p + j)];
          transformed_.push_back(coordinate);
        }
  }

  // q[k * step + i] of the rows of a chunk; turned: scratch for the chunk in the coordinates of a shared factor.
  void sq_distances(const double *x, Index step, Index count, double *scratch, double *transformed, double *q) const {
    const Index p = g_.columns, K = g_.components();
    const Kernels &kernel = kernels();
    if (g_.shared())
      kernel.whiten(x, step, count, p, g_.centre.data(), packed_.data(), scratch, transformed);
    for (Index k = 0; k < K; ++k) {
      if (g_.shared())
        kernel.scaled_sq_norms(transformed, step, count, p, transformed_.data() + k * p, ones_.data(), q + k * step);
      else if (g_.diagonal())
        kernel.scaled_sq_norms(x, step, count, p, g_.means.data() + k * p, g_.scales.data() + k * p, q + k * step);
      else
        kernel.whitened_sq_norms(x, step, count, p, g_.means.data() + k * p, packed_.data() + k * size_, scratch,
                                 q + k * step);
    }
  }

private:
  static std::size_t index(Index i) { return static_cast<std::size_t>(i); }

  const Gaussians &g_;
  Index size_ = 0;
  Buffer packed_;
  std::vector<double> transformed_, ones_;
};

// Transposes rows begin ... begin + count to x[j * step + i]; returns count rounded up, padded with rows of weight
// zero.
template <class T>
Index fill_columns(const Dense<T> &from, std::span<const double> weights, Index begin, Index count, Index step,
                   double *x, double *weight) {
  const Index p = from.columns, whole = (count + chunk_group - 1) / chunk_group * chunk_group;
  kernels().dense<T>().transpose_rows(from.data + begin * p, count, p, step, x);
  for (Index j = 0; j < p && whole > count; ++j)
    std::fill(x + j * step + count, x + j * step + whole, 0.0);
  if (weights.empty())
    std::fill_n(weight, count, 1.0);
  else
    std::copy_n(weights.data() + begin, count, weight);
  std::fill(weight + count, weight + whole, 0.0);
  return whole;
}

// Chunk buffers of one thread.
struct GmmChunk {
  GmmChunk(const Gaussians &g, Index rows)
      : step(rows + lanes), x(g.columns * step), q(g.components() * step), weight(rows), log_density(rows),
        scratch(g.columns * chunk_group), transformed(g.shared() ? g.columns * step : 0) {}

  static Index rows_for(const Gaussians &g, Index rows) {
    constexpr Index doubles = 256 * 1024;
    const Index most = std::clamp<Index>(doubles / (g.columns + g.components()), 256, 2048);
    return (std::min(most, rows) + chunk_group - 1) / chunk_group * chunk_group;
  }

  template <class T> Index fill(const Dense<T> &from, std::span<const double> weights, Index begin, Index count) {
    return fill_columns(from, weights, begin, count, step, x.data(), weight.data());
  }

  Index step;
  Buffer x, q, weight, log_density, scratch, transformed;
};

inline Index gmm_partitions(const Gaussians &g, Index rows, Index stride) {
  constexpr Index max_doubles = 8 * 1024 * 1024;
  const double p = static_cast<double>(g.columns), K = static_cast<double>(g.components());
  const double work = K * (g.diagonal() ? p : p * (p + 2.0)) / 4.0 + 4.0 * K;
  return partition_count(rows, work, std::clamp<Index>(max_doubles / std::max<Index>(1, stride), 2, max_partitions));
}

// Scratch of outer_products.
struct OuterScratch {
  explicit OuterScratch(Index columns)
      : in_lanes((columns + 3) / 4 * 4 * ((columns + 3) / 4 * 4) * lanes), tile(2 * 128 * ((columns + 3) / 4 * 4)),
        ignored(columns) {}

  Buffer in_lanes, tile, ignored;
};

// Adds the moments of a chunk to the partial sums: weight, value, count (K), sums (K p), squares.
inline void add_chunk_moments(const Gaussians &g, const GmmChunk &chunk, Index count, OuterScratch &scratch_space,
                              double *partition) {
  const Index p = g.columns, K = g.components();
  const Kernels &kernel = kernels();
  double *counts = partition + 2, *sums = counts + K, *squares = sums + K * p;
  for (Index k = 0; k < K; ++k) {
    const double *r = chunk.q.data() + k * chunk.step, *mean = g.means.data() + k * p;
    if (g.diagonal() || g.shared())
      counts[k] += kernel.column_moments(chunk.x.data(), chunk.step, count, p, mean, r, sums + k * p,
                                         g.diagonal() ? squares + k * p : nullptr);
    else
      counts[k] += kernel.outer_products(chunk.x.data(), chunk.step, count, p, mean, r, scratch_space.in_lanes.data(),
                                         scratch_space.tile.data(), sums + k * p, squares + k * p * p);
  }
  if (g.shared())
    kernel.outer_products(chunk.x.data(), chunk.step, count, p, g.centre.data(), chunk.weight.data(),
                          scratch_space.in_lanes.data(), scratch_space.tile.data(), scratch_space.ignored.data(),
                          squares);
}

template <class T>
GmmSums gmm_estep(const Dense<T> &x, std::span<const double> weight, const Gaussians &g, int threads) {
  const Index n = x.rows, p = x.columns, K = g.components();
  const Index squares = g.diagonal() ? K * p : g.triangles() * p * p, stride = 2 + K + K * p + squares;
  const GmmFactors factors(g);
  const Index partitions = gmm_partitions(g, n, stride), length = GmmChunk::rows_for(g, n);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<GmmChunk> chunks;
  std::vector<OuterScratch> scratches;
  for (int w = 0; w < workers; ++w) {
    chunks.emplace_back(g, length);
    scratches.emplace_back(g.diagonal() ? 0 : p);
  }
  Buffer sums(partitions * stride);
  parallel(partitions, workers, [&](Index partition, int worker) {
    GmmChunk &chunk = chunks[static_cast<std::size_t>(worker)];
    double *local = sums.data() + partition * stride;
    const Range range = partition_range(n, partitions, partition);
    for (Index begin = range.begin; begin < range.end; begin += length) {
      const Index count = chunk.fill(x, weight, begin, std::min(length, range.end - begin));
      factors.sq_distances(chunk.x.data(), chunk.step, count, chunk.scratch.data(), chunk.transformed.data(),
                           chunk.q.data());
      local[0] = std::accumulate(chunk.weight.data(), chunk.weight.data() + count, local[0]);
      local[1] += kernels().responsibilities(chunk.q.data(), chunk.step, count, K, g.offsets.data(),
                                             chunk.weight.data(), chunk.log_density.data());
      add_chunk_moments(g, chunk, count, scratches[static_cast<std::size_t>(worker)], local);
    }
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  const double *result = sums.data();
  GmmSums out{result[0], result[1], {}, {}, {}};
  out.count.assign(result + 2, result + 2 + K);
  out.sums.assign(result + 2 + K, result + 2 + K + K * p);
  out.squares.assign(result + 2 + K + K * p, result + stride);
  if (!g.diagonal())
    for (Index k = 0; k < g.triangles(); ++k)
      for (Index a = 0; a < p; ++a)
        for (Index b = 0; b < a; ++b)
          out.squares[static_cast<std::size_t>((k * p + a) * p + b)] =
              out.squares[static_cast<std::size_t>((k * p + b) * p + a)];
  return out;
}

// log p_i of each sample, and r_ik (n x K) for unit weights unless it is empty.
template <class T>
void gmm_responsibilities(const Dense<T> &x, const Gaussians &g, int threads, std::span<double> log_density,
                          std::span<double> r) {
  const Index n = x.rows, K = g.components();
  const GmmFactors factors(g);
  const Index partitions = gmm_partitions(g, n, 0), length = GmmChunk::rows_for(g, n);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<GmmChunk> chunks;
  for (int w = 0; w < workers; ++w)
    chunks.emplace_back(g, length);
  parallel(partitions, workers, [&](Index partition, int worker) {
    GmmChunk &chunk = chunks[static_cast<std::size_t>(worker)];
    const Range range = partition_range(n, partitions, partition);
    for (Index begin = range.begin; begin < range.end; begin += length) {
      const Index used = std::min(length, range.end - begin), count = chunk.fill(x, {}, begin, used);
      factors.sq_distances(chunk.x.data(), chunk.step, count, chunk.scratch.data(), chunk.transformed.data(),
                           chunk.q.data());
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
