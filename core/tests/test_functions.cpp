// exp, log1p, sigmoid and softplus against long double, in units in the last place, and at the edges.
#include "check.hpp"

#include <algorithm>
#include <limits>

using namespace tenfold;
using namespace tenfold::test;

namespace {

using Reference = long double (*)(long double);
constexpr double infinity = std::numeric_limits<double>::infinity();

long double sigmoid(long double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
long double softplus(long double x) { return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }

template <class T> double distance(T got, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded)))
    return 0.0;
  if (!std::isfinite(got) || !std::isfinite(rounded))
    return infinity;
  const T size = std::abs(rounded);
  const T ulp = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - expected) / static_cast<long double>(ulp));
}

std::vector<double> arguments() {
  std::vector<double> x = {0.0,
                           -0.0,
                           infinity,
                           -infinity,
                           std::nan(""),
                           5e-324,
                           -5e-324,
                           1e-310,
                           -1e-310,
                           2.3e-308,
                           1e-300,
                           1e-17,
                           -1e-17,
                           1e-8,
                           -1e-8,
                           0.5,
                           -0.5,
                           1.0,
                           -1.0,
                           2.0,
                           -2.0,
                           709.0,
                           709.78,
                           709.79,
                           710.0,
                           1e10,
                           -1e10,
                           1e308,
                           -1e308,
                           -708.0,
                           -708.5,
                           -745.1,
                           -745.13,
                           -745.14,
                           -746.0,
                           0.41421,
                           0.41422,
                           -0.2928,
                           -0.2929,
                           -0.999999,
                           -0.99999999999999989};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> wide(-760.0, 720.0), unit(-1.0, 1.0), power(-320.0, 308.0);
  for (int i = 0; i < 20000; ++i) {
    x.push_back(wide(random));
    x.push_back(unit(random));
    x.push_back(20.0 * unit(random));
    x.push_back(std::pow(10.0, power(random)));
    x.push_back(-std::pow(10.0, power(random)));
  }
  return x;
}

template <class T>
void compare(const std::string &name, void (*function)(const T *, T *, Index), Reference reference, double allowed) {
  const std::vector<T> x = as<T>(arguments());
  std::vector<T> y(x.size());
  // Every length of the tail, at every alignment, writes what it should and nothing else.
  for (Index length = 0; length < 20; ++length)
    for (Index start = 0; start < 3; ++start) {
      std::vector<T> out(32, T(-77));
      function(x.data() + start, out.data() + start, length);
      for (Index i = 0; i < 32; ++i) {
        const bool written = i >= start && i < start + length;
        const auto at = static_cast<std::size_t>(i);
        check(written == (out[at] != T(-77)), name + ": a short array is written exactly");
      }
    }
  function(x.data(), y.data(), static_cast<Index>(x.size()));
  double worst = 0.0;
  T where = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = distance(y[i], reference(static_cast<long double>(x[i])));
    if (!(d <= worst)) {
      worst = d;
      where = x[i];
    }
  }
  check(worst <= allowed, name + ": " + std::to_string(worst) + " ulp at " + std::to_string(where));
}

template <class T> void compare_all(const std::string &isa) {
  const DenseKernels<T> &k = kernels().dense<T>();
  const std::string type = isa + (sizeof(T) == 4 ? " float " : " double ");
  compare<T>(type + "exp", k.exp, [](long double x) { return std::exp(x); }, 1.5);
  compare<T>(type + "log1p", k.log1p, [](long double x) { return std::log1p(x); }, 1.5);
  compare<T>(type + "sigmoid", k.sigmoid, sigmoid, 3.0);
  compare<T>(type + "softplus", k.softplus, softplus, 2.5);
}

} // namespace

int main() {
  for_each_isa([](const std::string &isa) {
    compare_all<double>(isa);
    compare_all<float>(isa);
    double zero[1] = {-0.0}, out[1];
    kernels().f64.log1p(zero, out, 1);
    check(std::signbit(out[0]), isa + ": log1p(-0) is -0");
  });
  return result();
}
