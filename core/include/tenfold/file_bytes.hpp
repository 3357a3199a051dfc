// Bytes of an open file, at any place, by any thread. Nothing here owns the file.
#pragma once

#include "tenfold/types.hpp"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

namespace tenfold {

class FileBytes {
public:
  explicit FileBytes(int descriptor) : descriptor_(descriptor) {}

  // Exactly so many bytes; false where the file ends before, or cannot be read.
  bool read(Index offset, std::uint8_t *to, Index size) const {
    while (size > 0) {
      const Index count = ::pread(descriptor_, to, static_cast<std::size_t>(size), offset);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return false;
      offset += count;
      to += count;
      size -= count;
    }
    return true;
  }

  // Tells the system that these bytes will be read soon, and waits for nothing.
  void soon([[maybe_unused]] Index offset, [[maybe_unused]] Index size) const {
#if defined(POSIX_FADV_WILLNEED)
    static_cast<void>(::posix_fadvise(descriptor_, offset, size, POSIX_FADV_WILLNEED));
#endif
  }

private:
  int descriptor_;
};

} // namespace tenfold
