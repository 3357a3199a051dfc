// Tiles of consecutive rows, each centred at its class, in packed panels (core/src/isa/pack.hpp): within-class sums
// without reordering the rows by class.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/deterministic_partition.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/row_groups.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace tenfold {

constexpr Index within_rows = 128; // rows of the largest tile

// Rows with weights (empty: ones), class numbers, and centres (classes x columns).
template <class T> class CentredRows {
public:
  CentredRows(const Dense<T> &x, std::span<const double> weight, std::span<const std::int32_t> group, Index classes,
              std::span<const double> centres)
      : x_(x), weight_(weight), group_(group),
        step_((x.columns + kernels().panel - 1) / kernels().panel * kernels().panel), centres_(classes * step_) {
    check_weights(weight);
    for (const std::int32_t c : group)
      if (c < 0 || c >= classes)
        throw std::invalid_argument("class numbers must be at least 0 and below the number of classes");
    for (Index c = 0; c < classes; ++c)
      std::copy_n(centres.data() + c * x.columns, x.columns, centres_.data() + c * step_);
  }

  const Dense<T> &x() const { return x_; }
  Index panels() const { return step_ / kernels().panel; }
  Index step() const { return step_; } // leading dimension of class sums, whole panels
  const double *centres() const { return centres_.data(); }
  double weight(Index row) const { return weight_.empty() ? 1.0 : weight_[static_cast<std::size_t>(row)]; }
  std::int32_t group(Index row) const { return group_[static_cast<std::size_t>(row)]; }

private:
  Dense<T> x_;
  std::span<const double> weight_;
  std::span<const std::int32_t> group_;
  Index step_;
  Buffer centres_;
};

// `panels` may exceed those of the rows: the others stay zero.
class CentredTile {
public:
  CentredTile(Index panels, Index rows = within_rows)
      : most_(rows), stride_((rows + 3) * kernels().panel), values_(panels * stride_) {}

  Index count() const { return count_; }
  Index stride() const { return stride_; } // padded: panels a power of two apart would conflict in cache sets
  const double *values() const { return values_.data(); }
  const double *roots() const { return root_.data(); }

  // Collects rows of positive weight in [begin, end); returns the first row not collected.
  template <class T> Index take(const CentredRows<T> &rows, Index begin, Index end) {
    count_ = 0;
    for (; begin < end && count_ < most_; ++begin)
      if (const double w = rows.weight(begin); w > 0.0) {
        const auto i = static_cast<std::size_t>(count_++);
        row_[i] = begin, weight_[i] = w, root_[i] = std::sqrt(w), of_[i] = rows.group(begin);
      }
    return begin;
  }

  // Packs them, times the square roots of their weights where `rooted`.
  template <class T> void pack(const CentredRows<T> &rows, bool rooted) {
    kernels().dense<T>().pack_centred(rows.x().data, rows.x().columns, row_.data(), count_, rows.x().columns,
                                      rows.centres(), rows.step(), of_.data(), rooted ? root_.data() : nullptr,
                                      values_.data(), stride_);
  }

  // Adds weights, sums and, unless null, squares to the class sums.
  template <class T> void add(const CentredRows<T> &rows, bool rooted, double *weights, double *sums, double *squares) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i)
      weights[of_[i]] += weight_[i];
    kernels().add_class_rows(values_.data(), stride_, rows.panels(), count_, of_.data(),
                             rooted ? root_.data() : weight_.data(), sums, squares, rows.step());
  }

private:
  Index most_, stride_, count_ = 0;
  Buffer values_;
  std::array<Index, within_rows> row_;
  std::array<std::int32_t, within_rows> of_;
  std::array<double, within_rows> weight_, root_;
};

} // namespace tenfold
