// Sums of windows about queries: densities and local means, of every bandwidth in one pass over the distances.
//
// Given distances d_ij of query i to row j, weights w_j (or none: ones), bandwidths h_b and targets y_jt (or none),
//   log sum_j w_j K(d_ij; h_b)      and      sum_j w_j K(d_ij; h_b) y_jt / sum_j w_j K(d_ij; h_b)
// for a window K: gaussian exp(-d^2 / (2 h^2)), exponential exp(-d / h), box [d <= h], open box [d < h], epanechnikov
// (1 - d^2 / h^2)_+, linear (1 - d / h)_+, cosine cos(pi d / (2 h)) [d < h], cut (1 - d)_+ [d <= h]. Windows that never
// end are summed about the largest term so far, so that far from all rows nothing vanishes. Where the sum is zero its
// logarithm is minus infinity and the mean is not a number. A query's own row is left out.
// Distances: rows x queries; exponentials or powers: as many for each bandwidth. Sums are in the order of the rows.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/neighbours.hpp"
#include "tenfold/thread_pool.hpp"

#include <numbers>

namespace tenfold {

enum class Window : int { gaussian, exponential, box, open_box, epanechnikov, linear, cosine, cut };

struct WindowSums {
  Window window;
  std::span<const double> bandwidth;
  std::span<const double> weight;  // (rows), or empty
  std::span<const double> targets; // (rows, count), or empty
  Index count;                     // of targets
  Finish finish;                   // from reduced distances
};

// The part of one query: sums about 2^0, or about the largest exponent so far.
class WindowOfQuery {
public:
  static constexpr Index block = 256;

  explicit WindowOfQuery(const WindowSums &in)
      : in_(in), stride_(1 + in.count), largest_(in.bandwidth.size()),
        sums_(in.bandwidth.size() * static_cast<std::size_t>(stride_)), terms_(block), distances_(block) {}

  void start() {
    std::fill(largest_.begin(), largest_.end(), endless() ? -std::numeric_limits<double>::infinity() : 0.0);
    std::fill(sums_.begin(), sums_.end(), 0.0);
  }
  double *distances() { return distances_.data(); }

  // Rows from `first` on, whose reduced distances were written; that of the query itself is not a number.
  void add(Index first, Index count) {
    double *d = distances_.data();
    const bool squares = in_.window == Window::gaussian || in_.window == Window::epanechnikov;
    for (Index i = 0; i < count; ++i) {
      d[i] = in_.finish(d[i]);
      d[i] = squares ? d[i] * d[i] : d[i];
    }
    for (std::size_t b = 0; b < in_.bandwidth.size(); ++b) {
      endless() ? exponents(count, b) : heights(count, in_.bandwidth[b]);
      double *sums = sums_.data() + b * static_cast<std::size_t>(stride_);
      for (Index i = 0; i < count; ++i) {
        const auto row = static_cast<std::size_t>(first + i);
        const double term = in_.weight.empty() ? terms_[i] : terms_[i] * in_.weight[row];
        if (!(term > 0.0)) // NaN too
          continue;
        sums[0] += term;
        for (Index t = 0; t < in_.count; ++t)
          sums[1 + t] += term * in_.targets[row * static_cast<std::size_t>(in_.count) + static_cast<std::size_t>(t)];
      }
    }
  }

  void finish(double *logs, double *means) const {
    for (std::size_t b = 0; b < in_.bandwidth.size(); ++b) {
      const double *sums = sums_.data() + b * static_cast<std::size_t>(stride_);
      logs[b] = sums[0] > 0.0 ? std::log(sums[0]) + largest_[b] : -std::numeric_limits<double>::infinity();
      for (Index t = 0; t < in_.count; ++t)
        means[static_cast<Index>(b) * in_.count + t] = sums[1 + t] / sums[0];
    }
  }

private:
  bool endless() const { return in_.window == Window::gaussian || in_.window == Window::exponential; }

  void exponents(Index count, std::size_t b) {
    const double h = in_.bandwidth[b], scale = in_.window == Window::gaussian ? -0.5 / (h * h) : -1.0 / h;
    double most = largest_[b];
    for (Index i = 0; i < count; ++i) {
      terms_[i] = scale * distances_[i];
      most = terms_[i] > most ? terms_[i] : most;
    }
    if (most == -std::numeric_limits<double>::infinity()) { // no row at a finite distance yet
      std::fill_n(terms_.data(), count, 0.0);
      return;
    }
    if (most > largest_[b]) {
      const double factor = std::exp(largest_[b] - most);
      for (Index t = 0; t < stride_; ++t)
        sums_[b * static_cast<std::size_t>(stride_) + static_cast<std::size_t>(t)] *= factor;
      largest_[b] = most;
    }
    for (Index i = 0; i < count; ++i)
      terms_[i] -= most;
    kernels().f64.exp(terms_.data(), terms_.data(), count);
  }
  void heights(Index count, double h) {
    const double *d = distances_.data();
    double *out = terms_.data();
    switch (in_.window) {
    case Window::box:
      return each(count, [=](Index i) { out[i] = d[i] <= h ? 1.0 : 0.0; });
    case Window::open_box:
      return each(count, [=](Index i) { out[i] = d[i] < h ? 1.0 : 0.0; });
    case Window::epanechnikov:
      return each(count, [=](Index i) { out[i] = 1.0 - d[i] / (h * h); });
    case Window::linear:
      return each(count, [=](Index i) { out[i] = 1.0 - d[i] / h; });
    case Window::cosine:
      return each(count, [=](Index i) { out[i] = d[i] < h ? std::cos(0.5 * std::numbers::pi * d[i] / h) : 0.0; });
    default:
      return each(count, [=](Index i) { out[i] = d[i] <= h ? 1.0 - d[i] : 0.0; });
    }
  }
  template <class F> static void each(Index count, const F &f) {
    for (Index i = 0; i < count; ++i)
      f(i);
  }

  const WindowSums &in_;
  Index stride_;
  std::vector<double> largest_, sums_;
  Buffer terms_, distances_;
};

// `distance(row, query)` is reduced. Writes logs (queries x bandwidths) and means (queries x bandwidths x targets).
template <class Distance>
void window_sums(const Distance &distance, Index rows, const Queries &queries, const WindowSums &in, int threads,
                 double *logs, double *means) {
  constexpr Index together = 16;
  const Index wide = static_cast<Index>(in.bandwidth.size());
  const Index items = (queries.end - queries.begin + together - 1) / together;
  parallel(items, threads, [&](Index item, int) {
    WindowOfQuery one(in);
    const Index first = queries.begin + item * together;
    for (Index q = first; q < std::min(queries.end, first + together); ++q) {
      one.start();
      const Index self = queries.self(q);
      for (Index begin = 0; begin < rows; begin += WindowOfQuery::block) {
        const Index count = std::min(WindowOfQuery::block, rows - begin);
        for (Index i = 0; i < count; ++i)
          one.distances()[i] = begin + i == self ? std::nan("") : distance(begin + i, q);
        one.add(begin, count);
      }
      one.finish(logs + q * wide, means + q * wide * in.count);
    }
  });
}

} // namespace tenfold
