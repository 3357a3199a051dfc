// BLAS and LAPACK of SciPy, published as capsules whose names are the C signatures.
#include "bindings.hpp"

#include <atomic>

namespace tenfold {
namespace {

constexpr const char *dgemm_signature =
    "void (char *, char *, int *, int *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_d *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, int *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_d *, __pyx_t_5scipy_6linalg_11cython_blas_d *, int *)";

constexpr const char *sgemm_signature =
    "void (char *, char *, int *, int *, int *, __pyx_t_5scipy_6linalg_11cython_blas_s *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_s *, int *, __pyx_t_5scipy_6linalg_11cython_blas_s *, int *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_s *, __pyx_t_5scipy_6linalg_11cython_blas_s *, int *)";

constexpr const char *dtrsm_signature =
    "void (char *, char *, char *, char *, int *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_d *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, int *)";
constexpr const char *dtrsv_signature =
    "void (char *, char *, char *, int *, __pyx_t_5scipy_6linalg_11cython_blas_d *, int *, "
    "__pyx_t_5scipy_6linalg_11cython_blas_d *, int *)";

constexpr const char *dpotrf_signature =
    "void (char *, int *, __pyx_t_5scipy_6linalg_13cython_lapack_d *, int *, int *)";
constexpr const char *dpotrs_signature =
    "void (char *, int *, int *, __pyx_t_5scipy_6linalg_13cython_lapack_d *, int *, "
    "__pyx_t_5scipy_6linalg_13cython_lapack_d *, int *, int *)";

std::atomic<bool> ready{false};

nb::object capsules_of(const char *module) { return nb::module_::import_(module).attr("__pyx_capi__"); }

void *pointer(nb::handle capsules, const char *name, const char *signature) {
  const nb::object capsule = capsules[name];
  const char *published = PyCapsule_GetName(capsule.ptr());
  if (published == nullptr || std::string(published) != signature) {
    PyErr_Clear();
    throw nb::import_error((std::string("scipy.linalg offers ") + name + " as '" +
                            (published != nullptr ? published : "") + "', but tenfold was built for '" + signature +
                            "'; install a SciPy whose BLAS takes 32-bit integers")
                               .c_str());
  }
  return PyCapsule_GetPointer(capsule.ptr(), signature);
}

} // namespace

const Blas &scipy_blas() {
  static Blas blas; // filled and read under the GIL
  if (blas.dgemm == nullptr) {
    const nb::object simple = capsules_of("scipy.linalg.cython_blas");
    const nb::object factors = capsules_of("scipy.linalg.cython_lapack");
    blas.dpotrf = reinterpret_cast<Dpotrf>(pointer(factors, "dpotrf", dpotrf_signature));
    blas.dpotrs = reinterpret_cast<Dpotrs>(pointer(factors, "dpotrs", dpotrs_signature));
    blas.dtrsm = reinterpret_cast<Dtrsm>(pointer(simple, "dtrsm", dtrsm_signature));
    blas.dtrsv = reinterpret_cast<Dtrsv>(pointer(simple, "dtrsv", dtrsv_signature));
    blas.sgemm = reinterpret_cast<Sgemm>(pointer(simple, "sgemm", sgemm_signature));
    blas.dgemm = reinterpret_cast<Dgemm>(pointer(simple, "dgemm", dgemm_signature));
    ready.store(true);
  }
  return blas;
}

void bind_blas(nb::module_ &m) {
  m.def("blas_bridge_ready", [] { return ready.load(); }, "Whether SciPy's BLAS has been loaded.");
  m.def("load_blas_bridge", [] { scipy_blas(); }, "Loads SciPy's BLAS now instead of at the first use.");
}

} // namespace tenfold
