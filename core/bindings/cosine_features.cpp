#include "tenfold/cosine_features.hpp"

#include "bindings.hpp"

namespace tenfold {
namespace {

template <class T> using Changed = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T> void bind(nb::module_ &m) {
  m.def(
      "cosine_features",
      [](const In<T, 2> &x, const In<T, 2> &w, const In<T, 1> &offset, double scale, int threads) {
        constexpr Index limit = 2147483647;
        const Index n = x.shape(0), p = x.shape(1), columns = w.shape(1);
        require(w.shape(0) == p && offset.shape(0) == columns, "w must be (p, K) and offset (K,)");
        require(p >= 1 && p <= limit && columns >= 1 && columns <= limit, "p and K must be from 1 to 2^31 - 1");
        const Blas &blas = scipy_blas();
        Out<T, 2> z({n, columns});
        const int count = checked_threads(threads);
        {
          const nb::gil_scoped_release release;
          cosine_features(blas, Dense<T>{x.data(), n, p}, w.data(), columns, offset.data(), scale, z.span().data(),
                          count);
        }
        return z.give();
      },
      nb::arg("x"), nb::arg("w"), nb::arg("offset"), nb::arg("scale"), nb::arg("threads"),
      "scale cos(x w + offset), (n, K), for x (n, p) and w (p, K).");
  m.def(
      "take_cosines",
      [](Changed<T> z, const In<T, 1> &offset, double scale, int threads) {
        const Index n = static_cast<Index>(z.shape(0)), columns = static_cast<Index>(z.shape(1));
        require(offset.shape(0) == columns, "offset must be (K,)");
        const int count = checked_threads(threads);
        const nb::gil_scoped_release release;
        take_cosines(z.data(), n, columns, offset.data(), scale, count);
      },
      nb::arg("z").noconvert(), nb::arg("offset"), nb::arg("scale"), nb::arg("threads"),
      "z = scale cos(z + offset) in place, for z (n, K).");
}

} // namespace

void bind_cosine_features(nb::module_ &m) {
  bind<float>(m);
  bind<double>(m);
}

} // namespace tenfold
