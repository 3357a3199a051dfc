#include "tenfold/isa_kernels.hpp"

#include <array>
#include <atomic>

namespace tenfold {

#if defined(__x86_64__)
namespace x86_64_v2 {
const Kernels &table();
}
namespace x86_64_v3 {
const Kernels &table();
}
namespace x86_64_v4 {
const Kernels &table();
}
#else
namespace baseline {
const Kernels &table();
}
#endif

namespace {

struct Candidate {
  const Kernels *kernels;
  bool supported;
};

// Best first.
const auto &candidates() {
#if defined(__x86_64__)
  static const std::array<Candidate, 3> list = {{
      {&x86_64_v4::table(), __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                                __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2")},
      {&x86_64_v3::table(), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")},
      {&x86_64_v2::table(), true},
  }};
#else
  static const std::array<Candidate, 1> list = {{{&baseline::table(), true}}};
#endif
  return list;
}

std::atomic<const Kernels *> chosen{nullptr};

} // namespace

const Kernels &kernels() {
  const Kernels *current = chosen.load(std::memory_order_acquire);
  if (current != nullptr)
    return *current;
  for (const Candidate &candidate : candidates())
    if (candidate.supported) {
      chosen.store(candidate.kernels, std::memory_order_release);
      return *candidate.kernels;
    }
  return *candidates().back().kernels;
}

std::vector<std::string_view> available_kernels() {
  std::vector<std::string_view> names;
  for (const Candidate &candidate : candidates())
    if (candidate.supported)
      names.emplace_back(candidate.kernels->name);
  return names;
}

bool select_kernels(std::string_view name) {
  for (const Candidate &candidate : candidates())
    if (candidate.supported && name == candidate.kernels->name) {
      chosen.store(candidate.kernels, std::memory_order_release);
      return true;
    }
  return false;
}

} // namespace tenfold
