// Snappy's format: the length, then literals and copies of what is already there.
//
// Most of what columns of numbers come to are long literals, or short copies; both go sixteen bytes at a time, and may
// write up to `snappy_slack` bytes beyond the end of `out`, where the caller has room. Every length and every distance
// is checked; what is broken is refused.
#pragma once

#include "tenfold/types.hpp"

#include <cstdint>
#include <cstring>
#include <span>

namespace tenfold {

constexpr std::size_t snappy_slack = 64;

namespace snappy {

inline std::size_t little_endian(const std::uint8_t *at, std::size_t bytes) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::size_t>(at[i]) << (8 * i);
  return value;
}

// `count` bytes, at most 64, from `distance` bytes before, which may be among them.
inline void copy_back(std::uint8_t *to, std::size_t distance, std::size_t count) {
  const std::uint8_t *from = to - distance;
  if (distance >= 16) {
    for (std::size_t i = 0; i < count; i += 16)
      std::memcpy(to + i, from + i, 16);
  } else if (distance >= 8) {
    for (std::size_t i = 0; i < count; i += 8)
      std::memcpy(to + i, from + i, 8);
  } else {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = from[i];
  }
}

} // namespace snappy

// Whether `in` was right, and its text exactly as long as `out`.
inline bool unpack_snappy(std::span<const std::uint8_t> in, std::span<std::uint8_t> out) {
  const std::uint8_t *at = in.data(), *const end = at + in.size();
  std::uint8_t *to = out.data(), *const stop = to + out.size();
  const auto left = [&] { return static_cast<std::size_t>(end - at); };
  const auto room = [&] { return static_cast<std::size_t>(stop - to); };
  std::uint64_t length = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at == end || shift > 28)
      return false;
    length |= static_cast<std::uint64_t>(*at & 127) << shift;
    if (*at++ < 128)
      break;
  }
  if (length != out.size())
    return false;
  while (at < end) {
    const unsigned tag = *at++;
    if ((tag & 3) == 0) {
      std::size_t count = (tag >> 2) + 1;
      if (count > 60) {
        const std::size_t bytes = count - 60;
        if (left() < bytes)
          return false;
        count = snappy::little_endian(at, bytes) + 1;
        at += bytes;
      }
      if (count > left() || count > room())
        return false;
      if (count <= 16 && left() >= 16)
        std::memcpy(to, at, 16);
      else
        std::memcpy(to, at, count);
      at += count;
      to += count;
    } else {
      const std::size_t bytes = (tag & 3) == 1 ? 1 : (tag & 3) == 2 ? 2 : 4;
      if (left() < bytes)
        return false;
      std::size_t distance = snappy::little_endian(at, bytes), count = (tag >> 2) + 1;
      if (bytes == 1) {
        distance |= static_cast<std::size_t>(tag >> 5) << 8;
        count = (tag >> 2 & 7) + 4;
      }
      at += bytes;
      if (distance == 0 || distance > static_cast<std::size_t>(to - out.data()) || count > room())
        return false;
      snappy::copy_back(to, distance, count);
      to += count;
    }
  }
  return to == stop;
}

} // namespace tenfold
