#include "tenfold/mlp_kernels.hpp"

#include "tenfold/isa_kernels.hpp"

#include <cstring>
#include <type_traits>

namespace tenfold {

#define TENFOLD_DECLARE(isa)                                                                                           \
  namespace isa {                                                                                                      \
  const char *mlp_name();                                                                                              \
  const MlpKernels<float> &mlp_float32();                                                                              \
  const MlpKernels<double> &mlp_float64();                                                                             \
  }

#if defined(__x86_64__)
TENFOLD_DECLARE(x86_64_v2)
TENFOLD_DECLARE(x86_64_v3)
TENFOLD_DECLARE(x86_64_v4)
#else
TENFOLD_DECLARE(baseline)
#endif

#undef TENFOLD_DECLARE

namespace {

template <class T>
const MlpKernels<T> &of_type(const MlpKernels<float> &(*single)(), const MlpKernels<double> &(*both)()) {
  if constexpr (std::is_same_v<T, float>)
    return single();
  else
    return both();
}

} // namespace

template <class T> const MlpKernels<T> &mlp_kernels() {
#if defined(__x86_64__)
  const char *name = kernels().name;
  if (std::strcmp(name, x86_64_v4::mlp_name()) == 0)
    return of_type<T>(x86_64_v4::mlp_float32, x86_64_v4::mlp_float64);
  if (std::strcmp(name, x86_64_v3::mlp_name()) == 0)
    return of_type<T>(x86_64_v3::mlp_float32, x86_64_v3::mlp_float64);
  return of_type<T>(x86_64_v2::mlp_float32, x86_64_v2::mlp_float64);
#else
  return of_type<T>(baseline::mlp_float32, baseline::mlp_float64);
#endif
}

template const MlpKernels<float> &mlp_kernels<float>();
template const MlpKernels<double> &mlp_kernels<double>();

} // namespace tenfold
