// Values of the gappy subsequence kernel (core/src/isa/subsequence.hpp) of all pairs of two sets of strings, and their
// derivatives in log(decay).
//
// The strings t are sorted by length and packed in groups that share the lanes of SIMD vectors, filled up with a
// character that occurs nowhere: what a lane computes does not depend on its neighbours.
#pragma once

#include "tenfold/isa_kernels.hpp"
#include "tenfold/strings.hpp"
#include "tenfold/thread_pool.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace tenfold {

class SubsequenceKernel {
public:
  SubsequenceKernel(const Strings &t, Index length, double decay)
      : count_(t.count()), length_(length), decay_(decay), order_(static_cast<std::size_t>(count_)) {
    std::iota(order_.begin(), order_.end(), Index{0});
    std::stable_sort(order_.begin(), order_.end(), [&](Index a, Index b) { return t.length(a) < t.length(b); });
    for (Index begin = 0; begin < count_; begin += lanes())
      pack(t, begin, std::min(count_, begin + lanes()));
  }

  // Multiplications of one row of the block, up to a factor.
  double work(Index rows) const {
    return static_cast<double>(rows) * static_cast<double>(length_) * static_cast<double>(packed_.size());
  }

  // Rows [begin, end) of the block of the strings s with all t, m x count, and of its slopes where these are not empty.
  void operator()(const Strings &s, Index begin, Index end, int threads, std::span<double> out,
                  std::span<double> slope) const {
    const Index groups = static_cast<Index>(starts_.size()), rows = end - begin;
    const std::size_t scratch = static_cast<std::size_t>(longest_ * lanes() * (length_ - 1) * (slope.empty() ? 1 : 2));
    std::vector<std::vector<double>> work(static_cast<std::size_t>(threads));
    parallel(rows * groups, threads, [&](Index item, int worker) {
      std::vector<double> &own = work[static_cast<std::size_t>(worker)];
      if (own.size() < scratch + 1)
        own.resize(scratch + 1);
      evaluate(s[begin + item / groups], begin + item / groups, item % groups, own, out, slope);
    });
  }

private:
  static constexpr double nothing = -1.0; // a character that occurs nowhere
  static constexpr std::size_t most_lanes = 16;

  Index lanes() const { return kernels_.subsequence_lanes; }

  void pack(const Strings &t, Index begin, Index end) {
    const Index columns = t.length(order_[static_cast<std::size_t>(end - 1)]);
    const std::size_t start = packed_.size();
    starts_.push_back(start), columns_.push_back(columns);
    longest_ = std::max(longest_, columns);
    packed_.resize(start + static_cast<std::size_t>(columns * lanes()), nothing);
    for (Index lane = 0; lane < end - begin; ++lane) {
      const auto string = t[order_[static_cast<std::size_t>(begin + lane)]];
      for (std::size_t j = 0; j < string.size(); ++j)
        packed_[start + j * static_cast<std::size_t>(lanes()) + static_cast<std::size_t>(lane)] = string[j];
    }
  }

  void evaluate(std::span<const double> s, Index row, Index group, std::span<double> work, std::span<double> out,
                std::span<double> slope) const {
    std::array<double, most_lanes> values{}, slopes{};
    const auto g = static_cast<std::size_t>(group);
    const auto loop = slope.empty() ? kernels_.subsequence : kernels_.subsequence_slope;
    loop(s.data(), static_cast<Index>(s.size()), packed_.data() + starts_[g], columns_[g], length_, decay_, work.data(),
         values.data(), slopes.data());
    const Index first = group * lanes(), used = std::min(lanes(), count_ - first);
    for (Index lane = 0; lane < used; ++lane) {
      const auto at = static_cast<std::size_t>(row * count_ + order_[static_cast<std::size_t>(first + lane)]);
      out[at] = values[static_cast<std::size_t>(lane)];
      if (!slope.empty())
        slope[at] = slopes[static_cast<std::size_t>(lane)];
    }
  }

  const Kernels &kernels_ = kernels();
  Index count_, length_, longest_ = 0;
  double decay_;
  std::vector<Index> order_, columns_;
  std::vector<std::size_t> starts_;
  std::vector<double> packed_;
};

} // namespace tenfold
