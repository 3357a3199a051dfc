// Multi-layer perceptrons: predictions, the gradient of the loss, and epochs of stochastic gradient descent.
//
// Layer l maps a_l (in) to a_{l+1} = f(W_l' a_l + b_l) (out), f the function of the hidden units or, in the last layer,
// that of the outputs. All weights are one vector: W_0 (in x out, C order), b_0, W_1, b_1, ... With sample weights s_i
// the loss of rows is  sum_i s_i loss(y_i, a_L),  by the outputs' function
//   identity  |a - y|^2 / 2        exp      sum_k y log(y / a) - y + a
//   logistic  sum_k of -y log a - (1 - y) log(1 - a)        softmax  sum_k of -y log a
// so that its derivative by the raw outputs is s (a - y) each time.
//
// A batch has two parts. The rows, in chunks: gathered, forward, the loss, and the derivatives by the raw values of all
// layers. Then the weights, in pieces: the gradient of a piece is one product over all rows of the batch, and while it
// is in the cache the step is taken. Chunks and pieces depend on shapes alone, and BLAS has one thread: the bits do not
// depend on threads. Flops of a row: 6 for each weight.
//
// Rumelhart, Hinton and Williams 1986; Kingma and Ba 2015.
#pragma once

#include "tenfold/blas.hpp"
#include "tenfold/mlp_kernels.hpp"
#include "tenfold/mlp_outputs.hpp"
#include "tenfold/poll.hpp"
#include "tenfold/row_access.hpp"
#include "tenfold/thread_pool.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace tenfold {

constexpr Index mlp_chunk = 64;             // rows of a chunk: fewer, and packing the weights costs as the product
constexpr Index mlp_predicted = 256;        // rows of a chunk of predictions
constexpr Index mlp_piece = 8192;           // weights of a piece at least
constexpr Index mlp_few = 4;                // rows up to which a product streams the weights once, unpacked
constexpr Index mlp_full_batch = 1024;      // rows whose values are kept at a time by the gradient of all rows
constexpr double mlp_parallel_work = 1.5e6; // products of a batch below which a second thread wakes up too late

struct MlpLayer {
  Index in, out, weights, bias; // sizes, and where W and b begin
};

struct MlpShape {
  MlpShape(std::span<const std::int64_t> units, UnitFunction of_units, MlpOutput of_outputs)
      : hidden(of_units), output(of_outputs) {
    for (std::size_t l = 0; l + 1 < units.size(); ++l) {
      const Index in = static_cast<Index>(units[l]), out = static_cast<Index>(units[l + 1]);
      layers.push_back({in, out, size, size + in * out});
      size += (in + 1) * out;
      widest = std::max(widest, out);
    }
  }
  Index outputs() const { return layers.back().out; }
  Index inputs() const { return layers.front().in; }

  std::vector<MlpLayer> layers;
  UnitFunction hidden;
  MlpOutput output;
  Index size = 0, widest = 0;
};

inline void multiply(const Blas &blas, const float *a, Index a_step, bool a_t, const float *b, Index b_step, bool b_t,
                     Index m, Index n, Index k, float beta, float *c, Index c_step) {
  char left = b_t ? 'T' : 'N', right = a_t ? 'T' : 'N';
  int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
  int left_step = static_cast<int>(b_step), right_step = static_cast<int>(a_step), step = static_cast<int>(c_step);
  float one = 1.0F;
  blas.sgemm(&left, &right, &rows, &columns, &inner, &one, const_cast<float *>(b), &left_step, const_cast<float *>(a),
             &right_step, &beta, c, &step);
}

// c (m x n) = a b + beta c, of C-ordered matrices; a_t: a is stored as its transpose. The caller bounds the sizes.
inline void multiply(const Blas &blas, const double *a, Index a_step, bool a_t, const double *b, Index b_step, bool b_t,
                     Index m, Index n, Index k, double beta, double *c, Index c_step) {
  char left = b_t ? 'T' : 'N', right = a_t ? 'T' : 'N';
  int rows = static_cast<int>(n), columns = static_cast<int>(m), inner = static_cast<int>(k);
  int left_step = static_cast<int>(b_step), right_step = static_cast<int>(a_step), step = static_cast<int>(c_step);
  double one = 1.0;
  blas.dgemm(&left, &right, &rows, &columns, &inner, &one, const_cast<double *>(b), &left_step, const_cast<double *>(a),
             &right_step, &beta, c, &step);
}

// Samples with targets and weights, in an order.
template <class Rows> struct MlpData {
  using T = typename Rows::Value;
  Rows x;
  const T *y;                          // (rows x outputs)
  std::span<const double> weight;      // empty: ones
  std::span<const std::int64_t> order; // empty: as they are stored

  Index count() const { return order.empty() ? x.rows : static_cast<Index>(order.size()); }
  Index row(Index i) const { return order.empty() ? i : static_cast<Index>(order[static_cast<std::size_t>(i)]); }
  double weight_of(Index i) const { return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(row(i))]; }
};

template <class T> class Mlp {
public:
  Mlp(MlpShape shape, const Blas &blas) : shape_(std::move(shape)), blas_(blas), loops_(mlp_kernels<T>()) {
    for (std::size_t l = 0; l < shape_.layers.size(); ++l) {
      const MlpLayer &layer = shape_.layers[l];
      const Index rows = std::clamp<Index>(mlp_piece / layer.out, 16, 512);
      for (Index begin = 0; begin < layer.in; begin += rows)
        pieces_.push_back({l, begin, std::min(layer.in, begin + rows)});
    }
    values_.resize(shape_.layers.size());
    slopes_.resize(shape_.layers.size());
  }

  const MlpShape &shape() const { return shape_; }

  // The sum of the losses of all rows, and its gradient in the weights.
  template <class Rows> double gradient(const MlpData<Rows> &data, const T *params, T *gradient, int threads) {
    double loss = 0.0;
    for (Index begin = 0; begin < data.count(); begin += mlp_full_batch) {
      const Index count = std::min(mlp_full_batch, data.count() - begin);
      const int workers = workers_of(count, threads);
      loss += pass_rows(data, begin, count, params, workers);
      pass_weights(data, begin, count, begin > 0, gradient, workers, [](Index, Index, bool, Index) {});
      poll();
    }
    return loss;
  }

  // One step a batch, on  (sum_i s_i loss_i + alpha |W|^2 / 2) / sum_i s_i;  the mean of this over the batches,
  // weighted by their rows. `steps` counts those of adam. Ends early, with NaN, where the loss is no number.
  template <class Rows>
  double epoch(const MlpData<Rows> &data, Index batch, double alpha, const WeightStep &rule, double &steps, T *params,
               T *gradient, T *moments, int threads) {
    double total = 0.0;
    std::vector<double> squares(pieces_.size());
    for (Index begin = 0; begin < data.count(); begin += batch) {
      const Index count = std::min(batch, data.count() - begin);
      const int workers = workers_of(count, threads);
      double weight = 0.0;
      for (Index i = begin; i < begin + count; ++i)
        weight += data.weight_of(i);
      if (weight == 0.0)
        continue;
      const double loss = pass_rows(data, begin, count, params, workers);
      if (!std::isfinite(loss))
        return std::nan("");
      WeightStep step = rule;
      step.scale = 1.0 / weight;
      steps += 1.0;
      if (rule.adam)
        step.rate *= std::sqrt(1.0 - std::pow(rule.second, steps)) / (1.0 - std::pow(rule.first, steps));
      pass_weights(data, begin, count, false, gradient, workers, [&](Index at, Index size, bool bias, Index piece) {
        T *m = moments + at, *v = rule.adam ? m + shape_.size : m;
        const double sum = loops_.descend(step, bias ? 0.0 : alpha, size, gradient + at, params + at, m, v);
        if (!bias)
          squares[static_cast<std::size_t>(piece)] = sum;
      });
      double norm = 0.0;
      for (const double part : squares)
        norm += part;
      total += (loss + 0.5 * alpha * norm) / weight * static_cast<double>(count);
      poll();
    }
    return total / static_cast<double>(data.count());
  }

  // The outputs (rows x outputs), or with `raw` before their function.
  template <class Rows> void predict(const Rows &x, const T *params, bool raw, T *out, int threads) const {
    const Index chunks = (x.rows + mlp_predicted - 1) / mlp_predicted;
    const int workers = workers_of(x.rows, threads);
    const Index rows = std::min(mlp_predicted, x.rows);
    std::vector<std::vector<T>> scratch(static_cast<std::size_t>(2 * workers));
    parallel(chunks, workers, [&](Index chunk, int worker) {
      const Index begin = chunk * mlp_predicted, count = std::min(mlp_predicted, x.rows - begin);
      for (std::size_t half = 0; half < 2; ++half)
        scratch[static_cast<std::size_t>(2 * worker) + half].resize(static_cast<std::size_t>(rows * shape_.widest));
      const T *input = nullptr;
      for (std::size_t l = 0; l < shape_.layers.size(); ++l) {
        const bool last = l + 1 == shape_.layers.size();
        T *z = last ? out + begin * shape_.outputs() : scratch[static_cast<std::size_t>(2 * worker) + l % 2].data();
        if (l == 0)
          first_layer(MlpData<Rows>{x, nullptr, {}, {}}, begin, count, params, z, nullptr);
        else
          product(input, shape_.layers[l].in, count, shape_.layers[l], params, z);
        activate(l, count, params, z);
        input = z;
      }
      if (!raw)
        apply_output(shape_.output, count, shape_.outputs(), out + begin * shape_.outputs());
    });
  }

private:
  struct Piece {
    std::size_t layer;
    Index begin, end; // inputs
  };

  int workers_of(Index rows, int threads) const {
    return static_cast<double>(rows) * static_cast<double>(shape_.size) < mlp_parallel_work ? 1 : threads;
  }

  void reserve(Index rows, bool gathers) {
    const auto grow = [](std::vector<T> &buffer, Index size) {
      if (buffer.size() < static_cast<std::size_t>(size))
        buffer.resize(static_cast<std::size_t>(size));
    };
    for (std::size_t l = 0; l < shape_.layers.size(); ++l) {
      grow(values_[l], rows * shape_.layers[l].out);
      if (l + 1 < shape_.layers.size())
        grow(slopes_[l], rows * shape_.layers[l].out);
    }
    if (gathers)
      grow(gathered_, rows * shape_.inputs());
    losses_.assign(static_cast<std::size_t>((rows + mlp_chunk - 1) / mlp_chunk), 0.0);
  }

  // The derivatives by the raw values of layer l; of the last layer they replace the outputs.
  T *delta(std::size_t l) { return l + 1 == shape_.layers.size() ? values_[l].data() : slopes_[l].data(); }

  void product(const T *input, Index step, Index count, const MlpLayer &layer, const T *params, T *z) const {
    const T *w = params + layer.weights;
    if (count > mlp_few) {
      multiply(blas_, input, step, false, w, layer.out, false, count, layer.out, layer.in, T{0}, z, layer.out);
      return;
    }
    std::fill_n(z, count * layer.out, T{});
    for (Index j = 0; j < layer.in; ++j)
      for (Index i = 0; i < count; ++i)
        if (input[i * step + j] != T{})
          loops_.axpy(input[i * step + j], w + j * layer.out, layer.out, z + i * layer.out);
  }

  template <class V>
  void first_layer(const MlpData<Dense<V>> &data, Index begin, Index count, const T *params, T *z, T *gathered) const {
    const Index p = shape_.inputs();
    const T *input = data.x.data + begin * p;
    if (!data.order.empty()) {
      for (Index i = 0; i < count; ++i)
        std::copy_n(data.x.data + data.row(begin + i) * p, p, gathered + i * p);
      input = gathered;
    }
    product(input, p, count, shape_.layers.front(), params, z);
  }

  template <class V, class I>
  void first_layer(const MlpData<Sparse<V, I>> &data, Index begin, Index count, const T *params, T *z, T *) const {
    const Index out = shape_.layers.front().out;
    std::fill_n(z, count * out, T{});
    for (Index i = 0; i < count; ++i) {
      const auto row = static_cast<std::size_t>(data.row(begin + i));
      for (auto e = static_cast<std::size_t>(data.x.indptr[row]); e < static_cast<std::size_t>(data.x.indptr[row + 1]);
           ++e)
        loops_.axpy(data.x.data[e], params + static_cast<Index>(data.x.indices[e]) * out, out, z + i * out);
    }
  }

  void activate(std::size_t l, Index count, const T *params, T *z) const {
    const bool last = l + 1 == shape_.layers.size();
    loops_.activate(last ? UnitFunction::identity : shape_.hidden, params + shape_.layers[l].bias, count,
                    shape_.layers[l].out, z);
  }

  // The losses of the rows at positions [begin, begin + count), and the derivatives of all layers.
  template <class Rows>
  double pass_rows(const MlpData<Rows> &data, Index begin, Index count, const T *params, int workers) {
    reserve(count, std::is_same_v<Rows, Dense<T>> && !data.order.empty());
    const Index chunks = (count + mlp_chunk - 1) / mlp_chunk, k = shape_.outputs();
    parallel(chunks, workers, [&](Index chunk, int) {
      const Index from = chunk * mlp_chunk, some = std::min(mlp_chunk, count - from);
      T *gathered = gathered_.empty() ? nullptr : gathered_.data() + from * shape_.inputs();
      for (std::size_t l = 0; l < shape_.layers.size(); ++l) {
        const MlpLayer &layer = shape_.layers[l];
        T *z = values_[l].data() + from * layer.out;
        if (l == 0)
          first_layer(data, begin + from, some, params, z, gathered);
        else
          product(values_[l - 1].data() + from * layer.in, layer.in, some, layer, params, z);
        activate(l, some, params, z);
      }
      T *z = values_.back().data() + from * k;
      double loss = 0.0;
      for (Index i = 0; i < some; ++i)
        loss += add_loss(shape_.output, k, data.y + data.row(begin + from + i) * k, data.weight_of(begin + from + i),
                         z + i * k);
      losses_[static_cast<std::size_t>(chunk)] = loss;
      for (std::size_t l = shape_.layers.size() - 1; l > 0; --l) {
        const MlpLayer &layer = shape_.layers[l];
        T *below = slopes_[l - 1].data() + from * layer.in;
        multiply(blas_, delta(l) + from * layer.out, layer.out, false, params + layer.weights, layer.out, true, some,
                 layer.in, layer.out, T{0}, below, layer.in);
        loops_.apply_slopes(shape_.hidden, values_[l - 1].data() + from * layer.in, some * layer.in, below);
      }
    });
    double loss = 0.0;
    for (const double part : losses_)
      loss += part;
    return loss;
  }

  // The gradient in all weights, added to what is there or not; `after(at, size, bias, piece)` of each part of it.
  template <class Rows, class After>
  void pass_weights(const MlpData<Rows> &data, Index begin, Index count, bool add, T *gradient, int workers,
                    After &&after) {
    first_gradient(data, begin, count, add, gradient, workers);
    constexpr bool dense = std::is_same_v<Rows, Dense<T>>;
    const T *inputs = nullptr;
    if constexpr (dense)
      inputs = data.order.empty() ? data.x.data + begin * shape_.inputs() : gathered_.data();
    parallel(static_cast<Index>(pieces_.size()), workers, [&](Index item, int) {
      const Piece &piece = pieces_[static_cast<std::size_t>(item)];
      const MlpLayer &layer = shape_.layers[piece.layer];
      const Index at = layer.weights + piece.begin * layer.out, rows = piece.end - piece.begin;
      const T *below = piece.layer > 0 ? values_[piece.layer - 1].data() : inputs;
      if (dense || piece.layer > 0)
        multiply(blas_, below + piece.begin, layer.in, true, delta(piece.layer), layer.out, false, rows, layer.out,
                 count, add ? T{1} : T{0}, gradient + at, layer.out);
      after(at, rows * layer.out, false, item);
      if (piece.begin > 0)
        return;
      if (!add)
        std::fill_n(gradient + layer.bias, layer.out, T{});
      loops_.add_rows(delta(piece.layer), count, layer.out, gradient + layer.bias);
      after(layer.bias, layer.out, true, item);
    });
  }

  template <class V> void first_gradient(const MlpData<Dense<V>> &, Index, Index, bool, T *, int) {}

  // Of sparse rows the gradient in the first weights is summed by units, each thread for its own.
  template <class V, class I>
  void first_gradient(const MlpData<Sparse<V, I>> &data, Index begin, Index count, bool add, T *gradient, int workers) {
    constexpr Index units = 32;
    const Index out = shape_.layers.front().out;
    const T *slopes = delta(0);
    parallel((out + units - 1) / units, workers, [&](Index item, int) {
      const Index from = item * units, some = std::min(units, out - from);
      if (!add)
        for (Index j = 0; j < shape_.inputs(); ++j)
          std::fill_n(gradient + j * out + from, some, T{});
      for (Index i = 0; i < count; ++i) {
        const auto row = static_cast<std::size_t>(data.row(begin + i));
        for (auto e = static_cast<std::size_t>(data.x.indptr[row]);
             e < static_cast<std::size_t>(data.x.indptr[row + 1]); ++e)
          loops_.axpy(data.x.data[e], slopes + i * out + from, some,
                      gradient + static_cast<Index>(data.x.indices[e]) * out + from);
      }
    });
  }

  MlpShape shape_;
  const Blas &blas_;
  const MlpKernels<T> &loops_;
  std::vector<Piece> pieces_;
  std::vector<std::vector<T>> values_, slopes_; // a_{l + 1} and the derivatives by its raw values
  std::vector<T> gathered_;
  std::vector<double> losses_;
};

} // namespace tenfold
