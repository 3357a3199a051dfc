// Sums of density kernels about queries: densities and local means, of every bandwidth in one pass over the distances.
//
// Given distances d_ij of query i to sample j, weights w_j (or none: ones), bandwidths h_b and targets y_jt (or none),
//   log sum_j w_j K(d_ij; h_b)      and      sum_j w_j K(d_ij; h_b) y_jt / sum_j w_j K(d_ij; h_b)
// for a kernel K: gaussian exp(-d^2 / (2 h^2)), exponential exp(-d / h), box [d <= h], open box [d < h], epanechnikov
// (1 - d^2 / h^2)_+, linear (1 - d / h)_+, cosine cos(pi d / (2 h)) [d < h], cut (1 - d)_+ [d <= h]. Kernels of
// unbounded support are a running log-sum-exp about the largest exponent so far, so that far from all samples nothing
// underflows. Where the sum is zero its logarithm is minus infinity and the mean is not a number. The sample that a
// query is itself is left out.
// Pairs: samples x queries; exponentials or powers: as many for each bandwidth. Sums are in the order of the samples.
#pragma once

#include "tenfold/pairwise.hpp"
#include "tenfold/topk.hpp"

#include <numbers>

namespace tenfold {

enum class KdeKernel : int { gaussian, exponential, box, open_box, epanechnikov, linear, cosine, cut };

inline bool has_unbounded_support(KdeKernel kernel) {
  return kernel == KdeKernel::gaussian || kernel == KdeKernel::exponential;
}

struct KdeProblem {
  KdeKernel kernel;
  std::span<const double> bandwidth;
  std::span<const double> weight;  // (samples), or empty
  std::span<const double> targets; // (samples, count), or empty
  Index count;                     // of targets
  Finish distance;                 // from reduced distances
};

// Reduced distances to logarithms of sums (queries x bandwidths) and means (queries x bandwidths x targets).
class KdeReduction {
public:
  struct State {
    std::vector<double> largest, sums; // of each bandwidth: the largest exponent (or zero); sums in units of its power
  };

  KdeReduction(const KdeProblem &problem, double *logs, double *means)
      : in_(problem), stride_(1 + problem.count), bandwidths_(problem.bandwidth.size()), logs_(logs), means_(means),
        needs_squares_(problem.kernel == KdeKernel::gaussian || problem.kernel == KdeKernel::epanechnikov) {}

  State make() const {
    return {std::vector<double>(bandwidths_), std::vector<double>(bandwidths_ * static_cast<std::size_t>(stride_))};
  }
  void start(State &state, Index) const {
    const double none = -std::numeric_limits<double>::infinity();
    std::fill(state.largest.begin(), state.largest.end(), has_unbounded_support(in_.kernel) ? none : 0.0);
    std::fill(state.sums.begin(), state.sums.end(), 0.0);
  }
  void add(State &state, const TileRow &row) const {
    const Index own = row.self - row.first;
    if (own >= 0 && own < row.count)
      row.values[own] = std::nan("");
    to_argument(row.values, row.count);
    for (std::size_t b = 0; b < bandwidths_; ++b) {
      double *sums = state.sums.data() + b * static_cast<std::size_t>(stride_);
      if (has_unbounded_support(in_.kernel))
        exponentials(state.largest[b], sums, in_.bandwidth[b], row);
      else
        heights(in_.bandwidth[b], row);
      for (Index j = 0; j < row.count; ++j) {
        const auto sample = static_cast<std::size_t>(row.first + j);
        const double term = in_.weight.empty() ? row.scratch[j] : row.scratch[j] * in_.weight[sample];
        if (!(term > 0.0)) // NaN too
          continue;
        sums[0] += term;
        for (Index t = 0; t < in_.count; ++t)
          sums[1 + t] += term * in_.targets[sample * static_cast<std::size_t>(in_.count) + static_cast<std::size_t>(t)];
      }
    }
  }
  void finish(State &state, Index query) const {
    double *logs = logs_ + query * static_cast<Index>(bandwidths_);
    double *means = means_ + query * static_cast<Index>(bandwidths_) * in_.count;
    for (std::size_t b = 0; b < bandwidths_; ++b) {
      const double *sums = state.sums.data() + b * static_cast<std::size_t>(stride_);
      logs[b] = sums[0] > 0.0 ? std::log(sums[0]) + state.largest[b] : -std::numeric_limits<double>::infinity();
      for (Index t = 0; t < in_.count; ++t)
        means[static_cast<Index>(b) * in_.count + t] = sums[1 + t] / sums[0];
    }
  }

private:
  // Reduced distances to what the kernel takes: distances, or their squares.
  void to_argument(double *d, Index count) const {
    if (needs_squares_ && in_.distance.kind == Finish::root)
      return;
    for (Index j = 0; j < count; ++j) {
      d[j] = in_.distance(d[j]);
      d[j] = needs_squares_ ? d[j] * d[j] : d[j];
    }
  }

  // Terms to scratch, in units of exp(largest).
  void exponentials(double &largest, double *sums, double h, const TileRow &row) const {
    const double scale = in_.kernel == KdeKernel::gaussian ? -0.5 / (h * h) : -1.0 / h;
    double top = largest;
    for (Index j = 0; j < row.count; ++j) {
      row.scratch[j] = scale * row.values[j];
      top = row.scratch[j] > top ? row.scratch[j] : top;
    }
    if (top == -std::numeric_limits<double>::infinity()) { // no sample at a finite distance yet
      std::fill_n(row.scratch, row.count, 0.0);
      return;
    }
    if (top > largest) {
      const double factor = std::exp(largest - top);
      for (Index t = 0; t < stride_; ++t)
        sums[t] *= factor;
      largest = top;
    }
    for (Index j = 0; j < row.count; ++j)
      row.scratch[j] -= top;
    kernels().f64.exp(row.scratch, row.scratch, row.count);
  }
  void heights(double h, const TileRow &row) const {
    const double *d = row.values;
    double *out = row.scratch;
    switch (in_.kernel) {
    case KdeKernel::box:
      return each(row.count, [=](Index j) { out[j] = d[j] <= h ? 1.0 : 0.0; });
    case KdeKernel::open_box:
      return each(row.count, [=](Index j) { out[j] = d[j] < h ? 1.0 : 0.0; });
    case KdeKernel::epanechnikov:
      return each(row.count, [=](Index j) { out[j] = 1.0 - d[j] / (h * h); });
    case KdeKernel::linear:
      return each(row.count, [=](Index j) { out[j] = 1.0 - d[j] / h; });
    case KdeKernel::cosine:
      return each(row.count, [=](Index j) { out[j] = d[j] < h ? std::cos(0.5 * std::numbers::pi * d[j] / h) : 0.0; });
    default:
      return each(row.count, [=](Index j) { out[j] = d[j] <= h ? 1.0 - d[j] : 0.0; });
    }
  }
  template <class F> static void each(Index count, const F &f) {
    for (Index j = 0; j < count; ++j)
      f(j);
  }

  const KdeProblem &in_;
  Index stride_;
  std::size_t bandwidths_;
  double *logs_, *means_;
  bool needs_squares_;
};

} // namespace tenfold
