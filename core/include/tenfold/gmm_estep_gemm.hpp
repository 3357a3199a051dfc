// E-step of a Gaussian mixture as two matrix products with quadratic features.
//
// With a = (x - centre) scale, f the features 1, a_j, a_j a_k (j <= k) of a sample, and coefficients (K x features) of
// the quadratic forms q_ik = sum_f coef_kf f_i, the log density log p_i = log sum_k exp(-q_ik / 2) and responsibilities
// r_ik = w_i exp(-q_ik / 2) / p_i, returns
//   value = sum w log p      moments_k = sum r_k f.
// Nothing is centred per component. The result is exact to rounding in units of the largest terms of a form, so the
// caller checks that these are not large; gmm_estep.hpp has no such condition. Flops: n K (p + 1)(p + 2) each way;
// bytes: X once.
#pragma once

#include "tenfold/gmm_estep.hpp"

namespace tenfold {

constexpr Index feature_group = 6; // features are padded to a multiple of this

inline Index feature_count(Index columns) { return (columns + 1) * (columns + 2) / 2; }

struct GmmFeatureMoments {
  double weight = 0.0;
  double value = 0.0;
  std::vector<double> moments; // (K, features)
};

// Chunk buffers of one thread, and its partial sums lane by lane.
struct GmmFeatureChunk {
  GmmFeatureChunk(Index columns, Index components, Index rows)
      : step(rows + lanes), size((feature_count(columns) + feature_group - 1) / feature_group * feature_group),
        x(columns * step), features(size * step), q(components * step), weight(rows), log_density(rows),
        in_lanes(components * size * lanes) {}

  // Rows such that the features take about half of L2.
  static Index rows_for(Index columns, Index rows) {
    const Index most = std::clamp<Index>(80 * 1024 / feature_count(columns), 64, 512);
    return (std::min(most, rows) + chunk_group - 1) / chunk_group * chunk_group;
  }

  Index step, size;
  Buffer x, features, q, weight, log_density, in_lanes;
};

// Coefficients in groups of quadratic forms that are evaluated together.
class PackedForms {
public:
  PackedForms(std::span<const double> coef, Index components, Index size)
      : components_(components), size_(size), values_(components * size) {
    double *to = values_.data();
    for_each_group([&](Index first, Index count) {
      for (Index f = 0; f < size; ++f)
        for (Index k = first; k < first + count; ++k)
          *to++ = coef[static_cast<std::size_t>(k * size + f)];
    });
  }

  // Quadratic forms of rows, q[k * step + i], from their features, f[feature * step + i].
  void forms(const double *f, Index step, Index count, double *q) const {
    for_each_group([&](Index first, Index some) {
      kernels().quadratic_forms(f, step, count, size_, values_.data() + first * size_, some, q + first * step, step);
    });
  }

private:
  template <class F> void for_each_group(F &&f) const {
    const Index most = kernels().forms_per_call;
    for (Index first = 0; first < components_; first += most)
      f(first, std::min(most, components_ - first));
  }

  Index components_, size_;
  Buffer values_;
};

template <class T>
GmmFeatureMoments gmm_estep_gemm(const Dense<T> &x, std::span<const double> weight, std::span<const double> centre,
                                 std::span<const double> scale, std::span<const double> coef, Index components,
                                 int threads) {
  const Index n = x.rows, p = x.columns, K = components, size = feature_count(p), stride = 2 + K * size;
  const PackedForms forms(coef, K, size);
  const std::vector<double> none(static_cast<std::size_t>(K));
  const Index partitions = partition_count(n, static_cast<double>(K * size) / 2.0),
              length = GmmFeatureChunk::rows_for(p, n);
  const int workers = static_cast<int>(std::clamp<Index>(threads, 1, partitions));
  std::vector<GmmFeatureChunk> chunks;
  for (int w = 0; w < workers; ++w)
    chunks.emplace_back(p, K, length);
  Buffer sums(partitions * stride);
  parallel(partitions, workers, [&](Index partition, int worker) {
    GmmFeatureChunk &chunk = chunks[static_cast<std::size_t>(worker)];
    double *local = sums.data() + partition * stride;
    const Range range = partition_range(n, partitions, partition);
    std::fill_n(chunk.in_lanes.data(), K * chunk.size * lanes, 0.0);
    for (Index begin = range.begin; begin < range.end; begin += length) {
      const Index count = fill_columns(x, weight, begin, std::min(length, range.end - begin), chunk.step,
                                       chunk.x.data(), chunk.weight.data());
      for (Index i = 0; i < count; i += chunk_group) { // features of 32 rows stay in L1
        kernels().quadratic_features(chunk.x.data() + i, chunk.step, chunk_group, p, centre.data(), scale.data(),
                                     chunk.features.data() + i);
        forms.forms(chunk.features.data() + i, chunk.step, chunk_group, chunk.q.data() + i);
      }
      local[0] = std::accumulate(chunk.weight.data(), chunk.weight.data() + count, local[0]);
      local[1] += kernels().responsibilities(chunk.q.data(), chunk.step, count, K, none.data(), chunk.weight.data(),
                                             chunk.log_density.data());
      kernels().feature_moments(chunk.features.data(), chunk.step, count, chunk.size, chunk.q.data(), chunk.step, K,
                                chunk.in_lanes.data());
    }
    for (Index k = 0; k < K; ++k)
      for (Index f = 0; f < size; ++f) {
        const double *lane = chunk.in_lanes.data() + (k * chunk.size + f) * lanes;
        local[2 + k * size + f] = std::accumulate(lane, lane + lanes, 0.0);
      }
  });
  merge_partitions(sums.data(), partitions, stride, stride, threads);
  return {sums[0], sums[1], std::vector<double>(sums.data() + 2, sums.data() + stride)};
}

} // namespace tenfold
