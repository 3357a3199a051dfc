// Leave-one-out errors of every ridge candidate from one eigendecomposition.
//
// Given X (n x p), y (n x t), weights (or none), centre (p), target_mean (t), V (p x r), D (A x r), C (t x A x r) and
// base, for each sample i with z = (x - centre) V and each candidate a
//   leverage   h_a = w (base + sum_k z_k^2 D_ak)
//   error      e_ta = (y_t - target_mean_t - sum_k z_k C_tak) / (1 - h_a)
// returns sums (t x A) = sum_i w e^2, the largest leverage of each candidate, the errors (n x t x A) where requested,
// and whether all errors are finite. Samples of weight zero add nothing; their error is the plain residual. Three
// products per tile, all in cache. Flops: 2 n r (p + A + t A); bytes: X once.
#pragma once

#include "tenfold/deterministic_partition.hpp"
#include "tenfold/packed_rhs.hpp"
#include "tenfold/row_groups.hpp"

#include <atomic>
#include <limits>
#include <span>
#include <vector>

namespace tenfold {

struct LeaveOneOut {
  std::vector<double> sums;             // (t, A)
  std::vector<double> largest_leverage; // (A)
  bool finite = true;
};

template <class T> struct Rotation {
  const Dense<T> &x;
  std::span<const double> y; // (n, t)
  std::span<const double> weight;
  std::span<const double> centre;
  std::span<const double> target_mean;
  std::span<const double> V;
  std::span<const double> D;
  std::span<const double> C;
  Index rank;
  Index candidates;
  double base;

  Index targets() const { return static_cast<Index>(target_mean.size()); }
};

// The right-hand sides that every tile is multiplied by, and the work space of one thread.
struct RotationFactors {
  PackedRhs V, D;
  std::vector<PackedRhs> C; // of each target
};
struct RotationTile {
  RotationTile(Index rows, Index columns, const RotationFactors &factors)
      : x(rows * columns), z(rows * factors.V.step()), squares(rows * factors.V.step()),
        spread(rows * factors.D.step()), fit(rows * factors.D.step()) {}

  Buffer x, z, squares, spread, fit;
};

// Adds rows begin ... begin + count to sums (t x A) and largest (A); returns whether all errors are finite.
template <class T>
bool add_errors(const Rotation<T> &in, const RotationFactors &factors, const Blas &blas, Index begin, Index count,
                RotationTile &tile, double *sums, double *largest, double *errors) {
  const Index p = in.x.columns, t = in.targets(), A = in.candidates;
  const Index z_step = factors.V.step(), a_step = factors.D.step();
  const Kernels &k = kernels();
  for (Index i = 0; i < count; ++i)
    k.dense<T>().centre_row(in.x.data + (begin + i) * p, in.centre.data(), p, tile.x.data() + i * p);
  factors.V.multiply(blas, tile.x.data(), p, count, tile.z.data());
  k.square(tile.z.data(), count * z_step, tile.squares.data());
  factors.D.multiply(blas, tile.squares.data(), z_step, count, tile.spread.data());
  const auto weight = [&](Index i) { return in.weight.empty() ? 1.0 : in.weight.data()[begin + i]; };
  for (Index i = 0; i < count; ++i)
    k.leverages(tile.spread.data() + i * a_step, A, weight(i), in.base, largest);
  bool finite = true;
  for (Index target = 0; target < t; ++target) {
    factors.C[static_cast<std::size_t>(target)].multiply(blas, tile.z.data(), z_step, count, tile.fit.data());
    const double mean = in.target_mean[static_cast<std::size_t>(target)];
    for (Index i = 0; i < count; ++i) {
      const Index row = (begin + i) * t + target;
      finite &= k.loo_errors(tile.fit.data() + i * a_step, tile.spread.data() + i * a_step, A, in.y.data()[row] - mean,
                             weight(i), sums + target * A, errors != nullptr ? errors + row * A : nullptr);
    }
  }
  return finite;
}

template <class T>
LeaveOneOut leave_one_out(const Rotation<T> &in, const Blas &blas, int threads, std::span<double> errors) {
  const Index n = in.x.rows, p = in.x.columns, r = in.rank, A = in.candidates, t = in.targets();
  check_weights(in.weight);
  RotationFactors factors{PackedRhs(in.V.data(), false, p, r), PackedRhs(in.D.data(), true, r, A), {}};
  for (Index target = 0; target < t; ++target)
    factors.C.emplace_back(in.C.data() + target * A * r, true, r, A);

  const Index tile = factors.V.packed() ? 128 : 256;
  const double work = static_cast<double>(r) * static_cast<double>(p + A + t * A) / 8.0;
  const Index tiles = (n + tile - 1) / tile;
  const Index partitions = std::min(partition_count(n, work), std::max<Index>(1, tiles));
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<RotationTile> work_space;
  for (int w = 0; w < workers; ++w)
    work_space.emplace_back(tile, p, factors);
  // Of each partition: sums (t x A), then the largest leverages (A).
  const Index stride = (A * (t + 1) + lanes - 1) / lanes * lanes;
  Buffer results(partitions * stride);
  const double min_value = n == 0 ? 0.0 : -std::numeric_limits<double>::infinity();
  for (Index partition = 0; partition < partitions; ++partition)
    std::fill_n(results.data() + partition * stride + t * A, A, min_value);
  std::atomic<bool> finite{true};

  parallel(partitions, workers, [&](Index partition, int worker) {
    double *local = results.data() + partition * stride;
    const Range range = partition_range(tiles, partitions, partition);
    for (Index i = range.begin * tile; i < std::min(n, range.end * tile); i += tile)
      if (!add_errors(in, factors, blas, i, std::min(tile, n - i), work_space[static_cast<std::size_t>(worker)], local,
                      local + t * A, errors.empty() ? nullptr : errors.data()))
        finite.store(false, std::memory_order_relaxed);
  });

  merge_partitions(results.data(), partitions, stride, t * A, 1);
  double *largest = results.data() + t * A;
  for (Index partition = 1; partition < partitions; ++partition)
    for (Index a = 0; a < A; ++a) {
      const double h = results[partition * stride + t * A + a];
      largest[a] = h <= largest[a] ? largest[a] : h;
    }
  LeaveOneOut out;
  out.sums.assign(results.data(), results.data() + t * A);
  out.largest_leverage.assign(largest, largest + A);
  out.finite = finite.load();
  return out;
}

} // namespace tenfold
