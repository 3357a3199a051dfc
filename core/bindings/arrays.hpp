// Conversion of NumPy arrays. An argument of type In<T, N> is a C-contiguous, aligned array of exactly this dtype and
// number of dimensions, read-only or not; any other (other layouts or dtypes, masked arrays) raises TypeError and is
// never copied.
#pragma once

#include "tenfold/types.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
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

// Raises ValueError: every shape is validated before a loop runs.
inline void require(bool condition, const char *sentence) {
  if (!condition)
    throw nb::value_error(sentence);
}

inline int checked_threads(int threads) {
  require(threads >= 1, "threads must be at least 1");
  return threads;
}

template <std::size_t N> using Shape = std::array<Index, N>;

// numpy.empty(shape, dtype); dtype null: float64. NumPy's memory is cheaper for small results than transferring
// ownership of a vector, and uses huge pages for large ones.
nb::object empty_array(const Index *shape, std::size_t dimensions, const char *dtype);

// A NumPy array as a result, with its dtype in the signature.
template <class T> struct Given {
  nb::object array;
};

// A new NumPy array to write a result to.
template <class T, std::size_t N> class Out {
public:
  explicit Out(const Shape<N> &shape) : array_(empty_array(shape.data(), N, dtype())) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(array_.ptr(), &buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0)
      throw nb::python_error();
    span_ = {static_cast<T *>(buffer.buf), static_cast<std::size_t>(buffer.len) / sizeof(T)};
    PyBuffer_Release(&buffer); // the array keeps its memory where it is
  }
  std::span<T> span() const { return span_; }
  Given<T> give() const { return {array_}; }

private:
  static constexpr const char *dtype() {
    if constexpr (std::is_same_v<T, double>)
      return nullptr;
    else if constexpr (std::is_same_v<T, float>)
      return "float32";
    else
      return sizeof(T) == 8 ? "int64" : "int32";
  }
  nb::object array_;
  std::span<T> span_;
};

// The values as a NumPy array: small ones are copied, ownership of large ones is transferred.
template <class T, std::size_t N> Given<T> give(std::vector<T> values, const Shape<N> &shape) {
  constexpr std::size_t small = 4096;
  if (values.size() <= small) {
    const Out<T, N> out(shape);
    std::copy(values.begin(), values.end(), out.span().begin());
    return out.give();
  }
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T *data = owned->data();
  const nb::capsule owner(owned.release(), [](void *p) noexcept {
    std::unique_ptr<std::vector<T>>(static_cast<std::vector<T> *>(p)).reset();
  });
  std::array<std::size_t, N> sizes;
  for (std::size_t i = 0; i < N; ++i)
    sizes[i] = static_cast<std::size_t>(shape[i]);
  return {nb::cast(nb::ndarray<nb::numpy, T>(data, N, sizes.data(), owner))};
}

bool is_masked(nb::handle object);

} // namespace tenfold

namespace nanobind::detail {

template <class T>
constexpr auto name_of_array = const_name("numpy.ndarray[dtype=") + dtype_traits<T>::name + const_name("]");

template <class T, int N> struct type_caster<tenfold::In<T, N>> {
  using Argument = tenfold::In<T, N>;
  using Array = decltype(Argument::array);
  NB_TYPE_CASTER(Argument, name_of_array<T>)

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

template <class T> struct type_caster<tenfold::Given<T>> {
  using Value = tenfold::Given<T>;
  static constexpr auto Name = name_of_array<T>;
  template <typename> using Cast = Value;

  static handle from_cpp(const Value &value, rv_policy, cleanup_list *) noexcept { return value.array.inc_ref(); }
};

} // namespace nanobind::detail
