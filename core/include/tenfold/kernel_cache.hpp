// Rows of a kernel matrix in a bounded cache, by segments: samples are sorted into segments (classes), and the values
// of one sample with the samples of one segment are an entry. A problem on some segments (a pair of classes) reads the
// entries of these alone, and the entry of a sample with its own class serves every pair of the class.
//
// The least recently used entries make room for others; those of one request stay together. Missing entries are
// evaluated by tiles of samples (pair_blocks.hpp), or by a function of the caller. Bytes: those of the cache, and for
// tiles the samples once more in T.
#pragma once

#include "tenfold/pair_blocks.hpp"
#include "tenfold/poll.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tenfold {

// Values of some samples with all samples of a segment, each to a place of its own.
template <class T> class KernelSource {
public:
  virtual ~KernelSource() = default;
  virtual void fill(std::span<const Index> samples, Index segment, T *const *out) = 0;
};

template <class T, class Value> struct PairsOf {
  using Type = ProductPairs<T, T>;
};
template <class T> struct PairsOf<T, float> {
  using Type = SinglePairs<T, T>;
};

// Tiles of a function of pairs of dense samples X, in float32 or float64 products as Value says.
template <class X, class Pairs, class Value> class TileSource : public KernelSource<Value> {
public:
  // `make(x, queries)` makes the pairs of a segment; at most `together` samples are asked for at once inside.
  template <class Make>
  TileSource(Dense<X> x, std::span<const Index> starts, const PairFunction &function, int threads, const Make &make)
      : x_(x), function_(function), threads_(threads), queries_(static_cast<std::size_t>(together * x.columns)) {
    for (std::size_t s = 0; s + 1 < starts.size(); ++s)
      pairs_.push_back(
          std::make_unique<Pairs>(make(Dense<X>{x.data + starts[s] * x.columns, starts[s + 1] - starts[s], x.columns},
                                       Dense<X>{queries_.data(), together, x.columns})));
  }

  void fill(std::span<const Index> samples, Index segment, Value *const *out) override {
    const Pairs &pairs = *pairs_[static_cast<std::size_t>(segment)];
    const Index total = static_cast<Index>(samples.size());
    for (Index first = 0; first < total; first += together) {
      const Index count = std::min(together, total - first);
      for (Index i = 0; i < count; ++i)
        std::copy_n(x_.data + samples[static_cast<std::size_t>(first + i)] * x_.columns, x_.columns,
                    queries_.data() + i * x_.columns);
      fill_some(pairs, count, out + first);
      poll();
    }
  }

private:
  static constexpr Index together = 256;

  void fill_some(const Pairs &pairs, Index count, Value *const *out) {
    const Index n = pairs.samples(), width = pairs.tile_samples(), strip = std::max<Index>(1, 4096 / width) * width;
    const Index rows = (count + Pairs::tile_queries - 1) / Pairs::tile_queries, columns = (n + strip - 1) / strip;
    parallel(rows * columns, n * count * x_.columns < 1 << 16 ? 1 : threads_, [&](Index item, int) {
      PairTile<Pairs> tile(pairs);
      const Index i = item % rows * Pairs::tile_queries, some = std::min(Pairs::tile_queries, count - i);
      const Index end = std::min(n, (item / rows + 1) * strip);
      pairs.start(tile.work(), i, some);
      for (Index b = item / rows * strip; b < end; b += width) {
        const Index those = std::min(width, end - b);
        pairs.fill(tile.work(), b, those, tile.row(0), tile.stride());
        for (Index k = 0; k < some; ++k) {
          function_(tile.row(k), those);
          Value *to = out[i + k] + b;
          for (Index j = 0; j < those; ++j)
            to[j] = static_cast<Value>(tile.row(k)[j]);
        }
      }
    });
  }

  Dense<X> x_;
  PairFunction function_;
  int threads_;
  std::vector<X> queries_;
  std::vector<std::unique_ptr<Pairs>> pairs_;
};

// Values by a function of the caller.
template <class T> class CalledSource : public KernelSource<T> {
public:
  using Call = std::function<void(std::span<const Index>, Index, T *const *)>;
  explicit CalledSource(Call call) : call_(std::move(call)) {}
  void fill(std::span<const Index> samples, Index segment, T *const *out) override { call_(samples, segment, out); }

private:
  Call call_;
};

template <class T> class KernelCache {
public:
  KernelCache(std::unique_ptr<KernelSource<T>> source, std::vector<Index> starts, double bytes, int threads)
      : source_(std::move(source)), starts_(std::move(starts)), bytes_(bytes), threads_(threads),
        place_(static_cast<std::size_t>(samples() * segments()), -1) {}

  Index segments() const { return static_cast<Index>(starts_.size()) - 1; }
  Index samples() const { return starts_.back(); }
  Index start(Index segment) const { return starts_[static_cast<std::size_t>(segment)]; }
  Index length(Index segment) const { return start(segment + 1) - start(segment); }
  double bytes() const { return bytes_; }
  int threads() const { return threads_; }
  // Values that were evaluated.
  double evaluated() const { return evaluated_; }
  // Entries that made room for others: while it does not grow, all that `get` gave are valid.
  Index dropped() const { return dropped_; }
  void clear() {
    while (oldest_ >= 0)
      drop(oldest_);
  }

  // The entries of these samples with a segment. They stay valid until the capacity is filled by later requests
  // (`dropped`); the requests of one round must fit together.
  void get(std::span<const Index> samples, Index segment, std::vector<const T *> &out) {
    out.resize(samples.size());
    missing_.clear(), places_.clear();
    for (std::size_t k = 0; k < samples.size(); ++k) {
      std::int32_t &at = place_[static_cast<std::size_t>(samples[k] * segments() + segment)];
      if (at < 0) {
        at = take(samples[k] * segments() + segment, length(segment));
        missing_.push_back(samples[k]);
        places_.push_back(entries_[static_cast<std::size_t>(at)].values.data());
      } else
        touch(at);
      out[k] = entries_[static_cast<std::size_t>(at)].values.data();
    }
    if (missing_.empty())
      return;
    try {
      source_->fill(missing_, segment, places_.data());
    } catch (...) { // what is not filled does not count
      for (const Index sample : missing_)
        drop(place_[static_cast<std::size_t>(sample * segments() + segment)]);
      throw;
    }
    evaluated_ += static_cast<double>(missing_.size()) * static_cast<double>(length(segment));
  }

private:
  struct Entry {
    std::vector<T, UninitializedAllocator<T>> values;
    Index key = -1;
    std::int32_t before = -1, after = -1;
  };

  Entry &entry(std::int32_t at) { return entries_[static_cast<std::size_t>(at)]; }
  double size_of(const Entry &e) const { return static_cast<double>(e.values.size() * sizeof(T)); }

  void unlink(std::int32_t at) {
    Entry &e = entry(at);
    (e.before >= 0 ? entry(e.before).after : newest_) = e.after;
    (e.after >= 0 ? entry(e.after).before : oldest_) = e.before;
  }
  void link(std::int32_t at) {
    Entry &e = entry(at);
    e.before = -1, e.after = newest_;
    (newest_ >= 0 ? entry(newest_).before : oldest_) = at;
    newest_ = at;
  }
  void touch(std::int32_t at) { unlink(at), link(at); }
  void drop(std::int32_t at) {
    unlink(at);
    Entry &e = entry(at);
    place_[static_cast<std::size_t>(e.key)] = -1;
    used_ -= size_of(e);
    e.values = {};
    ++dropped_;
    free_.push_back(at);
  }
  std::int32_t take(Index key, Index length) {
    const double wanted = static_cast<double>(length) * sizeof(T);
    while (oldest_ >= 0 && used_ + wanted > bytes_)
      drop(oldest_);
    if (free_.empty()) {
      entries_.emplace_back();
      free_.push_back(static_cast<std::int32_t>(entries_.size() - 1));
    }
    const std::int32_t at = free_.back();
    free_.pop_back();
    Entry &e = entry(at);
    e.values.resize(static_cast<std::size_t>(length));
    e.key = key;
    used_ += wanted;
    link(at);
    return at;
  }

  std::unique_ptr<KernelSource<T>> source_;
  std::vector<Index> starts_;
  double bytes_, used_ = 0.0, evaluated_ = 0.0;
  int threads_;
  Index dropped_ = 0;
  std::vector<std::int32_t> place_, free_;
  std::vector<Entry> entries_;
  std::int32_t newest_ = -1, oldest_ = -1;
  std::vector<Index> missing_;
  std::vector<T *> places_;
};

} // namespace tenfold
