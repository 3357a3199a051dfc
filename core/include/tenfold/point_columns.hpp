// Points of clusters by columns: coordinate j of point i is data[j * step + i], so that squared distances from one
// point to all of them run over contiguous memory.
#pragma once

#include "tenfold/aligned_buffer.hpp"
#include "tenfold/isa_kernels.hpp"
#include "tenfold/types.hpp"

#include <algorithm>
#include <vector>

namespace tenfold {

class PointColumns {
public:
  explicit PointColumns(const Dense<double> &x)
      : columns_(x.columns), step_((x.rows + group - 1) / group * group), data_(std::max<Index>(1, columns_ * step_)),
        ones_(static_cast<std::size_t>(columns_), 1.0) {
    std::fill_n(data_.data(), columns_ * step_, 0.0);
    for (Index i = 0; i < x.rows; ++i)
      for (Index j = 0; j < columns_; ++j)
        at(i, j) = x.data[i * x.columns + j];
  }

  Index columns() const { return columns_; }
  // the points of a buffer for `distances`
  Index padded() const { return step_; }
  double &at(Index point, Index column) { return data_[column * step_ + point]; }
  double at(Index point, Index column) const { return data_.data()[column * step_ + point]; }
  void copy(Index to, Index from) {
    for (Index j = 0; j < columns_; ++j)
      at(to, j) = at(from, j);
  }
  void read(Index point, double *out) const {
    for (Index j = 0; j < columns_; ++j)
      out[j] = at(point, j);
  }
  // ||x_i - centre||^2 of the first `count` points; out has room for `padded()` numbers
  void distances(const double *centre, Index count, double *out) const {
    const Index all = (count + group - 1) / group * group;
    for (Index begin = 0; begin < all; begin += tile)
      kernels().scaled_sq_norms(data_.data() + begin, step_, std::min(tile, all - begin), columns_, centre,
                                ones_.data(), out + begin);
  }

private:
  static constexpr Index group = 32;  // points that the loop takes at a time, at most
  static constexpr Index tile = 1024; // their distances stay in the first-level cache
  Index columns_, step_;
  Buffer data_;
  std::vector<double> ones_;
};

} // namespace tenfold
