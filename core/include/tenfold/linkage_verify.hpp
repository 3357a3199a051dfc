// Verification of an agglomerative tree: heights by another formula than that which built it, and how far each merge
// was from being one of the nearest pair.
//
// The tree is followed merge by merge. Distances between clusters A and B of a and b samples are formed anew from
//   sums       S_AB = sum of d_ij over i in A, j in B, which add up; for ward and centroid of squared distances, with
//              v_A = sum of d_ij^2 over pairs within A, over a^2, so that ||c_A - c_B||^2 = S_AB / (a b) - v_A - v_B
//   extremes   for single and complete linkage
//   points     sums of the coordinates of each cluster, for ward and centroid in O(n) memory.
// A pair (A, C) that is there from merge s to merge e must not be nearer than the height of any merge in between, or
// that merge was not of the nearest pair: shortfall_e = max over the two clusters that merge e ends, and all others C,
// of max(h_s, ..., h_e) - d_AC. For reducible linkages this is that merged clusters are nearest to each other.
#pragma once

#include "tenfold/nn_chain.hpp"
#include "tenfold/point_columns.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace tenfold {

struct LinkageVerification {
  std::vector<double> heights, shortfalls;
};

// Clusters at places, which are closed up when many are holes.
class Places {
public:
  explicit Places(Index n) : size(at(n), 1.0), inverse(at(n), 1.0), hole(at(n), 0.0), born(at(n), 0), left(n) {}

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  Index count() const { return static_cast<Index>(size.size()); }
  bool should_close() const { return 4 * left <= 3 * count() && count() > 32; }
  void unite(Index a, Index b, Index merge) {
    size[at(b)] += size[at(a)], inverse[at(b)] = 1.0 / size[at(b)];
    hole[at(a)] = std::numeric_limits<double>::infinity();
    born[at(b)] = merge + 1;
    --left;
  }
  // The places that are left; moves what is here.
  std::vector<Index> close() {
    std::vector<Index> kept;
    for (Index place = 0; place < count(); ++place)
      if (hole[at(place)] == 0.0)
        kept.push_back(place);
    for (std::size_t to = 0; to < kept.size(); ++to) {
      const std::size_t from = at(kept[to]);
      size[to] = size[from], inverse[to] = inverse[from], born[to] = born[from];
    }
    size.resize(kept.size()), inverse.resize(kept.size()), born.resize(kept.size());
    hole.assign(kept.size(), 0.0);
    return kept;
  }

  std::vector<double> size, inverse, hole; // hole is infinite where there is none any more, else zero
  std::vector<Index> born;
  Index left;
};

// Sums or extremes of distances, which are overwritten; of squared ones for ward and centroid.
class PairSums {
public:
  PairSums(std::span<double> distances, Index n, Linkage linkage)
      : d_(distances), step_(n), linkage_(linkage), within_(Places::at(n), 0.0) {}
  // distances of the cluster at this place from those at all places
  void read(Index place, const Places &places, std::vector<double> &out) const {
    const double *row = d_.data() + place * step_;
    const double own = places.inverse[Places::at(place)], within = within_[Places::at(place)];
    const std::size_t count = places.size.size();
    if (linkage_ == Linkage::single || linkage_ == Linkage::complete)
      std::copy_n(row, count, out.begin());
    else if (linkage_ == Linkage::average)
      for (std::size_t k = 0; k < count; ++k)
        out[k] = row[k] * (own * places.inverse[k]);
    else
      for (std::size_t k = 0; k < count; ++k)
        out[k] = row[k] * (own * places.inverse[k]) - within - within_[k];
  }
  void merge(Index a, Index b, const Places &places) {
    const double *from = d_.data() + a * step_;
    double *to = d_.data() + b * step_;
    const double na = places.size[Places::at(a)], nb = places.size[Places::at(b)];
    double &within = within_[Places::at(b)];
    within = (na * na * within_[Places::at(a)] + nb * nb * within + from[b]) / ((na + nb) * (na + nb));
    const Index count = places.count();
    if (linkage_ == Linkage::single)
      for (Index k = 0; k < count; ++k)
        to[k] = std::min(from[k], to[k]);
    else if (linkage_ == Linkage::complete)
      for (Index k = 0; k < count; ++k)
        to[k] = std::max(from[k], to[k]);
    else
      for (Index k = 0; k < count; ++k)
        to[k] += from[k];
    for (Index k = 0; k < count; ++k)
      if (places.hole[Places::at(k)] == 0.0)
        d_[Places::at(k * step_ + b)] = to[k];
  }
  void close(const std::vector<Index> &kept) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      within_[i] = within_[Places::at(kept[i])];
      for (std::size_t j = 0; j < kept.size(); ++j)
        d_[i * Places::at(step_) + j] = d_[Places::at(kept[i] * step_ + kept[j])];
    }
  }

private:
  std::span<double> d_;
  Index step_;
  Linkage linkage_;
  std::vector<double> within_;
};

// Sums of coordinates.
class PointSums {
public:
  explicit PointSums(const Dense<double> &x)
      : sums_(x), means_(x), centre_(static_cast<std::size_t>(x.columns)), squares_(Places::at(sums_.padded())) {}
  void read(Index place, const Places &places, std::vector<double> &out) {
    means_.read(place, centre_.data());
    means_.distances(centre_.data(), places.count(), squares_.data());
    std::copy_n(squares_.begin(), places.count(), out.begin());
  }
  void merge(Index a, Index b, const Places &places) {
    for (Index j = 0; j < sums_.columns(); ++j) {
      sums_.at(b, j) += sums_.at(a, j);
      means_.at(b, j) = sums_.at(b, j) / (places.size[Places::at(a)] + places.size[Places::at(b)]);
    }
  }
  void close(const std::vector<Index> &kept) {
    for (std::size_t to = 0; to < kept.size(); ++to)
      sums_.copy(static_cast<Index>(to), kept[to]), means_.copy(static_cast<Index>(to), kept[to]);
  }

private:
  PointColumns sums_, means_;
  std::vector<double> centre_, squares_;
};

// `slots` has for each merge a sample of each of the two clusters, at which they are kept; the union stays at the
// second.
template <class Clusters>
LinkageVerification verify_linkage(Clusters &clusters, Index n, std::span<const std::int64_t> slots, Linkage linkage) {
  const auto at = Places::at;
  const bool squares = linkage == Linkage::ward || linkage == Linkage::centroid;
  const double infinity = std::numeric_limits<double>::infinity();
  Places places(n);
  std::vector<double> lengths(at(n)), highest;
  std::vector<Index> place(at(n));
  std::iota(place.begin(), place.end(), Index{0});
  LinkageVerification result;
  bool rising = true;
  const auto root = [&](double d) { return squares ? std::sqrt(std::max(d, 0.0)) : d; };
  for (std::size_t e = 0; 2 * e < slots.size(); ++e) {
    poll();
    const Index pair[] = {place[at(slots[2 * e])], place[at(slots[2 * e + 1])]};
    const Index count = places.count();
    double height = 0.0, shortfall = -infinity;
    for (const Index own : pair) {
      clusters.read(own, places, lengths);
      if (linkage == Linkage::ward)
        for (Index k = 0; k < count; ++k)
          lengths[at(k)] *=
              2.0 * places.size[at(own)] * places.size[at(k)] / (places.size[at(own)] + places.size[at(k)]);
      if (own == pair[0]) {
        height = root(lengths[at(pair[1])]);
        if (rising && !result.heights.empty() && height < result.heights.back()) {
          rising = false;
          std::fill(highest.begin(), highest.end(), result.heights.back());
        }
        highest.push_back(height);
        for (std::size_t s = e; !rising && s > 0 && highest[s - 1] < height; --s) // h_s, ..., h_e, the largest
          highest[s - 1] = height;
      }
      lengths[at(own)] = infinity;
      if (rising) {
        for (Index k = 0; k < count; ++k)
          lengths[at(k)] += places.hole[at(k)];
        shortfall = std::max(shortfall, height - root(kernels().f64.min_value(lengths.data(), count, infinity)));
        continue;
      }
      for (Index k = 0; k < count; ++k)
        if (places.hole[at(k)] == 0.0)
          shortfall = std::max(shortfall,
                               highest[at(std::max(places.born[at(own)], places.born[at(k)]))] - root(lengths[at(k)]));
    }
    result.heights.push_back(height), result.shortfalls.push_back(shortfall);
    clusters.merge(pair[0], pair[1], places);
    places.unite(pair[0], pair[1], static_cast<Index>(e));
    if (places.should_close()) {
      const std::vector<Index> kept = places.close();
      clusters.close(kept);
      for (Index &of : place)
        of = static_cast<Index>(std::lower_bound(kept.begin(), kept.end(), of) - kept.begin());
    }
  }
  return result;
}

// Single linkage of points in O(n) memory: the least squared distance of the pairs that each merge brings together,
// with the points in an order in which every cluster is consecutive, and merge[i] that which brings points i and i + 1
// together: the last of those in between is that of any pair.
inline std::vector<double> least_of_merges(const Dense<double> &points, std::span<const std::int64_t> merge) {
  const PointColumns columns(points);
  std::vector<double> centre(static_cast<std::size_t>(points.columns)),
      lengths(static_cast<std::size_t>(columns.padded())), least(merge.size(), std::numeric_limits<double>::infinity());
  for (Index i = 1; i < points.rows; ++i) {
    poll();
    columns.read(i, centre.data());
    columns.distances(centre.data(), i, lengths.data());
    std::int64_t last = 0;
    for (Index j = i - 1; j >= 0; --j) {
      last = std::max(last, merge[static_cast<std::size_t>(j)]);
      double &of_merge = least[static_cast<std::size_t>(last)];
      of_merge = std::min(of_merge, lengths[static_cast<std::size_t>(j)]);
    }
  }
  return least;
}

} // namespace tenfold
