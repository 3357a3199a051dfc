// One thread pool for all loops of the process.
//
// parallel(count, threads, body) calls body(item, worker) once for every item in [0, count) on at most `threads`
// threads, the caller among them; worker is in [0, threads), and no two concurrent calls share a worker. The assignment
// of items to threads is dynamic, so reproducible callers write the result of an item to its own memory and reduce in
// item order.
//
// Threads start on demand and sleep between calls. Concurrent and nested calls are allowed: each caller can finish its
// own items without a helper, so there is no deadlock. After fork the child starts a new pool. The first exception
// thrown by a body is rethrown in the caller after all running bodies have returned.
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

// Spin-wait hint of the CPU.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Number of threads that the pool has started in this process.
int pool_size();

} // namespace tenfold
