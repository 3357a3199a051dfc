// Strings as the rows of one array of characters.
#pragma once

#include "tenfold/types.hpp"

#include <cstdint>
#include <span>

namespace tenfold {

// String i is the characters offsets[i] to offsets[i + 1]; characters are positive whole numbers.
struct Strings {
  std::span<const double> characters;
  std::span<const std::int64_t> offsets;

  Index count() const { return static_cast<Index>(offsets.size()) - 1; }
  Index length(Index i) const {
    return static_cast<Index>(offsets[static_cast<std::size_t>(i) + 1] - offsets[static_cast<std::size_t>(i)]);
  }
  std::span<const double> operator[](Index i) const {
    return characters.subspan(static_cast<std::size_t>(offsets[static_cast<std::size_t>(i)]),
                              static_cast<std::size_t>(length(i)));
  }
};

} // namespace tenfold
