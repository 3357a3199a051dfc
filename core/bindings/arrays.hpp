// Arrays in and out. An argument of type In<T, N> is a C-contiguous, aligned NumPy array of exactly this dtype and
// number of dimensions, read-only or not; anything else (other layouts, other dtypes, masked arrays) is refused with a
// TypeError, never copied.
#pragma once

#include "tenfold/types.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace tenfold {

namespace nb = nanobind;

template <class T, int N> struct In {
  nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu> array;

  const T *data() const { return array.data(); }
  Index shape(int axis) const { return static_cast<Index>(array.shape(static_cast<std::size_t>(axis))); }
  std::span<const T> span() const { return {array.data(), array.size()}; }
};

template <class T, int N> using Maybe = std::optional<In<T, N>>;

template <class T, int N> std::span<const T> span_or_none(const Maybe<T, N> &array) {
  return array ? array->span() : std::span<const T>{};
}

// A sentence instead of a wrong result: every length is checked before a loop runs.
inline void require(bool condition, const char *sentence) {
  if (!condition)
    throw nb::value_error(sentence);
}

inline int checked_threads(int threads) {
  require(threads >= 1, "threads must be at least 1");
  return threads;
}

template <std::size_t N> using Shape = std::array<Index, N>;

// numpy.empty(shape, dtype) for a small result: cheaper than handing over memory of our own. dtype null: float64.
nb::object empty_array(const Index *shape, std::size_t dimensions, const char *dtype);

// A NumPy array on memory that `owner` frees.
template <class T, std::size_t N> nb::object array_on(T *data, const Shape<N> &shape, nb::handle owner) {
  std::array<std::size_t, N> sizes;
  for (std::size_t i = 0; i < N; ++i)
    sizes[i] = static_cast<std::size_t>(shape[i]);
  return nb::cast(nb::ndarray<nb::numpy, T>(data, N, sizes.data(), owner));
}

// The values as a NumPy array.
template <class T, std::size_t N> nb::object give(std::vector<T> values, const Shape<N> &shape) {
  constexpr std::size_t small = 4096;
  constexpr const char *dtype =
      std::is_same_v<T, double> ? nullptr : (std::is_same_v<T, std::int64_t> ? "int64" : "int32");
  if (values.size() <= small) {
    nb::object array = empty_array(shape.data(), N, dtype);
    Py_buffer buffer;
    if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0)
      throw nb::python_error();
    std::copy(values.begin(), values.end(), static_cast<T *>(buffer.buf));
    PyBuffer_Release(&buffer);
    return array;
  }
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T *data = owned->data();
  const nb::capsule owner(owned.release(), [](void *p) noexcept {
    std::unique_ptr<std::vector<T>>(static_cast<std::vector<T> *>(p)).reset();
  });
  return array_on(data, shape, owner);
}

// A result as long as the data, without zeros at the start.
template <class T, std::size_t N> class Out {
public:
  explicit Out(const Shape<N> &shape) : shape_(shape) {
    for (const Index length : shape)
      size_ *= static_cast<std::size_t>(length);
    values_ = std::make_unique_for_overwrite<T[]>(size_);
  }
  std::span<T> span() { return {values_.get(), size_}; }
  nb::object give() {
    T *data = values_.get();
    const nb::capsule owner(values_.release(),
                            [](void *p) noexcept { std::unique_ptr<T[]>(static_cast<T *>(p)).reset(); });
    return array_on(data, shape_, owner);
  }

private:
  Shape<N> shape_;
  std::size_t size_ = 1;
  std::unique_ptr<T[]> values_;
};

bool is_masked(nb::handle object);

} // namespace tenfold

namespace nanobind::detail {

template <class T, int N> struct type_caster<tenfold::In<T, N>> {
  using Argument = tenfold::In<T, N>;
  using Array = decltype(Argument::array);
  NB_TYPE_CASTER(Argument, make_caster<Array>::Name)

  bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) noexcept {
    if (tenfold::is_masked(source))
      return false;
    make_caster<Array> caster;
    if (!caster.from_python(source, flags & ~static_cast<uint32_t>(cast_flags::convert), cleanup))
      return false;
    value.array = std::move(caster.value);
    return reinterpret_cast<std::uintptr_t>(value.array.data()) % alignof(T) == 0;
  }
};

} // namespace nanobind::detail
