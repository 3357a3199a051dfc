#include "bindings.hpp"

#include "tenfold/isa_kernels.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/thread_pool.hpp"

#include <nanobind/stl/vector.h>

#include <chrono>

namespace tenfold {

// Minimum time between polls of Python, for signals (main thread) and for cancellation of a fit (every thread).
constexpr std::chrono::milliseconds poll_interval{50};

void poll_python() {
  thread_local auto last = std::chrono::steady_clock::now();
  if (std::chrono::steady_clock::now() - last < poll_interval)
    return;
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0)
    throw nb::python_error();
  nb::module_::import_("tenfold.machine").attr("poll")();
  last = std::chrono::steady_clock::now();
}

// A masked array exists only once numpy.ma has been imported, so this imports nothing.
bool is_masked(nb::handle object) {
  static PyObject *masked = nullptr; // borrowed for good: numpy.ma is never unloaded. Guarded by the GIL.
  if (masked == nullptr) {
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = PyDict_GetItemString(modules, "numpy.ma");
    if (module == nullptr)
      return false;
    masked = PyObject_GetAttrString(module, "MaskedArray");
    if (masked == nullptr) {
      PyErr_Clear();
      return false;
    }
  }
  return PyType_IsSubtype(Py_TYPE(object.ptr()), reinterpret_cast<PyTypeObject *>(masked)) != 0;
}

nb::object empty_array(const Index *shape, std::size_t dimensions, const char *dtype) {
  static PyObject *empty = nullptr; // kept for good; guarded by the GIL
  if (empty == nullptr)
    empty = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
  const nb::object sizes = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(dimensions)));
  for (std::size_t i = 0; i < dimensions; ++i)
    PyTuple_SET_ITEM(sizes.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromSsize_t(shape[i]));
  return dtype == nullptr ? nb::handle(empty)(sizes) : nb::handle(empty)(sizes, dtype);
}

} // namespace tenfold

NB_MODULE(_core, m) {
  using namespace tenfold;
  poll_hook = poll_python;
  m.doc() = "The compiled core of tenfold: statistics, derivatives, products and solvers in C++. All arrays are "
            "C-contiguous; X is "
            "float32 or float64, everything else as its type says.";
  bind_moments(m);
  bind_class_sums(m);
  bind_contingency(m);
  bind_within_scatter(m);
  bind_argmax_float32(m);
  bind_scatter_float32(m);
  bind_loss_derivatives(m);
  bind_softmax(m);
  bind_batched_loss(m);
  bind_bisection(m);
  bind_gmm_estep(m);
  bind_cd(m);
  bind_cd_quadratic(m);
  bind_dual_cd(m);
  bind_crammer_singer_cd(m);
  bind_leaps_and_bounds(m);
  bind_matvec(m);
  bind_nnls_rows(m);
  bind_perceptron(m);
  bind_viterbi(m);
  bind_sgd(m);
  bind_sparse_codes(m);
  bind_lars(m);
  bind_huber(m);
  bind_kmeans(m);
  bind_residual_cosines(m);
  bind_ridge_loo(m);
  bind_knn(m);
  bind_csv(m);
  bind_term_counts(m);
  bind_columns_to_rows(m);
  bind_elementwise(m);
  bind_cosine_features(m);
  bind_blas(m);
  bind_csr_normal_product(m);
  bind_kde_tree(m);
  bind_pairwise(m);
  bind_dense_glm(m);
  bind_svm(m);
  bind_hierarchy(m);
  bind_smacof(m);
  bind_string_kernels(m);
  bind_mlp(m);
  bind_forward_backward(m);
  m.def("isa", [] { return kernels().name; }, "The instruction set in use.");
  m.def(
      "available_isas",
      [] {
        std::vector<std::string> names;
        for (const std::string_view name : available_kernels())
          names.emplace_back(name);
        return names;
      },
      "The instruction sets of this build that this CPU has, best first.");
  m.def(
      "set_isa",
      [](const std::string &name) {
        require(select_kernels(name), "this CPU or this build has no such instruction set");
      },
      nb::arg("name"), "Selects an instruction set. For tests only: no loop may be running.");
  m.def("pool_size", &pool_size, "Threads that the pool has started in this process.");
}
