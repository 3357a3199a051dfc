// Zero-initialised arrays of doubles aligned to 64-byte cache lines: scratch and accumulators of the SIMD loops.
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

// Allocator with the same alignment for std::vector, for weights that rows are added to. A 64-byte store that straddles
// two cache lines takes several times as long and defeats store-to-load forwarding.
template <class T> struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  CacheLineAllocator() = default;
  template <class U> CacheLineAllocator(const CacheLineAllocator<U> &) {}
  T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), line)); }
  void deallocate(T *p, std::size_t) { ::operator delete(p, line); }
  bool operator==(const CacheLineAllocator &) const { return true; }
};

using Weights = std::vector<double, CacheLineAllocator<double>>;

// Allocator without initialisation, for vectors that several threads fill completely.
template <class T> struct UninitializedAllocator {
  using value_type = T;

  UninitializedAllocator() = default;
  template <class U> UninitializedAllocator(const UninitializedAllocator<U> &) {}
  T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T))); }
  void deallocate(T *p, std::size_t) { ::operator delete(p); }
  template <class U> void construct(U *) {}
  template <class U, class... Args> void construct(U *p, Args &&...args) { ::new (p) U(static_cast<Args &&>(args)...); }
  bool operator==(const UninitializedAllocator &) const { return true; }
};

} // namespace tenfold
