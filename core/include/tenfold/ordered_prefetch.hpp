// Rows that a learner takes one after the other, in an order that jumps about, by several threads in turn.
//
// A row that is not where the last one was costs a trip to memory, which takes much longer than its arithmetic, and one
// core can wait for only so many at once. So the rows are cut into chunks, and threads take chunks in turn: while one
// learns from its own, the others bring theirs into their own caches. The weights go from hand to hand in the order of
// the chunks, and the bits are those of one thread.
//
// On a busy machine a thread may sleep when its turn comes. Whoever has waited for long learns from its chunk too: a
// chunk is learned from by one thread, but it need not be the one that brought it. Neither bring nor learn may throw.
#pragma once

#include "tenfold/thread_pool.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace tenfold {

// Whether other threads would have something to do: dense rows in more memory than a cache holds.
template <class T> bool turns_pay(const Dense<T> &x, int threads) {
  constexpr double large = 8e6;
  return threads > 1 && static_cast<double>(x.rows) * static_cast<double>(x.columns) * sizeof(T) > large;
}

// Who may learn, and from which chunk.
class Turns {
public:
  static constexpr std::size_t line = 128; // two, for they come in pairs

  bool is_over(Index chunk) const { return next_.load(std::memory_order_acquire) > chunk; }

  // Learns up to `chunk`, that is from it alone unless those before it were left by a thread that sleeps.
  template <class Learn> void take(Index chunk, const Learn &learn) {
    if (!wait_for(chunk))
      return;
    for (Index now = next_.load(std::memory_order_relaxed); now <= chunk; ++now) {
      learn(now);
      next_.store(now + 1, std::memory_order_release);
    }
    busy_.store(false, std::memory_order_release);
  }

private:
  // True when it is this thread's turn, and then it is busy; false when another one has learned from the chunk.
  bool wait_for(Index chunk) {
    constexpr auto patience = std::chrono::microseconds(100);
    const auto begin = std::chrono::steady_clock::now();
    for (bool long_ago = false;; long_ago = std::chrono::steady_clock::now() - begin > patience) {
      for (int i = 0; i < 16; ++i) {
        const Index next = next_.load(std::memory_order_acquire);
        if (next > chunk)
          return false;
        if ((next == chunk || long_ago) && !busy_.exchange(true, std::memory_order_acq_rel)) {
          if (!is_over(chunk))
            return true;
          busy_.store(false, std::memory_order_release);
          return false;
        }
        pause();
      }
      if (long_ago)
        std::this_thread::yield();
    }
  }

  // on a line of their own: those who wait look at them all the time
  alignas(line) std::atomic<Index> next_{0};
  std::atomic<bool> busy_{false};
};

// bring(begin, end) and learn(begin, end) for positions [begin, end) in chunks of so many rows as a cache holds. What
// bring reads must not lie beside what learn writes, or the lines go back and forth: give it copies. It should end when
// the last row is there: a thread that begins to wait for its turn with many rows on their way slows both down.
template <class Bring, class Learn>
void in_turns(Index begin, Index end, Index bytes_a_row, int threads, const Bring &bring, const Learn &learn) {
  constexpr Index bytes = 1 << 18, most_threads = 4; // more would wait for the one that learns
  struct alignas(Turns::line) Shared {
    Index first(Index chunk) const { return std::min(end, begin + chunk * rows); }
    Index begin, end, rows;
    Bring bring;
    Learn learn;
    Turns turns;
  };
  Shared shared{begin, end, std::max<Index>(16, bytes / std::max<Index>(1, bytes_a_row)), bring, learn, {}};
  const Index chunks = (end - begin + shared.rows - 1) / shared.rows;
  parallel(chunks, static_cast<int>(std::min<Index>(threads, most_threads)), [&shared](Index chunk, int) {
    if (shared.turns.is_over(chunk))
      return;
    shared.bring(shared.first(chunk), shared.first(chunk + 1));
    shared.turns.take(chunk, [&](Index now) { shared.learn(shared.first(now), shared.first(now + 1)); });
  });
}

} // namespace tenfold
