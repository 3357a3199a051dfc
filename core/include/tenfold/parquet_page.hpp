// The header of a page of a Parquet file, as its format says it: https://github.com/apache/parquet-format
#pragma once

#include "tenfold/thrift.hpp"

#include <optional>

namespace tenfold {

struct Page {
  enum Kind { data = 0, index = 1, dictionary = 2, data_2 = 3 };
  enum Encoding { plain = 0, old_dictionary = 2, runs = 3, by_dictionary = 8 };

  std::int64_t kind = -1, encoding = -1;
  std::int64_t size = -1, packed = -1; // bytes of the page, and as the file has them
  std::int64_t values = -1;
  std::int64_t levels = Page::runs; // how they are encoded, in the first version of data pages
  std::int64_t nulls = 0, level_bytes = 0, repetition_bytes = 0; // in the second
  bool compressed = true;
  Index header = 0; // bytes of the header itself

  bool of_data() const { return kind == data || kind == data_2; }
};

// The header at the beginning of the bytes; none where they are no header, or end before it does.
inline std::optional<Page> read_page_header(std::span<const std::uint8_t> bytes) {
  Page page;
  Thrift in(bytes);
  bool whole = true;
  // field 1 goes to the first place, field 2 to the second, ...; all must be there
  const auto numbers = [&](auto... where) {
    std::int64_t *const places[] = {where...};
    ((*where = -1), ...);
    in.each_field([&](std::int64_t id, unsigned kind) {
      if (id == 7 && kind <= Thrift::untruth) {
        page.compressed = kind == Thrift::truth;
        return true;
      }
      if (id < 1 || id > static_cast<std::int64_t>(sizeof...(where)) || kind != Thrift::int32)
        return false;
      *places[id - 1] = in.number();
      return true;
    });
    whole = whole && ((*where >= 0) && ...);
    return true;
  };
  std::int64_t rows = 0, repetitions = 0;
  in.each_field([&](std::int64_t id, unsigned kind) {
    if (kind == Thrift::structure && id == 5)
      return numbers(&page.values, &page.encoding, &page.levels, &repetitions);
    if (kind == Thrift::structure && id == 7)
      return numbers(&page.values, &page.encoding);
    if (kind == Thrift::structure && id == 8)
      return numbers(&page.values, &page.nulls, &rows, &page.encoding, &page.level_bytes, &page.repetition_bytes);
    if (kind != Thrift::int32 || id < 1 || id > 3)
      return false;
    (id == 1 ? page.kind : id == 2 ? page.size : page.packed) = in.number();
    return true;
  });
  if (!in.good() || !whole || page.size < 0 || page.packed < 0)
    return std::nullopt;
  page.header = in.at() - bytes.data();
  return page;
}

} // namespace tenfold
