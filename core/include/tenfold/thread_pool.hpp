// One small thread pool for all loops of the process.
//
// parallel(count, threads, body) calls body(item, worker) once for every item in [0, count), on at most `threads`
// threads, the caller among them; worker is in [0, threads) and no two calls with the same worker overlap. Which thread
// gets which item is not fixed, so whoever needs equal bits writes the result of an item to a place of its own and
// merges in the order of the items.
//
// The threads start at the first need and sleep between calls. Several callers may be inside at once: each works on its
// own items and needs no helper to finish, so nothing can wait in a circle. After a fork the child starts afresh. The
// first exception that a body throws is thrown again in the caller once all running bodies have returned.
#pragma once

#include "tenfold/types.hpp"

#include <algorithm>
#include <type_traits>

namespace tenfold {

using Body = void (*)(void *context, Index item, int worker);

void run_on_pool(Index count, int threads, Body body, void *context);

template <class F> void parallel(Index count, int threads, F &&body) {
  using Function = std::remove_reference_t<F>;
  const int wanted = static_cast<int>(std::min<Index>(threads, count));
  if (wanted <= 1) {
    for (Index item = 0; item < count; ++item)
      body(item, 0);
    return;
  }
  run_on_pool(
      count, wanted, [](void *context, Index item, int worker) { (*static_cast<Function *>(context))(item, worker); },
      &body);
}

// Tells the processor that this thread waits for another.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Threads that the pool has started in this process so far.
int pool_size();

} // namespace tenfold
