// Cancellation: long loops poll a hook that may throw (signals, time limits).
#pragma once

namespace tenfold {

// The hook: it throws to cancel the loop. Set once, before any loop runs; null in the core alone.
inline void (*poll_hook)() = nullptr;

// Called by the thread that entered the loop, never inside `parallel`; costs one read of the clock.
inline void poll() {
  if (poll_hook != nullptr)
    poll_hook();
}

} // namespace tenfold
