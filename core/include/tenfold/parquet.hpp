// Columns of numbers of a Parquet file to rows of a matrix: pages as they are in the file, or packed by Snappy, with
// plain numbers or with places in a dictionary.
//
// A chunk is what a row group holds of a column; its pages come one after the other and end at rows of their own. A
// reader of a chunk hands out some thousand values at a time, so that they are still in the cache when they are put
// into the rows, and asks the system for what comes next while they are.
//
// Everything else (other encodings, missing values, whole numbers that double does not have, a file that is broken or
// has changed) is not claimed: the reader stops, says so, and whoever knows all of Parquet reads the rows again.
// Bytes: the file once; the matrix once.
#pragma once

#include "tenfold/beside.hpp"
#include "tenfold/bit_runs.hpp"
#include "tenfold/decimal.hpp"
#include "tenfold/file_bytes.hpp"
#include "tenfold/parquet_page.hpp"
#include "tenfold/snappy.hpp"

#include <atomic>
#include <bit>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenfold {

enum class Stored : std::uint8_t { float64, float32, int64, int32 };

struct Chunk {
  Index offset, size; // bytes in the file, from the header of the first page on
  Index values;
  Stored stored;
  bool packed;   // by Snappy
  bool optional; // there are levels that say whether a value is missing
};

// Memory that is not cleared, with some bytes beyond the end that may be read and written.
class Room {
public:
  std::uint8_t *of(Index size) {
    if (size > size_) {
      bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(size) + slack);
      size_ = size;
    }
    return bytes_.get();
  }
  Bytes data() const { return bytes_.get(); }

private:
  static constexpr std::size_t slack = std::max(snappy_slack, bit_slack);
  std::unique_ptr<std::uint8_t[]> bytes_;
  Index size_ = -1;
};

// What a thread needs for a moment.
struct Scratch {
  Room bytes, places;
};

// T: float for chunks of float32 only, or double.
template <class T> class ChunkReader {
public:
  ChunkReader(const FileBytes &file, const Chunk &chunk, Index ahead)
      : file_(file), chunk_(chunk), ahead_(ahead), next_(chunk.offset), asked_(chunk.offset), left_(chunk.values) {
    look_ahead(next_);
  }

  Index available() const { return available_; }
  Bytes values() const { return values_; }
  void advance(Index count) {
    available_ -= count;
    values_ += count * static_cast<Index>(sizeof(T));
  }

  // Makes more values available; false where there are none, or nothing is claimed.
  bool refill(Scratch &scratch) {
    while (page_left_ == 0)
      if (!open_page(scratch))
        return false;
    if (source_ == Source::memory && stored_as_T()) {
      set(page_.data() + page_at_, page_left_);
      return true;
    }
    const Index count = std::min(page_left_, some);
    std::uint8_t *const ready = ready_.of(some * static_cast<Index>(sizeof(T)));
    if (source_ == Source::dictionary) {
      if (!look_up(scratch, count, reinterpret_cast<T *>(ready)))
        return false;
    } else if (source_ == Source::memory) {
      if (!convert(page_.data() + page_at_, count, reinterpret_cast<T *>(ready)))
        return false;
      page_at_ += count * width();
    } else {
      std::uint8_t *const raw = stored_as_T() ? ready : page_.of(some * width());
      if (!file_.read(page_at_, raw, count * width()))
        return false;
      page_at_ += count * width();
      look_ahead(page_at_);
      if (!stored_as_T() && !convert(raw, count, reinterpret_cast<T *>(ready)))
        return false;
    }
    set(ready, count);
    return true;
  }

private:
  enum class Source : std::uint8_t { file, memory, dictionary };

  static constexpr Index some = 4096;         // values at a time
  static constexpr Index most_levels = 65536; // bytes of levels of a page that is not brought into memory

  bool stored_as_T() const { return chunk_.stored == (std::is_same_v<T, double> ? Stored::float64 : Stored::float32); }
  Index width() const { return chunk_.stored == Stored::float64 || chunk_.stored == Stored::int64 ? 8 : 4; }

  void set(Bytes values, Index count) {
    values_ = values;
    available_ = count;
    page_left_ -= count;
  }

  void look_ahead(Index from) {
    const Index end = chunk_.offset + chunk_.size;
    if (from + ahead_ / 2 <= asked_ || asked_ >= end)
      return;
    const Index start = std::max(from, asked_);
    asked_ = std::min(end, start + ahead_);
    file_.soon(start, asked_ - start);
  }

  std::optional<Page> header(Scratch &scratch) const {
    const Index left = chunk_.offset + chunk_.size - next_;
    for (Index size = 256; size <= 1 << 16; size *= 16) {
      const Index some_bytes = std::min(size, left);
      std::uint8_t *const bytes = scratch.bytes.of(some_bytes);
      if (!file_.read(next_, bytes, some_bytes))
        return std::nullopt;
      const auto page = read_page_header({bytes, static_cast<std::size_t>(some_bytes)});
      if (page || some_bytes == left)
        return page;
    }
    return std::nullopt;
  }

  // Goes on to the next page.
  bool open_page(Scratch &scratch) {
    const Index end = chunk_.offset + chunk_.size;
    if (left_ == 0 || next_ >= end)
      return false;
    const auto page = header(scratch);
    if (!page || page->packed > end - next_ - page->header)
      return false;
    const Index body = next_ + page->header;
    next_ = body + page->packed;
    look_ahead(body);
    if (page->kind == Page::dictionary)
      return read_dictionary(*page, body, scratch);
    if (page->kind == Page::index)
      return true;
    if (!page->of_data() || page->values < 0 || page->values > left_ || page->size > 9 * page->values + 1024)
      return false;
    left_ -= page->values;
    page_left_ = page->values;
    const bool compressed = chunk_.packed && (page->kind == Page::data || page->compressed);
    if (page->encoding == Page::plain && !compressed)
      return open_in_file(*page, body, scratch);
    return load(*page, body, compressed, page_.of(page->size), scratch) && open_in_memory(*page);
  }

  // Levels of the first version have their length before them; in the second the header has it.
  bool has_levels(const Page &page) const { return chunk_.optional && page.kind == Page::data; }

  static Index length_at(Bytes at) { return static_cast<Index>(snappy::little_endian(at, 4)); }

  bool levels_claimed(const Page &page) const {
    if (page.kind == Page::data)
      return page.levels == Page::runs || !chunk_.optional;
    return page.nulls == 0 && page.repetition_bytes == 0 && page.level_bytes >= 0 && page.level_bytes <= page.size &&
           page.level_bytes <= page.packed;
  }

  // The levels of a page, at `at` without their length, say that no value is missing.
  static bool none_missing(const Page &page, Bytes at, Index size) {
    return (page.kind == Page::data_2 && size == 0) ||
           BitRuns({at, static_cast<std::size_t>(size)}, 1).all_ones(page.values);
  }

  // Plain numbers, which are read when they are needed.
  bool open_in_file(const Page &page, Index body, Scratch &scratch) {
    if (!levels_claimed(page))
      return false;
    Index length = page.kind == Page::data_2 ? page.level_bytes : 0, before = 0;
    if (has_levels(page)) {
      std::uint8_t size[4];
      if (page.packed < 4 || !file_.read(body, size, 4))
        return false;
      length = length_at(size);
      before = 4;
    }
    if (length > most_levels || before + length + page.values * width() != page.packed)
      return false;
    if (before + length > 0) {
      std::uint8_t *const levels = scratch.bytes.of(length);
      if (!file_.read(body + before, levels, length) || !none_missing(page, levels, length))
        return false;
    }
    page_at_ = body + before + length;
    source_ = Source::file;
    return true;
  }

  // The whole page as it was before it was packed.
  bool load(const Page &page, Index body, bool compressed, std::uint8_t *bytes, Scratch &scratch) {
    if (!compressed)
      return page.packed == page.size && file_.read(body, bytes, page.size);
    // levels of the second version are not packed
    const Index levels = page.kind == Page::data_2 ? page.level_bytes : 0;
    if (levels < 0 || levels > page.size || levels > page.packed)
      return false;
    std::uint8_t *const packed = scratch.bytes.of(page.packed);
    if (!file_.read(body, packed, page.packed))
      return false;
    std::copy_n(packed, levels, bytes);
    return unpack_snappy({packed + levels, static_cast<std::size_t>(page.packed - levels)},
                         {bytes + levels, static_cast<std::size_t>(page.size - levels)});
  }

  bool open_in_memory(const Page &page) {
    if (!levels_claimed(page))
      return false;
    Index length = page.kind == Page::data_2 ? page.level_bytes : 0, before = 0;
    if (has_levels(page)) {
      if (page.size < 4)
        return false;
      length = length_at(page_.data());
      before = 4;
    }
    const Index size = page.size - before - length;
    if (size < 0 || (before + length > 0 && !none_missing(page, page_.data() + before, length)))
      return false;
    page_at_ = before + length;
    if (page.encoding == Page::plain) {
      source_ = Source::memory;
      return size == page.values * width();
    }
    if ((page.encoding != Page::by_dictionary && page.encoding != Page::old_dictionary) || size < 1)
      return false;
    const unsigned bits = page_.data()[page_at_];
    source_ = Source::dictionary;
    places_ = BitRuns({page_.data() + page_at_ + 1, static_cast<std::size_t>(size - 1)}, bits);
    return bits <= 32;
  }

  bool read_dictionary(const Page &page, Index body, Scratch &scratch) {
    const bool plain = page.encoding == Page::plain || page.encoding == Page::old_dictionary;
    if (!plain || page.values < 0 || page.values > chunk_.values || page.size != page.values * width())
      return false;
    entries_ = page.values;
    std::uint8_t *const entries = dictionary_.of(page.values * static_cast<Index>(sizeof(T)));
    if (stored_as_T())
      return load(page, body, chunk_.packed, entries, scratch);
    return load(page, body, chunk_.packed, page_.of(page.size), scratch) &&
           convert(page_.data(), page.values, reinterpret_cast<T *>(entries));
  }

  bool look_up(Scratch &scratch, Index count, T *out) {
    auto *const places = reinterpret_cast<std::uint32_t *>(scratch.places.of(some * 4));
    if (!places_.read({places, static_cast<std::size_t>(count)}))
      return false;
    std::uint32_t largest = 0;
    for (Index i = 0; i < count; ++i)
      largest = std::max(largest, places[i]);
    if (static_cast<Index>(largest) >= entries_)
      return false;
    const T *const entries = reinterpret_cast<const T *>(dictionary_.data());
    for (Index i = 0; i < count; ++i)
      out[i] = entries[places[i]];
    return true;
  }

  template <class S> static bool converted(Bytes raw, Index count, T *out) {
    bool exact = true;
    for (Index i = 0; i < count; ++i) {
      S value;
      std::memcpy(&value, raw + i * static_cast<Index>(sizeof(S)), sizeof value);
      if constexpr (std::is_same_v<S, std::int64_t>) {
        constexpr auto limit = static_cast<std::int64_t>(exact_whole);
        exact = exact && value <= limit && value >= -limit;
      }
      out[i] = static_cast<T>(value);
    }
    return exact;
  }

  bool convert(Bytes raw, Index count, T *out) const {
    if (chunk_.stored == Stored::float32)
      return converted<float>(raw, count, out);
    if constexpr (std::is_same_v<T, double>) {
      if (chunk_.stored == Stored::float64)
        return converted<double>(raw, count, out);
      if (chunk_.stored == Stored::int64)
        return converted<std::int64_t>(raw, count, out);
      return converted<std::int32_t>(raw, count, out);
    }
    return false;
  }

  FileBytes file_;
  Chunk chunk_;
  Index ahead_;               // so many bytes are asked for before they are needed
  Index next_, asked_, left_; // the next page, what the system was asked for, values of pages that are not open
  Source source_ = Source::memory;
  Index page_left_ = 0;            // values of the open page that were not available yet
  Index page_at_ = 0;              // where they are in the file or in page_
  Room page_, ready_, dictionary_; // the open page, the values available, all values that places stand for
  Index entries_ = 0;              // of the dictionary
  BitRuns places_;                 // in it
  Bytes values_ = nullptr;
  Index available_ = 0;
};

// The chunks of some columns of a row group, side by side.
template <class T> class ParquetColumns {
public:
  ParquetColumns(int descriptor, const std::vector<Chunk> &chunks) {
    constexpr Index most = 1 << 20, all = 1 << 25; // bytes asked for of a column, and of all
    const Index ahead = std::clamp<Index>(all / std::max<Index>(1, static_cast<Index>(chunks.size())), 1 << 16, most);
    for (const Chunk &chunk : chunks)
      columns_.emplace_back(FileBytes(descriptor), chunk, ahead);
  }

  ParquetColumns(const ParquetColumns &) = delete;
  ParquetColumns &operator=(const ParquetColumns &) = delete;

  Index columns() const { return static_cast<Index>(columns_.size()); }

  // The next rows, `step` entries apart; false where they are not claimed, and nothing more can be read. Threads have
  // some columns each, so that none waits for another.
  bool read(T *out, Index rows, Index step, int threads) {
    constexpr Index least = 4; // columns that are worth a thread
    const Index p = columns(), parts = std::clamp<Index>(p / least, 1, threads);
    if (static_cast<Index>(scratch_.size()) < parts)
      scratch_.resize(static_cast<std::size_t>(parts));
    std::atomic<bool> claimed = true;
    parallel(parts, threads, [&](Index part, int) {
      const Index begin = p * part / parts, end = p * (part + 1) / parts;
      if (!fill(begin, end, out + begin, rows, step, scratch_[static_cast<std::size_t>(part)]))
        claimed = false;
    });
    return claimed;
  }

private:
  bool fill(Index begin, Index end, T *out, Index rows, Index step, Scratch &scratch) {
    std::vector<Bytes> values(static_cast<std::size_t>(end - begin));
    for (Index done = 0; done < rows;) {
      Index count = rows - done;
      for (Index j = begin; j < end; ++j) {
        ChunkReader<T> &column = columns_[static_cast<std::size_t>(j)];
        if (column.available() == 0 && !column.refill(scratch))
          return false;
        count = std::min(count, column.available());
        values[static_cast<std::size_t>(j - begin)] = column.values();
      }
      put_rows<T>(values, 0, count, out + done * step, step);
      for (Index j = begin; j < end; ++j)
        columns_[static_cast<std::size_t>(j)].advance(count);
      done += count;
    }
    return true;
  }

  std::vector<ChunkReader<T>> columns_;
  std::vector<Scratch> scratch_;
};

} // namespace tenfold
