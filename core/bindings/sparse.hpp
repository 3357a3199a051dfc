// CSR from Python: data, indices and indptr as in scipy.sparse, each index array int32 or int64.
#pragma once

#include "arrays.hpp"

#include <variant>

#include <nanobind/stl/variant.h>

namespace tenfold {

using Pointers = std::variant<In<std::int32_t, 1>, In<std::int64_t, 1>>;

// A Sparse view and the owner of its memory. Row pointers are converted to int64 once, so that the loops have one type.
template <class T, class I> struct Compressed {
  Compressed(const In<T, 1> &data, const In<I, 1> &indices, const Pointers &indptr, Index columns) {
    if (const auto *wide = std::get_if<In<std::int64_t, 1>>(&indptr))
      view.indptr = wide->span();
    else {
      const auto narrow = std::get<In<std::int32_t, 1>>(indptr).span();
      widened.assign(narrow.begin(), narrow.end());
      view.indptr = widened;
    }
    require(!view.indptr.empty(), "indptr must have one entry more than there are rows");
    require(columns >= 0, "the number of columns must not be negative");
    require(data.span().size() == indices.span().size(), "data and indices must have the same length");
    std::int64_t last = 0;
    bool good = view.indptr.front() == 0;
    for (const std::int64_t next : view.indptr) {
      good &= next >= last;
      last = next;
    }
    require(good && last <= static_cast<std::int64_t>(data.span().size()),
            "indptr must start at 0, never fall, and end within data");
    view.data = data.span().first(static_cast<std::size_t>(last));
    view.indices = indices.span().first(static_cast<std::size_t>(last));
    view.rows = static_cast<Index>(view.indptr.size()) - 1;
    view.columns = columns;
  }
  Compressed(const Compressed &) = delete;
  Compressed &operator=(const Compressed &) = delete;

  std::vector<std::int64_t> widened;
  Sparse<T, I> view;
};

} // namespace tenfold
