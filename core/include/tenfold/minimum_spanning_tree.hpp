// Minimum spanning tree of all pairs of samples by Prim's algorithm, which is single linkage.
//
// The sample outside of the tree that is nearest to it joins next; distances from the last one that joined renew those
// from the tree. A source gives distances from a sample to those outside, which are at places 0, ..., count - 1, and
// moves the last of them to the place of one that joined. n^2 / 2 distances, O(n) memory beside the source's:
// MatrixRows reads a matrix (n, n), SquaredDistances computes squared Euclidean distances of points.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/merge_tree.hpp"
#include "tenfold/point_columns.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace tenfold {

class MatrixRows {
public:
  explicit MatrixRows(const Dense<double> &distances) : d_(distances), sample_(static_cast<std::size_t>(d_.rows)) {
    std::iota(sample_.begin(), sample_.end(), Index{0});
  }
  Index samples() const { return d_.rows; }
  Index padded() const { return d_.rows; }
  void start(Index place) { row_ = d_.data + sample_[static_cast<std::size_t>(place)] * d_.columns; }
  void distances(Index count, double *out) const {
    for (Index k = 0; k < count; ++k)
      out[k] = row_[sample_[static_cast<std::size_t>(k)]];
  }
  void move(Index to, Index from) { sample_[static_cast<std::size_t>(to)] = sample_[static_cast<std::size_t>(from)]; }

private:
  Dense<double> d_;
  std::vector<Index> sample_;
  const double *row_ = nullptr;
};

class SquaredDistances {
public:
  explicit SquaredDistances(const Dense<double> &x)
      : points_(x), samples_(x.rows), last_(static_cast<std::size_t>(x.columns)) {}
  Index samples() const { return samples_; }
  Index padded() const { return points_.padded(); }
  void start(Index place) { points_.read(place, last_.data()); }
  void distances(Index count, double *out) const { points_.distances(last_.data(), count, out); }
  void move(Index to, Index from) { points_.copy(to, from); }

private:
  PointColumns points_;
  Index samples_;
  std::vector<double> last_;
};

template <class Source> Merges minimum_spanning_tree(Source &source) {
  const Index n = source.samples();
  const auto size = static_cast<std::size_t>(n);
  std::vector<std::int64_t> sample(size), nearest(size);
  std::vector<double> least(size, std::numeric_limits<double>::infinity());
  std::vector<double> lengths(static_cast<std::size_t>(source.padded()));
  std::iota(sample.begin(), sample.end(), std::int64_t{0});
  Merges merges;
  Index place = 0;
  for (Index outside = n - 1; outside > 0; --outside) {
    poll();
    const auto joined = static_cast<std::size_t>(place), last = static_cast<std::size_t>(outside);
    const std::int64_t from = sample[joined];
    source.start(place);
    sample[joined] = sample[last], nearest[joined] = nearest[last], least[joined] = least[last];
    source.move(place, outside);
    source.distances(outside, lengths.data());
    for (Index k = 0; k < outside; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const bool nearer = lengths[at] < least[at];
      least[at] = nearer ? lengths[at] : least[at];
      nearest[at] = nearer ? from : nearest[at];
    }
    const double best = kernels().f64.min_value(least.data(), outside, std::numeric_limits<double>::infinity());
    place = static_cast<Index>(std::find(least.begin(), least.begin() + outside, best) - least.begin());
    const auto next = static_cast<std::size_t>(place);
    merges.add(nearest[next], sample[next], best);
  }
  return merges;
}

} // namespace tenfold
