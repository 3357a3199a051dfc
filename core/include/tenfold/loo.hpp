// Leave-one-out errors of every ridge candidate from one rotation of the rows.
//
// Given X (n x p), y (n x t), weights (or none), centre (p), target_mean (t), V (p x r), D (A x r), C (t x A x r) and
// base, for each row i with z = (x - centre) V and each candidate a
//   leverage   h_a = w (base + sum_k z_k^2 D_ak)
//   error      e_ta = (y_t - target_mean_t - sum_k z_k C_tak) / (1 - h_a)
// returns sums (t x A) = sum_i w e^2, the largest leverage of each candidate, the errors (n x t x A) where asked for,
// and whether all errors are finite. Rows of weight zero add nothing; their error is the plain residual.
// Three products a tile by dgemm on one thread: flops 2 n r (p + A + t A).
#pragma once

#include "tenfold/blas.hpp"
#include "tenfold/buffer.hpp"
#include "tenfold/products.hpp"
#include "tenfold/selection.hpp"
#include "tenfold/slots.hpp"

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
};

template <class T>
LeaveOneOut leave_one_out(const Rotation<T> &in, const Blas &blas, int threads, std::span<double> errors) {
  const Index n = in.x.rows, p = in.x.columns, r = in.rank, A = in.candidates;
  const Index t = static_cast<Index>(in.target_mean.size());
  const Index tile = 128;
  const Index tiles = (n + tile - 1) / tile;
  const Index slots = std::clamp<Index>(tiles, 1, most_slots);
  const int workers = static_cast<int>(std::min<Index>(std::max(1, threads), slots));
  check_weights(in.weight);

  struct Scratch {
    Buffer x, z, spread, fit;
  };
  std::vector<Scratch> scratches;
  for (int w = 0; w < workers; ++w)
    scratches.push_back({Buffer(tile * p), Buffer(tile * r), Buffer(tile * A), Buffer(tile * A * t)});
  const Index stride = (A * (t + 1) + lanes - 1) / lanes * lanes;
  Buffer results(slots * stride); // of each slot: sums (t A), then largest leverage (A)
  std::atomic<bool> finite{true};
  const double lowest = -std::numeric_limits<double>::infinity();
  for (Index slot = 0; slot < slots; ++slot)
    std::fill_n(results.data() + slot * stride + t * A, A, n == 0 ? 0.0 : lowest);

  parallel(slots, workers, [&](Index slot, int worker) {
    Scratch &s = scratches[static_cast<std::size_t>(worker)];
    double *sums = results.data() + slot * stride;
    const Range range = slot_range(tiles, slots, slot);
    for (Index i = range.begin * tile; i < std::min(n, range.end * tile); i += tile) {
      const Index count = std::min(tile, n - i);
      for (Index row = 0; row < count; ++row)
        for (Index j = 0; j < p; ++j)
          s.x[row * p + j] = static_cast<double>(in.x.data[(i + row) * p + j]) - in.centre[static_cast<std::size_t>(j)];
      multiply(blas, s.x.data(), in.V.data(), false, count, r, p, s.z.data());
      multiply(blas, s.z.data(), in.C.data(), true, count, t * A, r, s.fit.data());
      for (Index e = 0; e < count * r; ++e)
        s.z[e] *= s.z[e];
      multiply(blas, s.z.data(), in.D.data(), true, count, A, r, s.spread.data());
      for (Index row = 0; row < count; ++row) {
        const double w = in.weight.empty() ? 1.0 : in.weight[static_cast<std::size_t>(i + row)];
        const double *spread = s.spread.data() + row * A;
        kernels().leverage(spread, A, w, in.base, sums + t * A);
        for (Index k = 0; k < t; ++k) {
          const double centred =
              in.y[static_cast<std::size_t>((i + row) * t + k)] - in.target_mean[static_cast<std::size_t>(k)];
          double *kept = errors.empty() ? nullptr : errors.data() + ((i + row) * t + k) * A;
          if (!kernels().loo(s.fit.data() + (row * t + k) * A, spread, A, centred, w, in.base, sums + k * A, kept))
            finite.store(false, std::memory_order_relaxed);
        }
      }
    }
  });

  merge_slots(results.data(), slots, stride, t * A, 1);
  LeaveOneOut out;
  out.sums.assign(results.data(), results.data() + t * A);
  out.largest_leverage.assign(results.data() + t * A, results.data() + t * A + A);
  for (Index slot = 1; slot < slots; ++slot)
    for (Index a = 0; a < A; ++a) {
      const double h = results[slot * stride + t * A + a];
      double &largest = out.largest_leverage[static_cast<std::size_t>(a)];
      largest = h <= largest ? largest : h;
    }
  out.finite = finite.load();
  return out;
}

} // namespace tenfold
