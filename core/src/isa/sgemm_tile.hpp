// Single-precision products of a tile that is in cache, in whole SIMD vectors of `singles` lanes.
//
// sgemm_tile             out(o, v) += sum_i a(o, i) b(i, v), entry (o, i) of a at a[o * a_outer + i * a_inner], row i
// of b at
//                        b + i * b_step, row o of out at out + o * out_step, `groups` SIMD vectors each; out is aligned
//                        to cache lines. Flops: 2 * outer * inner * groups * singles; register block: a few o and up to
//                        four vectors
// softmax_float32_tile   the softmax loss of softmax.hpp, of z and to u in single precision; b (classes) is added to z
// first transpose_float32      writes entry (i, j) of `rows` x `columns`, both whole SIMD vectors, to out[j * out_step
// + i]
#pragma once

#include "functions.hpp"
#include "nearest_centre_float32.hpp"

namespace tenfold::TENFOLD_ISA {
namespace {

constexpr Index max_vectors = registers == 32 ? 4 : 2;

// Number of o that fills the registers beside c vectors; at least eight independent sums hide the latency of additions.
template <Index c>
constexpr Index max_outer = registers == 32 ? (c == 1   ? 12
                                               : c == 2 ? 8
                                               : c == 3 ? 6
                                                        : 5)
                                            : (c == 1 ? 8 : 3);

template <Index outer, Index c>
inline void sgemm_block(const float *a, Index a_outer, Index a_inner, Index inner, const float *b, Index b_step,
                        float *out, Index out_step) {
  Singles sums[outer][c];
#pragma GCC unroll 16
  for (Index o = 0; o < outer; ++o)
#pragma GCC unroll 8
    for (Index v = 0; v < c; ++v)
      sums[o][v] = *reinterpret_cast<const Singles *>(out + o * out_step + v * singles);
  for (Index i = 0; i < inner; ++i, a += a_inner, b += b_step) {
    Singles right[c];
#pragma GCC unroll 8
    for (Index v = 0; v < c; ++v)
      right[v] = load_singles(b + v * singles);
#pragma GCC unroll 16
    for (Index o = 0; o < outer; ++o) {
      const Singles left = all_singles(a[o * a_outer]);
#pragma GCC unroll 8
      for (Index v = 0; v < c; ++v)
        sums[o][v] += left * right[v];
    }
  }
#pragma GCC unroll 16
  for (Index o = 0; o < outer; ++o)
#pragma GCC unroll 8
    for (Index v = 0; v < c; ++v)
      *reinterpret_cast<Singles *>(out + o * out_step + v * singles) = sums[o][v];
}

// Recurses on the remainder of o.
template <Index outer, Index c>
inline void sgemm_rows(const float *a, Index a_outer, Index a_inner, Index count, Index inner, const float *b,
                       Index b_step, float *out, Index out_step) {
  for (; count >= outer; count -= outer, a += outer * a_outer, out += outer * out_step)
    sgemm_block<outer, c>(a, a_outer, a_inner, inner, b, b_step, out, out_step);
  if constexpr (outer > 1)
    if (count > 0)
      sgemm_rows<outer - 1, c>(a, a_outer, a_inner, count, inner, b, b_step, out, out_step);
}

template <Index c>
inline void sgemm_columns(const float *a, Index a_outer, Index a_inner, Index outer, Index inner, const float *b,
                          Index b_step, Index groups, float *out, Index out_step) {
  for (; groups >= c; groups -= c, b += c * singles, out += c * singles)
    sgemm_rows<max_outer<c>, c>(a, a_outer, a_inner, outer, inner, b, b_step, out, out_step);
  if constexpr (c > 1)
    if (groups > 0)
      sgemm_columns<c - 1>(a, a_outer, a_inner, outer, inner, b, b_step, groups, out, out_step);
}

void sgemm_tile(const float *a, Index a_outer, Index a_inner, Index outer, Index inner, const float *b, Index b_step,
                Index groups, float *out, Index out_step) {
  sgemm_columns<max_vectors>(a, a_outer, a_inner, outer, inner, b, b_step, groups, out, out_step);
}

// Swaps the off-diagonal blocks of `size` lanes of every square of twice that side.
template <Index size> inline void swap_blocks(Singles *square) {
  Numbers first, second;
  for (Index l = 0; l < singles; ++l) {
    first[l] = static_cast<int>((l & size) == 0 ? l : singles + l - size);
    second[l] = static_cast<int>((l & size) == 0 ? l + size : singles + l);
  }
#pragma GCC unroll 16
  for (Index i = 0; i < singles; ++i)
    if ((i & size) == 0) {
      const Singles a = square[i], b = square[i + size];
      square[i] = __builtin_shuffle(a, b, first);
      square[i + size] = __builtin_shuffle(a, b, second);
    }
  if constexpr (size > 1)
    swap_blocks<size / 2>(square);
}

void transpose_float32(const float *from, Index step, Index rows, Index columns, float *out, Index out_step) {
  for (Index j = 0; j < columns; j += singles)
    for (Index i = 0; i < rows; i += singles) {
      Singles square[singles];
#pragma GCC unroll 16
      for (Index k = 0; k < singles; ++k)
        square[k] = *reinterpret_cast<const Singles *>(from + (i + k) * step + j);
      swap_blocks<singles / 2>(square);
#pragma GCC unroll 16
      for (Index k = 0; k < singles; ++k)
        *reinterpret_cast<Singles *>(out + (j + k) * out_step + i) = square[k];
    }
}

// exp(x) for x <= 0, as in functions.hpp: the polynomial of degree 7 has an error of 5e-9. Below -87 it stays at
// exp(-87).
inline Singles exp_float32(Singles x) {
  constexpr float ln2_high = 0x1.62e4p-1F, ln2_low = 0x1.7f7d1cp-20F, log2_e = 0x1.715476p+0F, round = 0x1.8p23F;
  const Singles clipped = x < -87.0F ? all_singles(-87.0F) : x;
  const Singles shifted = clipped * log2_e + round;
  const Singles k = shifted - round;
  const Singles r = (clipped - k * ln2_high) - k * ln2_low;
  Singles q = all_singles(1.0F / 5040.0F);
  q = q * r + 1.0F / 720.0F;
  q = q * r + 1.0F / 120.0F;
  q = q * r + 1.0F / 24.0F;
  q = q * r + 1.0F / 6.0F;
  q = q * r + 0.5F;
  const Singles y = 1.0F + (r + r * r * q);
  const Numbers exponent = reinterpret_cast<Numbers>(shifted) - reinterpret_cast<Numbers>(all_singles(round)) + 127;
  return y * reinterpret_cast<Singles>(exponent << 23);
}

// sum weight (log(1 + others) + above)
inline Vector weighted_losses(const float *weight, Singles others, Singles above) {
  alignas(64) float o[singles], a[singles];
  *reinterpret_cast<Singles *>(o) = others;
  *reinterpret_cast<Singles *>(a) = above;
  Vector values{};
  for (Index half = 0; half < singles; half += width)
    values += load(weight + half) * (log_one_plus(load(o + half)) + load(a + half));
  return values;
}

void softmax_float32_tile(const float *y, float *z, Index step, Index classes, const float *b, const float *weight,
                          Index count, double *value, double *slope, float *u) {
  Vector values{};
  for (Index i = 0; i < count; i += singles) {
    const Singles w = load_singles(weight + i), own = load_singles(y + i);
    Singles largest = load_singles(z + i) + b[0], best{}, right = largest;
    *reinterpret_cast<Singles *>(z + i) = largest;
    for (Index k = 1; k < classes; ++k) {
      const Singles zk = load_singles(z + k * step + i) + b[k], number = all_singles(static_cast<float>(k));
      *reinterpret_cast<Singles *>(z + k * step + i) = zk;
      best = zk > largest ? number : best;
      largest = larger(zk, largest);
      right = own == number ? zk : right;
    }
    Singles others{};
    for (Index k = 0; k < classes; ++k) {
      const Singles e = exp_float32(load_singles(z + k * step + i) - largest);
      others += best == all_singles(static_cast<float>(k)) ? Singles{} : e;
      *reinterpret_cast<Singles *>(u + k * step + i) = e;
    }
    const auto counts = w > 0.0F;
    const Singles share = counts ? w / (1.0F + others) : Singles{};
    values += weighted_losses(weight + i, counts ? others : Singles{}, counts ? largest - right : Singles{});
    for (Index k = 0; k < classes; ++k) {
      const Singles number = all_singles(static_cast<float>(k)), p = load_singles(u + k * step + i) * share;
      const Singles missing = best == number ? -others * share : p - w;
      *reinterpret_cast<Singles *>(u + k * step + i) = counts ? (own == number ? missing : p) : Singles{};
    }
  }
  *value += sum(values);
  for (Index k = 0; k < classes; ++k) {
    Vector slopes{};
    for (Index i = 0; i < count; i += width)
      slopes += load(u + k * step + i);
    slope[k] += sum(slopes);
  }
}

} // namespace
} // namespace tenfold::TENFOLD_ISA
