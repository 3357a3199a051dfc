// Sequential updates over rows in random order, with the cache misses of several threads.
//
// A row in random order costs a trip to memory, which takes longer than its arithmetic, and one core has few
// outstanding misses. So the rows are cut into chunks that threads take in turn: one processes its chunk while the
// others prefetch theirs into their own caches. Chunks are processed in order, one at a time, so the bits are those of
// one thread.
//
// On a busy machine the thread whose turn it is may be descheduled. A thread that has waited too long processes the
// pending chunks itself: a chunk is processed by exactly one thread, not necessarily the one that prefetched it.
// Neither callback may throw.
#pragma once

#include "tenfold/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace tenfold {

// Whether helper threads have misses to hide: dense rows that exceed the cache.
template <class T> bool should_prefetch(const Dense<T> &x, int threads) {
  constexpr double min_bytes = 8e6; // bytes
  return threads > 1 && static_cast<double>(x.rows) * static_cast<double>(x.columns) * sizeof(T) > min_bytes;
}

// Grants chunks in order, to one thread at a time.
class ChunkSequencer {
public:
  static constexpr std::size_t line = 128; // bytes: two cache lines, which are prefetched in pairs

  bool is_done(Index chunk) const { return next_.load(std::memory_order_acquire) > chunk; }

  // Processes everything up to `chunk`: it alone, unless earlier chunks belong to descheduled threads.
  template <class Process> void process_through(Index chunk, const Process &process) {
    if (!acquire(chunk))
      return;
    for (Index now = next_.load(std::memory_order_relaxed); now <= chunk; ++now) {
      process(now);
      next_.store(now + 1, std::memory_order_release);
    }
    busy_.store(false, std::memory_order_release);
  }

private:
  // True when this thread holds the lock and `chunk` is pending; false when another thread has processed it.
  bool acquire(Index chunk) {
    constexpr auto timeout = std::chrono::microseconds(100); // until the owner counts as descheduled
    const auto begin = std::chrono::steady_clock::now();
    for (bool timed_out = false;; timed_out = std::chrono::steady_clock::now() - begin > timeout) {
      for (int i = 0; i < 16; ++i) {
        const Index next = next_.load(std::memory_order_acquire);
        if (next > chunk)
          return false;
        if ((next == chunk || timed_out) && !busy_.exchange(true, std::memory_order_acq_rel)) {
          if (!is_done(chunk))
            return true;
          busy_.store(false, std::memory_order_release);
          return false;
        }
        pause();
      }
      if (timed_out)
        std::this_thread::yield();
    }
  }

  // on a cache line of their own: waiting threads spin on them
  alignas(line) std::atomic<Index> next_{0};
  std::atomic<bool> busy_{false};
};

// prefetch(begin, end) and process(begin, end) work on positions [begin, end), in chunks of 256 KiB of rows. What
// prefetch reads must not share cache lines with what process writes (false sharing): give it copies. It should return
// when the last row has arrived: a thread that waits for its turn with many misses in flight slows both threads down.
template <class Prefetch, class Process>
void process_prefetched(Index begin, Index end, Index bytes_per_row, int threads, const Prefetch &prefetch,
                        const Process &process) {
  constexpr Index chunk_bytes = 1 << 18, max_threads = 4; // of a chunk; more threads only wait for their turn
  struct alignas(ChunkSequencer::line) State {
    Index first(Index chunk) const { return std::min(end, begin + chunk * rows); }
    Index begin, end, rows;
    Prefetch prefetch;
    Process process;
    ChunkSequencer sequencer;
  };
  State state{begin, end, std::max<Index>(16, chunk_bytes / std::max<Index>(1, bytes_per_row)), prefetch, process, {}};
  const Index chunks = (end - begin + state.rows - 1) / state.rows;
  parallel(chunks, static_cast<int>(std::min<Index>(threads, max_threads)), [&state](Index chunk, int) {
    if (state.sequencer.is_done(chunk))
      return;
    state.prefetch(state.first(chunk), state.first(chunk + 1));
    state.sequencer.process_through(chunk, [&](Index now) { state.process(state.first(now), state.first(now + 1)); });
  });
}

} // namespace tenfold
