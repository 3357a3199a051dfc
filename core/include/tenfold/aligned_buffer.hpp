// Doubles on 64-byte boundaries, zero at the start: scratch and accumulators of the vector loops.
#pragma once

#include "tenfold/types.hpp"

#include <cstddef>
#include <new>
#include <vector>

namespace tenfold {

class Buffer {
public:
  Buffer() = default;
  explicit Buffer(Index size) : lines_(static_cast<std::size_t>((size + 7) / 8)) {}

  double *data() { return lines_.empty() ? nullptr : lines_.front().values; }
  const double *data() const { return lines_.empty() ? nullptr : lines_.front().values; }
  double &operator[](Index i) { return data()[i]; }
  double operator[](Index i) const { return data()[i]; }

private:
  struct alignas(64) Line {
    double values[8] = {};
  };
  std::vector<Line> lines_;
};

// The same for vectors that are copied, compared and assigned: weights, to which a row is added again and again. A
// vector of 64 bytes that is stored across two lines takes several times as long, and cannot be read back at once.
template <class T> struct OnLines {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  OnLines() = default;
  template <class U> OnLines(const OnLines<U> &) {}
  T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), line)); }
  void deallocate(T *p, std::size_t) { ::operator delete(p, line); }
  bool operator==(const OnLines &) const { return true; }
};

using Weights = std::vector<double, OnLines<double>>;

// For vectors that are written as a whole, by several threads: what they hold at the start is not set.
template <class T> struct Unset {
  using value_type = T;

  Unset() = default;
  template <class U> Unset(const Unset<U> &) {}
  T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T))); }
  void deallocate(T *p, std::size_t) { ::operator delete(p); }
  template <class U> void construct(U *) {}
  template <class U, class... Args> void construct(U *p, Args &&...args) { ::new (p) U(static_cast<Args &&>(args)...); }
  bool operator==(const Unset &) const { return true; }
};

} // namespace tenfold
