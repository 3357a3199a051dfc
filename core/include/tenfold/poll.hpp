// Long loops look now and then whether they are to end.
#pragma once

namespace tenfold {

// What a look is: it throws to end the loop. Set once, before any loop runs; the core alone has none.
inline void (*look)() = nullptr;

// For the thread that called the loop, never inside `parallel`; costs a reading of the clock.
inline void poll() {
  if (look != nullptr)
    look();
}

} // namespace tenfold
