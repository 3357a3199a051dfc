// Agglomerative clustering by chains of nearest neighbours (Murtagh 1983, Computer Journal 26; Muellner 2011).
//
// A chain goes from a cluster to its nearest cluster, and on from there, until two are nearest to each other; they are
// merged, and what is left of the chain stays one. For linkages with d(A u B, C) >= min(d(A, C), d(B, C)) the merges,
// in order of their heights, are those of the greedy algorithm that always merges the nearest pair. A tie goes to the
// cluster before the last of the chain, so that chains end. Clusters are kept in one of two ways:
//
// MatrixClusters   all distances (n, n), renewed by Lance and Williams; C and the merged clusters A, B of a, b samples:
//                    complete  max(d_AC, d_BC)
//                    average   (a d_AC + b d_BC) / (a + b)
//                    ward      ((a + c) d_AC + (b + c) d_BC - c d_AB) / (a + b + c)   of squared distances
// CentroidClusters the centroids, for Ward: d_AB = 2 a b / (a + b) ||c_A - c_B||^2, in O(n) memory.
//
// Time: about 3 n searches over the clusters that are left, n^2 numbers or distances in all. What is merged leaves a
// hole; the holes are closed when they are a quarter of all.
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
#include <span>
#include <vector>

namespace tenfold {

enum class Linkage : int { single, complete, average, ward, centroid };

struct Nearest {
  Index cluster;
  double distance;
};

// What both kinds of clusters have: sizes, a sample of each, and which are holes.
class ClusterSlots {
public:
  explicit ClusterSlots(Index n)
      : size_(static_cast<std::size_t>(n), 1.0), hole_(static_cast<std::size_t>(n)),
        sample_(static_cast<std::size_t>(n)), lengths_(static_cast<std::size_t>(n)), left_(n) {
    std::iota(sample_.begin(), sample_.end(), std::int64_t{0});
  }

  Index slots() const { return static_cast<Index>(size_.size()); }
  Index first() const {
    Index slot = 0;
    while (hole_[static_cast<std::size_t>(slot)] != 0.0)
      ++slot;
    return slot;
  }
  std::int64_t sample(Index slot) const { return sample_[static_cast<std::size_t>(slot)]; }
  bool should_close() const { return 4 * left_ <= 3 * slots() && slots() > 32; }

protected:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  double size(Index slot) const { return size_[static_cast<std::size_t>(slot)]; }
  double hole(Index slot) const { return hole_[static_cast<std::size_t>(slot)]; }

  // b becomes the union
  void unite(Index a, Index b) {
    size_[static_cast<std::size_t>(b)] += size(a);
    hole_[static_cast<std::size_t>(a)] = infinity;
    --left_;
  }
  // The slots that are left, in order; moves what is here.
  std::vector<Index> close_slots() {
    std::vector<Index> kept;
    for (Index slot = 0; slot < slots(); ++slot)
      if (hole(slot) == 0.0)
        kept.push_back(slot);
    for (std::size_t to = 0; to < kept.size(); ++to) {
      const auto from = static_cast<std::size_t>(kept[to]);
      size_[to] = size_[from], sample_[to] = sample_[from];
    }
    size_.resize(kept.size()), sample_.resize(kept.size()), lengths_.resize(kept.size());
    hole_.assign(kept.size(), 0.0);
    return kept;
  }
  // The smallest of lengths_, which are distances from `own`; the one before where it is as small.
  Nearest smallest(Index own, Index before) {
    lengths_[static_cast<std::size_t>(own)] = infinity;
    const double least = kernels().f64.min_value(lengths_.data(), slots(), infinity);
    if (before >= 0 && lengths_[static_cast<std::size_t>(before)] == least)
      return {before, least};
    return {static_cast<Index>(std::find(lengths_.begin(), lengths_.end(), least) - lengths_.begin()), least};
  }

  std::vector<double> size_, hole_; // hole_ is infinite where there is none any more, else zero
  std::vector<std::int64_t> sample_;
  std::vector<double> lengths_;
  Index left_;
};

// The distances are overwritten.
class MatrixClusters : public ClusterSlots {
public:
  MatrixClusters(std::span<double> distances, Index n, Linkage linkage)
      : ClusterSlots(n), d_(distances), step_(n), linkage_(linkage) {}

  Nearest nearest(Index slot, Index before) {
    const double *row = d_.data() + slot * step_;
    for (Index k = 0; k < slots(); ++k)
      lengths_[static_cast<std::size_t>(k)] = row[k] + hole_[static_cast<std::size_t>(k)];
    return smallest(slot, before);
  }
  void merge(Index a, Index b, double height) {
    const double *from = d_.data() + a * step_;
    double *to = d_.data() + b * step_;
    const double na = size(a), nb = size(b);
    for (Index k = 0; k < slots(); ++k) {
      if (linkage_ == Linkage::complete)
        to[k] = std::max(from[k], to[k]);
      else if (linkage_ == Linkage::average)
        to[k] = (na * from[k] + nb * to[k]) / (na + nb);
      else
        to[k] = ((na + size(k)) * from[k] + (nb + size(k)) * to[k] - size(k) * height) / (na + nb + size(k));
    }
    unite(a, b);
    for (Index k = 0; k < slots(); ++k)
      if (hole(k) == 0.0)
        d_[static_cast<std::size_t>(k * step_ + b)] = to[k];
  }
  std::vector<Index> close() {
    const std::vector<Index> kept = close_slots();
    for (std::size_t i = 0; i < kept.size(); ++i)
      for (std::size_t j = 0; j < kept.size(); ++j)
        d_[static_cast<std::size_t>(static_cast<Index>(i) * step_) + j] =
            d_[static_cast<std::size_t>(kept[i] * step_ + kept[j])];
    return kept;
  }

private:
  std::span<double> d_;
  Index step_;
  Linkage linkage_;
};

class CentroidClusters : public ClusterSlots {
public:
  explicit CentroidClusters(const Dense<double> &x)
      : ClusterSlots(x.rows), points_(x), centre_(static_cast<std::size_t>(x.columns)),
        squares_(static_cast<std::size_t>(points_.padded())) {}

  Nearest nearest(Index slot, Index before) {
    points_.read(slot, centre_.data());
    points_.distances(centre_.data(), slots(), squares_.data());
    const double own = size(slot);
    for (Index k = 0; k < slots(); ++k) {
      const auto at = static_cast<std::size_t>(k);
      lengths_[at] = 2.0 * own * size_[at] / (own + size_[at]) * squares_[at] + hole_[at];
    }
    return smallest(slot, before);
  }
  void merge(Index a, Index b, double) {
    const double na = size(a), nb = size(b);
    for (Index j = 0; j < points_.columns(); ++j)
      points_.at(b, j) = (na * points_.at(a, j) + nb * points_.at(b, j)) / (na + nb);
    unite(a, b);
  }
  std::vector<Index> close() {
    const std::vector<Index> kept = close_slots();
    for (std::size_t to = 0; to < kept.size(); ++to)
      points_.copy(static_cast<Index>(to), kept[to]);
    return kept;
  }

private:
  PointColumns points_;
  std::vector<double> centre_, squares_;
};

template <class Clusters> Merges nn_chain(Clusters &clusters) {
  Merges merges;
  std::vector<Index> chain;
  for (Index left = clusters.slots(); left > 1; --left) {
    if (chain.empty())
      chain.push_back(clusters.first());
    double height = 0.0;
    for (;;) {
      poll();
      const Index before = chain.size() > 1 ? chain[chain.size() - 2] : -1;
      const Nearest next = clusters.nearest(chain.back(), before);
      height = next.distance;
      if (next.cluster == before)
        break;
      chain.push_back(next.cluster);
    }
    const Index a = chain.back(), b = chain[chain.size() - 2];
    chain.resize(chain.size() - 2);
    merges.add(clusters.sample(a), clusters.sample(b), height);
    clusters.merge(a, b, height);
    if (clusters.should_close()) {
      const std::vector<Index> kept = clusters.close();
      for (Index &slot : chain)
        slot = static_cast<Index>(std::lower_bound(kept.begin(), kept.end(), slot) - kept.begin());
    }
  }
  return merges;
}

} // namespace tenfold
