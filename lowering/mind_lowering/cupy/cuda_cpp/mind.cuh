// What generated kernels call: arithmetic of the contract, conversions, loads and stores of several elements, reductions of a team.
//
// No header is needed. Compiled by NVRTC, or as C++ beside a header that gives a thread, a warp and a block their meaning.
// Signed arithmetic goes by way of unsigned, so nothing is undefined; f16 and bf16 are computed in f32 and rounded once.

#define MIND __device__ __forceinline__

namespace mind {

typedef signed char si8;
typedef unsigned char ui8;
typedef short si16;
typedef unsigned short ui16;
typedef int si32;
typedef unsigned int ui32;
typedef long long si64;
typedef unsigned long long ui64;

// How f16 and bf16 lie in memory.
struct f16 { ui16 bits; };
struct bf16 { ui16 bits; };

template <int bytes> struct Wide { typedef ui32 type; };  // unsigned, and no narrower than int
template <> struct Wide<8> { typedef ui64 type; };
template <class T> using Bits = typename Wide<sizeof(T)>::type;
template <class T> MIND constexpr bool is_signed() { return T(-1) < T(0); }
template <class T> MIND constexpr T most() { return is_signed<T>() ? T((ui64(1) << (8 * sizeof(T) - 1)) - 1) : T(-1); }
template <class T> MIND constexpr T least() { return is_signed<T>() ? T(-most<T>() - 1) : T(0); }

template <class T> struct Is { static constexpr bool real = false; };
template <> struct Is<float> { static constexpr bool real = true; };
template <> struct Is<double> { static constexpr bool real = true; };

// Arithmetic. Integers wrap; of i1 only what the contract has.

template <class T> MIND T add(T a, T b) {
    if constexpr (Is<T>::real) return a + b;
    else return T(Bits<T>(a) + Bits<T>(b));
}
template <class T> MIND T sub(T a, T b) {
    if constexpr (Is<T>::real) return a - b;
    else return T(Bits<T>(a) - Bits<T>(b));
}
template <class T> MIND T mul(T a, T b) {
    if constexpr (Is<T>::real) return a * b;
    else return T(Bits<T>(a) * Bits<T>(b));
}
// a b + c, rounded once.
MIND float fused(float a, float b, float c) { return fmaf(a, b, c); }
MIND double fused(double a, double b, double c) { return ::fma(a, b, c); }
template <class T> MIND T fused(T a, T b, T c) { return add(mul(a, b), c); }
template <class T> MIND T neg(T a) {
    if constexpr (Is<T>::real) return -a;
    else return T(Bits<T>(0) - Bits<T>(a));
}
MIND float abs(float a) { return fabsf(a); }
MIND double abs(double a) { return ::fabs(a); }
template <class T> MIND T abs(T a) { return a < T(0) ? neg(a) : a; }
template <class T> MIND T maximum(T a, T b) { return a >= b || a != a ? a : b; }
template <class T> MIND T minimum(T a, T b) { return a <= b || a != a ? a : b; }
template <class T> MIND T clamp(T x, T low, T high) { return minimum(maximum(x, low), high); }
template <class T> MIND T sign(T x) {
    if constexpr (is_signed<T>() || Is<T>::real) return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
    else return x > T(0) ? T(1) : x;
}
MIND bool invert(bool a) { return !a; }
template <class T> MIND T invert(T a) { return T(~a); }
template <class T> MIND T both(T a, T b) { return T(a & b); }
template <class T> MIND T either(T a, T b) { return T(a | b); }
template <class T> MIND T differ(T a, T b) { return T(a ^ b); }

// The divisor is not 0: the caller saw to it.
template <class T> MIND T divide(T a, T b) {
    if constexpr (Is<T>::real) return a / b;
    else if constexpr (is_signed<T>()) return b == T(-1) ? neg(a) : T(a / b);
    else return T(a / b);
}
MIND float remainder(float a, float b) { return fmodf(a, b); }
MIND double remainder(double a, double b) { return ::fmod(a, b); }
template <class T> MIND T remainder(T a, T b) {
    if constexpr (is_signed<T>()) return b == T(-1) ? T(0) : T(a % b);
    else return T(a % b);
}

// Amounts that are negative or too large shift everything out.
template <class T> MIND T shift_left(T a, T b) {
    return Bits<T>(b) < 8 * sizeof(T) ? T(Bits<T>(a) << Bits<T>(b)) : T(0);
}
template <class T> MIND T shift_right_logical(T a, T b) {
    if (!(Bits<T>(b) < 8 * sizeof(T))) return T(0);
    const Bits<T> kept = sizeof(T) == 8 ? ~Bits<T>(0) : Bits<T>((ui64(1) << (8 * sizeof(T))) - 1);
    return T((Bits<T>(a) & kept) >> Bits<T>(b));
}
template <class T> MIND T shift_right_arithmetic(T a, T b) {
    const int width = 8 * int(sizeof(T)), amount = Bits<T>(b) < Bits<T>(width) ? int(b) : width - 1;
    const si64 whole = si64(ui64(a) << (64 - width)) >> (64 - width);
    return T(whole >> amount);
}

// Functions of real numbers.

MIND float exp(float x) { return expf(x); }
MIND double exp(double x) { return ::exp(x); }
MIND float log(float x) { return logf(x); }
MIND double log(double x) { return ::log(x); }
MIND float tanh(float x) { return tanhf(x); }
MIND double tanh(double x) { return ::tanh(x); }
MIND float erf(float x) { return erff(x); }
MIND double erf(double x) { return ::erf(x); }
MIND float sin(float x) { return sinf(x); }
MIND double sin(double x) { return ::sin(x); }
MIND float cos(float x) { return cosf(x); }
MIND double cos(double x) { return ::cos(x); }
MIND float expm1(float x) { return expm1f(x); }
MIND double expm1(double x) { return ::expm1(x); }
MIND float log1p(float x) { return log1pf(x); }
MIND double log1p(double x) { return ::log1p(x); }
MIND float sqrt(float x) { return sqrtf(x); }
MIND double sqrt(double x) { return ::sqrt(x); }
MIND float floor(float x) { return floorf(x); }
MIND double floor(double x) { return ::floor(x); }
MIND float ceil(float x) { return ceilf(x); }
MIND double ceil(double x) { return ::ceil(x); }
MIND float round(float x) { return rintf(x); }
MIND double round(double x) { return ::rint(x); }
MIND float round_away(float x) { return roundf(x); }
MIND double round_away(double x) { return ::round(x); }
MIND float cbrt(float x) { return cbrtf(x); }
MIND double cbrt(double x) { return ::cbrt(x); }
MIND float atan2(float a, float b) { return atan2f(a, b); }
MIND double atan2(double a, double b) { return ::atan2(a, b); }
MIND float erf_inv(float x) { return erfinvf(x); }
MIND double erf_inv(double x) { return erfinv(x); }
MIND float lgamma(float x) { return lgammaf(x); }
MIND double lgamma(double x) { return ::lgamma(x); }
template <class T> MIND ui64 unsigned_bits(T x) {
    return ui64(x) & (sizeof(T) == 8 ? ~ui64(0) : (ui64(1) << (8 * sizeof(T) % 64)) - 1);
}
template <class T> MIND T popcount(T x) { return T(__popcll(unsigned_bits(x))); }
template <class T> MIND T count_leading_zeros(T x) { return T(__clzll(si64(unsigned_bits(x))) - int(64 - 8 * sizeof(T))); }
MIND float trunc(float x) { return truncf(x); }
MIND double trunc(double x) { return ::trunc(x); }
MIND float pow(float a, float b) { return powf(a, b); }
MIND double pow(double a, double b) { return ::pow(a, b); }
template <class T> MIND T pow(T a, T b) {  // of integers, b being not negative; wraps
    Bits<T> found = 1, base = Bits<T>(a);
    for (ui64 left = ui64(b); left; left >>= 1, base *= base)
        if (left & 1) found *= base;
    return T(found);
}
template <class T> MIND T reciprocal(T x) { return T(1) / x; }
template <class T> MIND T rsqrt(T x) { return T(1) / mind::sqrt(x); }
template <class T> MIND T logistic(T x) {  // of an exponential that does not overflow
    const T small = mind::exp(-mind::abs(x));
    return (x < T(0) ? small : T(1)) / (small + T(1));
}

// f16 and bf16, round to nearest, ties to even.

MIND float widen(bf16 x) { return __uint_as_float(ui32(x.bits) << 16); }
MIND bf16 narrow_bf16(float x) {
    const ui32 bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16{ui16(bits >> 16 | 0x40u)};
    return bf16{ui16((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
#ifdef __CUDACC__
MIND float widen(f16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
MIND f16 narrow_f16(float x) { f16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x)); return y; }
#else
MIND float widen(f16 x) {
    const ui32 sign = ui32(x.bits & 0x8000u) << 16, exponent = x.bits >> 10 & 31u, fraction = x.bits & 1023u;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | fraction << 13);
    if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = float(fraction) * __uint_as_float(0x33800000u);  // 2^-24
    return sign ? -tiny : tiny;
}
MIND f16 narrow_f16(float x) {
    const ui32 bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return f16{ui16(sign | 0x7e00u)};
    if (size >= 0x477ff000u) return f16{ui16(sign | 0x7c00u)};  // 65520 rounds to infinity
    if (size < 0x38800000u) {  // below 2^-14 adding 0.5 leaves just the bits that are kept
        return f16{ui16(sign | (__float_as_uint(__uint_as_float(size) + 0.5f) - 0x3f000000u))};
    }
    return f16{ui16(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13)};
}
#endif

// How a value in a register relates to its place in memory: `Stored<f16>::load` gives f32.
template <class S> struct Stored {
    static MIND S load(S x) { return x; }
    static MIND S store(S x) { return x; }
};
template <> struct Stored<f16> {
    static MIND float load(f16 x) { return widen(x); }
    static MIND f16 store(float x) { return narrow_f16(x); }
};
template <> struct Stored<bf16> {
    static MIND float load(bf16 x) { return widen(x); }
    static MIND bf16 store(float x) { return narrow_bf16(x); }
};
template <class S, class T> MIND T rounded(T x) { return Stored<S>::load(Stored<S>::store(x)); }

// Casts: to floats nearest, rounded once; to integers truncated and saturated, NaN to 0; to i1 whether it is not 0.

MIND float odd(double x) {  // in f32, with the last bit set if inexact: rounded once more it is as if rounded once
    const float near = float(x);
    const double back = near;
    if (back == x || x != x) return near;
    const ui32 bits = __float_as_uint(near) - (mind::abs(back) > mind::abs(x) ? 1u : 0u);
    return __uint_as_float(bits | 1u);
}
template <class T> MIND double odd_double(T x) {  // 64-bit integers; the bits that f64 has no room for are gathered in its last
    const ui64 size = x < T(0) ? ui64(0) - ui64(x) : ui64(x);
    const bool lossy = size > (ui64(1) << 53) && (ui64(x) & 0x7ff);
    return double(lossy ? T((ui64(x) & ~ui64(0x7ff)) | 0x800) : x);
}
template <class T, class F> MIND T truncated(F x) {
    if (x != x) return T(0);
    const F whole = mind::trunc(x), above = F(2) * F(ui64(1) << (8 * sizeof(T) - 1 - (is_signed<T>() ? 1 : 0)));
    if (whole >= above) return most<T>();
    if (whole < F(least<T>())) return least<T>();
    return T(whole);
}
template <class T, class F> MIND T clipped(F x) {  // between integers
    if (x < F(0)) {
        if constexpr (!is_signed<T>()) return T(0);
        else return si64(x) < si64(least<T>()) ? least<T>() : T(x);
    }
    return ui64(x) > ui64(most<T>()) ? most<T>() : T(x);
}
template <class T, class F> MIND T cast(F x) {
    if constexpr (sizeof(T) == sizeof(bool) && T(2) == T(1)) return x != F(0);
    else if constexpr (Is<T>::real || (sizeof(F) == sizeof(bool) && F(2) == F(1))) return T(x);
    else if constexpr (Is<F>::real) return truncated<T>(x);
    else return clipped<T>(x);
}
// To f16 and bf16, in a register of f32.
template <class S, class F> MIND float cast_narrow(F x) {
    if constexpr (Is<F>::real && sizeof(F) == 8) return rounded<S>(odd(x));
    else if constexpr (!Is<F>::real && sizeof(F) == 8) return rounded<S>(odd(odd_double(x)));
    else if constexpr (!Is<F>::real && sizeof(F) == 4) return rounded<S>(odd(double(x)));
    else return rounded<S>(float(x));
}

// The bits of a number as it lies in memory, as those of another dtype of the same width.
template <class T, class S, class R> MIND auto bitcast(R x) {
    union { S from; T to; } bits;
    bits.from = Stored<S>::store(x);
    return Stored<T>::load(bits.to);
}

// Several elements at once, all of them or those before `end`. Pointers are aligned to 16 bytes and `base` to `count` elements.

template <class S, int count> struct alignas(sizeof(S) * count) Pack { S at[count]; };

template <int count, class S, class R, class I> MIND void load(R (&to)[count], const S* from, I base) {
    const Pack<S, count> pack = *reinterpret_cast<const Pack<S, count>*>(from + base);
#pragma unroll
    for (int j = 0; j < count; ++j) to[j] = Stored<S>::load(pack.at[j]);
}
template <int count, class S, class R, class I> MIND void load(R (&to)[count], const S* from, I base, I end) {
    if (base + count <= end) {
        load(to, from, base);
    } else {
#pragma unroll
        for (int j = 0; j < count; ++j) to[j] = base + j < end ? Stored<S>::load(from[base + j]) : R(0);
    }
}
template <int count, class S, class R, class I> MIND void store(S* to, const R (&from)[count], I base) {
    Pack<S, count> pack;
#pragma unroll
    for (int j = 0; j < count; ++j) pack.at[j] = Stored<S>::store(from[j]);
    *reinterpret_cast<Pack<S, count>*>(to + base) = pack;
}
template <int count, class S, class R, class I> MIND void store(S* to, const R (&from)[count], I base, I end) {
    if (base + count <= end) {
        store(to, from, base);
    } else {
#pragma unroll
        for (int j = 0; j < count; ++j)
            if (base + j < end) to[base + j] = Stored<S>::store(from[j]);
    }
}

// Reductions, always in the same order.

struct Sum { template <class T> static MIND T of(T a, T b) { return add(a, b); } };
struct Max { template <class T> static MIND T of(T a, T b) { return maximum(a, b); } };
struct Prod { template <class T> static MIND T of(T a, T b) { return mul(a, b); } };
struct And { template <class T> static MIND T of(T a, T b) { return both(a, b); } };
struct Or { template <class T> static MIND T of(T a, T b) { return either(a, b); } };
struct Xor { template <class T> static MIND T of(T a, T b) { return differ(a, b); } };
struct Min { template <class T> static MIND T of(T a, T b) { return minimum(a, b); } };

template <class T> MIND T shuffled(T x, int distance) {
    if constexpr (sizeof(T) == 8 && !Is<T>::real) return T(__shfl_xor_sync(0xffffffffu, si64(x), distance));
    else if constexpr (Is<T>::real) return __shfl_xor_sync(0xffffffffu, x, distance);
    else return T(__shfl_xor_sync(0xffffffffu, int(x), distance));
}
// The greatest so far and the place of the first of it; of NaNs the first one. Nothing so far has a place below 0.
template <class T, class I> struct Best { T value; I place; };
struct First {
    template <class B> static MIND B of(B a, B b) {
        if (a.place < 0 || b.place < 0) return a.place < 0 ? b : a;
        const bool left = a.value != a.value, right = b.value != b.value;
        if (left != right) return left ? a : b;
        if (!left && a.value != b.value) return a.value > b.value ? a : b;
        return a.place < b.place ? a : b;
    }
};
template <class T, class I> MIND Best<T, I> shuffled(Best<T, I> x, int distance) {
    return {shuffled(x.value, distance), shuffled(x.place, distance)};
}
// The reduction of one `x` per lane over `lanes` neighbours.
template <class K, int lanes, class T> MIND T warp(T x) {
#pragma unroll
    for (int distance = lanes / 2; distance; distance >>= 1) x = K::of(x, shuffled(x, distance));
    return x;
}
// The reduction of one `x` per thread of a team of neighbours: some of a warp, or the whole block. All of them get it.
template <class K, int team, class T> MIND T all(T x, T identity) {
    if constexpr (team <= 32) return warp<K, team>(x);
    else {
        x = warp<K, 32>(x);
        __shared__ T parts[32];
        const int lane = threadIdx.x % 32, number = threadIdx.x / 32;
        __syncthreads();
        if (lane == 0) parts[number] = x;
        __syncthreads();
        return warp<K, 32>(lane < team / 32 ? parts[lane] : identity);
    }
}
// The reduction over threads `lanes` apart: one for each of as many threads, all of the block together. All get it.
template <class K, int count, int lanes = 32, class T> MIND T across(T x) {
    __shared__ T parts[count][lanes];
    const int lane = threadIdx.x % lanes, number = threadIdx.x / lanes;
    __syncthreads();
    parts[number][lane] = x;
    __syncthreads();
    x = parts[0][lane];
#pragma unroll
    for (int i = 1; i < count; ++i) x = K::of(x, parts[i][lane]);
    return x;
}
// Whether this block is the last of `count` to come here, for each counter. What the others wrote before is visible then.
// The last one leaves the counter as it was, for the next launch.
MIND bool is_last(ui32* counter, ui32 count) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicAdd(counter, 1u) == count - 1;
        if (last) *counter = 0;
    }
    __syncthreads();
    __threadfence();
    return last;
}

// Failures. `record[0]` is the least site and place so far, `record[2]` the number there; all is ones at first. `record[1]` is a lock:
// it is 0 while one thread looks and writes.
MIND void fail(ui64* record, ui64 site, ui64 place, si64 number) {
    const ui64 key = site << 56 | place, none = ~ui64(0);
    while (atomicCAS(&record[1], none, ui64(0)) != none) {}
    if (key < atomicMin(&record[0], key)) atomicExch(&record[2], ui64(number));
    __threadfence();
    atomicExch(&record[1], none);
}

}  // namespace mind
