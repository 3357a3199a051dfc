// One step of Lloyd's algorithm: the nearest centre of every sample, and the sums of each centre, in one pass.
//
// Given X (n x p), weights (or none), centres c (k x p) and a point m, returns with t_i the nearest centre of sample i
//   weight_k = sum w over t_i = k,   sums_k = sum w (x_i - m),   energy = sum_i w_i ||x_i - c_t_i||^2.
// Samples of weight zero are left out. Slots of samples have sums of their own, fewer where these are large.
// Flops: 2 n p k in float32 and 5 n p in float64; bytes: X once.
#pragma once

#include "tenfold/class_sums.hpp"
#include "tenfold/nearest_centre_float32.hpp"
#include "tenfold/row_access.hpp"

namespace tenfold {

struct Assignment {
  std::vector<double> weight; // (k)
  std::vector<double> sums;   // (k, p)
  double energy = 0.0;
};

template <class T> void add_to(const Dense<T> &x, Index row, double w, const double *place, double *sums) {
  kernels().dense<T>().add_about(w, x.data + row * x.columns, place, x.columns, sums);
}
// About zero: subtract_place moves the sums.
template <class T, class I> void add_to(const Sparse<T, I> &x, Index row, double w, const double *, double *sums) {
  row_access(x).axpy(row, w, sums);
}
template <class T> void subtract_place(const Dense<T> &, Assignment &, std::span<const double>) {}
template <class T, class I>
void subtract_place(const Sparse<T, I> &x, Assignment &result, std::span<const double> place) {
  for (std::size_t k = 0; k < result.weight.size(); ++k)
    for (Index j = 0; j < x.columns; ++j)
      result.sums[k * static_cast<std::size_t>(x.columns) + static_cast<std::size_t>(j)] -=
          result.weight[k] * place[static_cast<std::size_t>(j)];
}

// The number of slots, such that merging their sums costs a small part of the loop.
template <class Rows> Index assign_slots(const Rows &x, Index k, Index stride) {
  const double work = nearest_centre_work(x, k);
  return partition_count(x.rows, work, max_class_partitions(static_cast<double>(x.rows) * work, stride));
}
inline Index assign_stride(Index k, Index p) { return (k * p + k + 1 + lanes - 1) / lanes * lanes; }

// The sums of all slots: (k, p), then weights (k), then the energy.
template <class Rows>
Assignment merged(const Rows &x, Buffer &sums, Index slots, Index k, std::span<const double> place, int threads) {
  const Index size = k * x.columns, stride = assign_stride(k, x.columns);
  merge_partitions(sums.data(), slots, stride, stride, threads);
  const double *all = sums.data();
  Assignment result{{all + size, all + size + k}, {all, all + size}, all[size + k]};
  subtract_place(x, result, place);
  return result;
}

template <class Rows>
Assignment kmeans_assign(const Rows &x, std::span<const double> weight, const CentresFloat32 &c,
                         std::span<const double> place, int threads) {
  check_weights(weight);
  const Index p = x.columns, stride = assign_stride(c.count, p), slots = assign_slots(x, c.count, stride);
  Buffer sums(slots * stride);
  parallel(slots, threads, [&](Index slot, int) {
    const Range range = partition_range(x.rows, slots, slot);
    CentreBatch batch = make_batch(x);
    std::vector<std::int32_t> number(static_cast<std::size_t>(batch.most()));
    double *own = sums.data() + slot * stride, *weights = own + c.count * p, *energy = weights + c.count;
    for (Index begin = range.begin; begin < range.end; begin += batch.most()) {
      const Index end = std::min(begin + batch.most(), range.end);
      for (Index i = begin; i < end; ++i)
        enter(x, i, c, batch);
      nearest_centres_of_batch(x, c, batch, number.data());
      for (Index i = begin; i < end; ++i) {
        const double w = weight.empty() ? 1.0 : weight.data()[i];
        if (w == 0.0)
          continue;
        const Index k = number[static_cast<std::size_t>(i - begin)];
        weights[k] += w;
        *energy += w * distance_to(x, i, c, k);
        add_to(x, i, w, place.data(), own + k * p);
      }
    }
  });
  return merged(x, sums, slots, c.count, place, threads);
}

} // namespace tenfold
