#include "bindings.hpp"

#include "tenfold/kernels.hpp"
#include "tenfold/pool.hpp"

namespace tenfold {

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

} // namespace tenfold

NB_MODULE(_core, m) {
  using namespace tenfold;
  m.doc() = "The loops of tenfold: statistics, derivatives and products of rows, in C++.";
  bind_moments(m);
  bind_derivatives(m);
  bind_times(m);
  bind_loo(m);
  bind_elementwise(m);
  bind_blas(m);
  m.def("isa", [] { return kernels().name; }, "The instruction set in use.");
  m.def(
      "set_isa",
      [](const std::string &name) {
        require(select_kernels(name), "this CPU or this build has no such instruction set");
      },
      nb::arg("name"), "Chooses an instruction set. For tests only: no loop may be running.");
  m.def("pool_size", &pool_size, "Threads that the pool has started in this process.");
}
