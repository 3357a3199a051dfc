// A Cholesky factor under insertion and deletion of columns: L L' = G for the Gram matrix G of some columns.
//
// append adds a column given its products; it returns the new pivot squared (the squared distance from the span of the
// others) and leaves L unchanged where that is at most `least`. remove deletes a column and restores the triangle by
// Givens rotations. Both cost k^2 multiply-adds for k columns.
#pragma once

#include "tenfold/types.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

class Cholesky {
public:
  Index size() const { return size_; }

  // products (k): with the columns of the factor, in order; square: the squared norm of the column.
  double append(std::span<const double> products, double square, double least) {
    L_.resize(static_cast<std::size_t>(start(size_ + 1)));
    double *row = this->row(size_);
    double left = square;
    for (Index i = 0; i < size_; ++i) {
      const double *other = this->row(i);
      double sum = products[static_cast<std::size_t>(i)];
      for (Index j = 0; j < i; ++j)
        sum -= other[j] * row[j];
      row[i] = sum / other[i];
      left -= row[i] * row[i];
    }
    if (!(left > least))
      return left;
    row[size_] = std::sqrt(left);
    ++size_;
    return left;
  }

  void remove(Index place) {
    for (Index i = place; i + 1 < size_; ++i)
      for (Index j = 0; j <= i + 1; ++j)
        row(i)[j] = row(i + 1)[j];
    --size_;
    // Row i now has one entry beyond the diagonal: a rotation of columns i and i + 1 removes it.
    for (Index i = place; i < size_; ++i) {
      const double a = row(i)[i], b = row(i)[i + 1], length = std::hypot(a, b);
      const double c = a / length, s = b / length;
      for (Index k = i; k < size_; ++k) {
        double *r = row(k);
        const double x = r[i], y = r[i + 1];
        r[i] = c * x + s * y;
        r[i + 1] = c * y - s * x;
      }
      row(i)[i] = length;
    }
  }

  // x = (L L')^-1 x.
  void solve(std::span<double> x) const {
    double *v = x.data();
    for (Index i = 0; i < size_; ++i) {
      const double *r = row(i);
      double sum = v[i];
      for (Index j = 0; j < i; ++j)
        sum -= r[j] * v[j];
      v[i] = sum / r[i];
    }
    for (Index i = size_ - 1; i >= 0; --i) {
      const double *r = row(i);
      v[i] /= r[i];
      for (Index j = 0; j < i; ++j)
        v[j] -= r[j] * v[i];
    }
  }

private:
  // Row i has room for one entry beyond the diagonal, for rotations.
  static Index start(Index i) { return i * (i + 3) / 2; }
  double *row(Index i) { return L_.data() + start(i); }
  const double *row(Index i) const { return L_.data() + start(i); }

  Index size_ = 0;
  std::vector<double> L_;
};

} // namespace tenfold
