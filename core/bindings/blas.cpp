// The BLAS bridge: SciPy publishes its BLAS as capsules whose names are the C signatures.
#include "bindings.hpp"

#include <atomic>

namespace tenfold {
namespace {

constexpr const char *dgemm_signature =
    "void (char *, char *, int *, int *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_d *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, int *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_d *, __pyx_t_5scipy_6linalg_11cython_blas_d *, int *)";

std::atomic<bool> ready{false};

void *pointer(nb::handle capsules, const char *name, const char *signature) {
  const nb::object capsule = capsules[name];
  const char *found = PyCapsule_GetName(capsule.ptr());
  if (found == nullptr || std::string(found) != signature) {
    PyErr_Clear();
    throw nb::import_error((std::string("scipy.linalg.cython_blas offers ") + name + " as '" +
                            (found != nullptr ? found : "") + "', but tenfold was built for '" + signature +
                            "'; install a SciPy whose BLAS takes 32-bit integers")
                               .c_str());
  }
  return PyCapsule_GetPointer(capsule.ptr(), signature);
}

} // namespace

const Blas &scipy_blas() {
  static Blas blas; // filled and read under the GIL
  if (blas.dgemm == nullptr) {
    const nb::object capsules = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
    blas.dgemm = reinterpret_cast<Dgemm>(pointer(capsules, "dgemm", dgemm_signature));
    ready.store(true);
  }
  return blas;
}

void bind_blas(nb::module_ &m) {
  m.def("blas_bridge_ready", [] { return ready.load(); }, "Whether SciPy's BLAS has been taken in yet.");
  m.def("load_blas_bridge", [] { scipy_blas(); }, "Takes SciPy's BLAS in now instead of at the first need.");
}

} // namespace tenfold
