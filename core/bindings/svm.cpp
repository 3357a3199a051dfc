#include "bindings.hpp"

#include "tenfold/svm_decomposition.hpp"

namespace tenfold {
namespace {

template <class T> std::vector<T> copy(const In<T, 1> &array) { return {array.span().begin(), array.span().end()}; }

std::vector<Index> positions(const In<std::int64_t, 1> &array) { return {array.span().begin(), array.span().end()}; }

// A cache and what its source reads.
template <class T> struct BoundCache {
  nb::object samples;
  KernelCache<T> cache;
};

struct Function {
  int base;
  PairFunction elementwise;
};

Function function_of(int base, int kind, double gamma, double offset, double degree, double scale, double shift) {
  require(base >= 0 && base <= 4, "base must be 0, inner products, 1, squared distances, or 2, 3, 4");
  require(kind >= 0 && kind < PairFunction::kinds, "no such function of a pair");
  return {base, {static_cast<PairFunction::Kind>(kind), gamma, offset, degree, scale, shift}};
}

template <class T, class X>
std::unique_ptr<KernelSource<T>> tiles(const Dense<X> &x, const std::vector<Index> &starts, const Function &f,
                                       int threads) {
  if (f.base > 1) {
    const PairEntries kind = f.base == 2   ? PairEntries::distances
                             : f.base == 3 ? PairEntries::subsets
                                           : PairEntries::chi2;
    using Pairs = EntryPairs<X, X>;
    return std::make_unique<TileSource<X, Pairs, T>>(
        x, starts, f.elementwise, threads, [&](Dense<X> s, Dense<X> q) { return Pairs(s, q, kind, threads); });
  }
  using Pairs = std::conditional_t<sizeof(T) == 4, SinglePairs<X, X>, ProductPairs<X, X>>;
  const ProductBase base = f.base == 0 ? ProductBase::inner : ProductBase::squares;
  const std::vector<double> centre =
      f.base == 0 ? std::vector<double>(static_cast<std::size_t>(x.columns)) : mean_of(x);
  return std::make_unique<TileSource<X, Pairs, T>>(
      x, starts, f.elementwise, threads, [&](Dense<X> s, Dense<X> q) { return Pairs(s, q, base, centre, threads); });
}

void check_starts(const std::vector<Index> &starts, Index samples) {
  require(starts.size() >= 2 && starts.front() == 0 && starts.back() == samples,
          "starts must be the first sample of each segment, and the number of samples");
  require(std::is_sorted(starts.begin(), starts.end()), "starts must ascend");
}

template <class T, class X> void bind_tiles(nb::class_<BoundCache<T>> &c) {
  c.def(
      "__init__",
      [](BoundCache<T> *self, const In<X, 2> &samples, const In<std::int64_t, 1> &starts, int base, int function,
         double gamma, double offset, double degree, double scale, double shift, double bytes, int threads) {
        std::vector<Index> first = positions(starts);
        check_starts(first, samples.shape(0));
        require(samples.shape(1) >= 1, "samples must have features");
        const Function f = function_of(base, function, gamma, offset, degree, scale, shift);
        const int workers = checked_threads(threads);
        auto source = tiles<T, X>({samples.data(), samples.shape(0), samples.shape(1)}, first, f, workers);
        new (self) BoundCache<T>{nb::cast(samples.array), {std::move(source), std::move(first), bytes, workers}};
      },
      nb::arg("X"), nb::arg("starts"), nb::arg("base"), nb::arg("function"), nb::arg("gamma"), nb::arg("offset"),
      nb::arg("degree"), nb::arg("scale"), nb::arg("shift"), nb::arg("bytes"), nb::arg("threads"));
}

// Rows by a function (samples, segment) of Python, which returns (samples, samples of the segment).
template <class T> typename CalledSource<T>::Call called(nb::object function, std::vector<Index> starts) {
  auto kept = std::shared_ptr<nb::object>(new nb::object(std::move(function)), [](nb::object *p) {
    const nb::gil_scoped_acquire acquire;
    delete p;
  });
  return [kept, starts = std::move(starts)](std::span<const Index> samples, Index segment, T *const *out) {
    const nb::gil_scoped_acquire acquire;
    const Index count = static_cast<Index>(samples.size());
    const Index length = starts[static_cast<std::size_t>(segment) + 1] - starts[static_cast<std::size_t>(segment)];
    const Given<std::int64_t> numbers = give<std::int64_t, 1>({samples.begin(), samples.end()}, {count});
    const auto block = nb::cast<In<T, 2>>((*kept)(numbers.array, segment));
    require(block.shape(0) == count && block.shape(1) == length, "the function must return a value for each pair");
    for (Index i = 0; i < count; ++i)
      std::copy_n(block.data() + i * length, length, out[i]);
  };
}

template <class T> void bind_cache(nb::module_ &m, const char *name) {
  auto c = nb::class_<BoundCache<T>>(m, name, "Rows of a kernel matrix by segments, in a bounded cache.");
  bind_tiles<T, float>(c);
  bind_tiles<T, double>(c);
  c.def(
      "__init__",
      [](BoundCache<T> *self, const nb::object &function, const In<std::int64_t, 1> &starts, double bytes,
         int threads) {
        std::vector<Index> first = positions(starts);
        require(!first.empty(), "starts must not be empty");
        check_starts(first, first.back());
        auto source = std::make_unique<CalledSource<T>>(called<T>(function, first));
        new (self) BoundCache<T>{nb::none(), {std::move(source), std::move(first), bytes, checked_threads(threads)}};
      },
      nb::arg("function"), nb::arg("starts"), nb::arg("bytes"), nb::arg("threads"));
  c.def_prop_ro(
      "evaluated", [](const BoundCache<T> &b) { return b.cache.evaluated(); },
      "The number of values that were evaluated.");
  c.def("clear", [](BoundCache<T> &b) { b.cache.clear(); }, "Frees all rows; problems fetch theirs again.");
}

template <class T> void bind_solver(nb::module_ &m, const char *name) {
  using Solver = SvmDecomposition<T>;
  nb::class_<Solver> c(m, name, "Decomposition for the problem of a support vector machine.");
  c.def(
      "__init__",
      [](Solver *self, BoundCache<T> &cache, const In<std::int64_t, 1> &segments, const In<std::int32_t, 1> &sample,
         const In<double, 1> &z, const In<double, 1> &lo, const In<double, 1> &hi, const In<double, 1> &extra,
         Index first, Index set) {
        const Index count = z.shape(0);
        require(count >= 1 && sample.shape(0) == count && lo.shape(0) == count && hi.shape(0) == count &&
                    extra.shape(0) == count,
                "sample, z, lo, hi and extra must have one entry a variable");
        require(first >= 0 && first <= count && set >= 2, "first must be a number of variables, and set at least 2");
        Index samples = 0;
        for (const std::int64_t s : segments.span()) {
          require(s >= 0 && s < cache.cache.segments(), "no such segment");
          samples += cache.cache.length(static_cast<Index>(s));
        }
        for (const std::int32_t i : sample.span())
          require(i >= 0 && i < samples, "no such sample");
        new (self) Solver(cache.cache, positions(segments),
                          {copy(sample), copy(z), copy(lo), copy(hi), copy(extra), first}, set);
      },
      nb::keep_alive<1, 2>(), nb::arg("cache"), nb::arg("segments"), nb::arg("sample"), nb::arg("z"), nb::arg("lo"),
      nb::arg("hi"), nb::arg("extra"), nb::arg("first"), nb::arg("set"));
  c.def(
      "set",
      [](Solver &s, const In<double, 1> &beta, const In<double, 1> &f) {
        require(beta.shape(0) == s.count() && f.shape(0) == s.samples(), "beta and f must be those of the variables");
        s.set_beta(beta.span());
        s.set_f(f.span());
      },
      nb::arg("beta"), nb::arg("f"), "Sets the variables, and the products of the kernel with them.");
  c.def(
      "run",
      [](Solver &s, double violation, double gap, Index steps, Index rounds) {
        const nb::gil_scoped_release release;
        return static_cast<int>(s.run({violation, gap, steps, rounds}));
      },
      nb::arg("violation"), nb::arg("gap"), nb::arg("steps"), nb::arg("rounds"),
      "Rounds until violation and gap are as small (0), so many steps in all or rounds (1), or rounding (2).");
  c.def_prop_ro("beta", [](const Solver &s) { return give<double, 1>(std::vector(s.beta()), {s.count()}); });
  c.def_prop_ro("f", [](const Solver &s) { return give<double, 1>(std::vector(s.f()), {s.samples()}); });
  c.def_prop_ro("gap", &Solver::gap);
  c.def_prop_ro("violation", &Solver::violation);
  c.def_prop_ro("steps", &Solver::steps);
  c.def_prop_ro("rounds", &Solver::rounds);
  c.def_prop_ro("operations", &Solver::operations, "Operations, without those of kernel values.");
  c.def_prop_ro("multipliers", [](const Solver &s) { return std::make_tuple(s.multipliers()[0], s.multipliers()[1]); });
}

} // namespace

void bind_svm(nb::module_ &m) {
  bind_cache<float>(m, "KernelCacheFloat32");
  bind_cache<double>(m, "KernelCache");
  bind_solver<float>(m, "SvmDecompositionFloat32");
  bind_solver<double>(m, "SvmDecomposition");
}

} // namespace tenfold
