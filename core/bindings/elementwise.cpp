#include "bindings.hpp"

#include "tenfold/isa_kernels.hpp"

namespace tenfold {
namespace {

template <class T> using Function = void (*DenseKernels<T>::*)(const T *, T *, Index);

template <class T> void bind(nb::module_ &m, const char *name, Function<T> function, const char *description) {
  m.def(
      name,
      [function](const In<T, 1> &x) {
        Out<T, 1> y({x.shape(0)});
        (kernels().dense<T>().*function)(x.data(), y.span().data(), x.shape(0));
        return y.give();
      },
      nb::arg("x"), description);
}

template <class T> void bind_all(nb::module_ &m) {
  bind<T>(m, "exp", &DenseKernels<T>::exp, "exp(x), entry by entry.");
  bind<T>(m, "log1p", &DenseKernels<T>::log1p, "log(1 + x), entry by entry.");
  bind<T>(m, "sigmoid", &DenseKernels<T>::sigmoid, "1 / (1 + exp(-x)), entry by entry.");
  bind<T>(m, "softplus", &DenseKernels<T>::softplus, "log(1 + exp(x)), entry by entry.");
}

} // namespace

void bind_elementwise(nb::module_ &m) {
  bind_all<float>(m);
  bind_all<double>(m);
}

} // namespace tenfold
