// CUDA kernels as sequential C++: what the text of kernels sees of it. The blocks and their threads are in cuda_on_cpu.cpp.
//
// Every module of kernels is compiled with this, so that nothing is here that takes g++ long.

#include <math.h>
#include <string.h>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("cuda_shared")))

inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline double erfinv(double x) {  // Newton's method, on the error function of what is missing to 1 where that is small
    if (!(x > -1 && x < 1)) return x == 1 || x == -1 ? x * INFINITY : NAN;
    const double a = x < 0 ? -x : x;
    double y = a < 0.9 ? a : sqrt(-log(1 - a));
    for (int i = 0; i < 60; ++i) y -= (a < 0.9 ? erf(y) - a : (1 - a) - erfc(y)) * 0.8862269254527580137 * exp(y * y);
    return x == 0 ? x : x < 0 ? -y : y;
}
inline float erfinvf(float x) { return float(erfinv(x)); }

struct Dim { unsigned x, y, z; };
extern Dim threadIdx, blockIdx, blockDim, gridDim;

extern "C" char __start_cuda_shared[] __attribute__((weak));
extern "C" char __stop_cuda_shared[] __attribute__((weak));

namespace on_cpu {

enum State { RUNS, WAITS_WARP, WAITS_BLOCK, DONE };
struct Shared { char *start, *stop; };  // of a module

extern unsigned long long slots[1024];  // what the threads of a block show each other
extern const char* error;

void wait(State state);

// Asynchronous copies of 16 bytes, of each thread: rubbish in their place until the thread waits for them.
void copy_ahead(void* to, const void* from, bool is_there);
void copies_arrive();

// Products of four warps together. Their right operand is what `shared_fence` has shown of shared memory: what the thread that
// calls it has copied and stored by `stored`. Sums are rubbish from `group_issue` to `group_wait`, and stay so without a fence
// before, if an operand changes meanwhile, or if the product was not committed.
void stored(void* to, unsigned bytes);
void shared_fence();
unsigned long long shared_address(const void* at);
void group_fence();
void group_commit();
void group_wait();
void group_sums(const float* d, float* sums);
unsigned short group_element(unsigned long long descriptor, bool by_columns, unsigned n, unsigned k);
void group_issue(float* d, const float* sums, const unsigned* a, unsigned long long descriptor, bool by_columns);

const char* run(void (*kernel)(void*), void* given, unsigned grid, unsigned threads, unsigned order, Shared shared);

template <unsigned... i> struct Places {};
template <unsigned n, unsigned... i> struct Count : Count<n - 1, n - 1, i...> {};
template <unsigned... i> struct Count<0, i...> { using places = Places<i...>; };

template <class... P, unsigned... i> void apply(void (*kernel)(P...), void** arrays, Places<i...>) {
    kernel(static_cast<P>(arrays[i])...);
}

// Runs a grid; null, or what went wrong.
template <class... P> const char* launch(void (*kernel)(P...), void** arrays, unsigned grid, unsigned threads, unsigned order) {
    auto body = [=] { apply(kernel, arrays, typename Count<sizeof...(P)>::places()); };
    auto call = [](void* given) { (*static_cast<decltype(body)*>(given))(); };
    return run(call, &body, grid, threads, order, {__start_cuda_shared, __stop_cuda_shared});
}

}  // namespace on_cpu

static inline void __syncthreads() { on_cpu::wait(on_cpu::WAITS_BLOCK); }
static inline void __threadfence() {}

template <class T> T __shfl_from(unsigned mask, T x, unsigned from) {
    if (mask != 0xffffffffu) on_cpu::error = "a shuffle of some lanes";
    memcpy(&on_cpu::slots[threadIdx.x], &x, sizeof x);
    on_cpu::wait(on_cpu::WAITS_WARP);
    T y;
    memcpy(&y, &on_cpu::slots[from], sizeof y);
    on_cpu::wait(on_cpu::WAITS_WARP);
    return y;
}

template <class T> T __shfl_xor_sync(unsigned mask, T x, int distance) {
    return __shfl_from(mask, x, threadIdx.x ^ unsigned(distance));
}

template <class T> T __shfl_sync(unsigned mask, T x, int lane) {
    return __shfl_from(mask, x, threadIdx.x / 32 * 32 + unsigned(lane) % 32);
}

template <class T> T __shfl_up_sync(unsigned mask, T x, int distance) {
    const int lane = threadIdx.x % 32;
    return __shfl_sync(mask, x, lane < distance ? lane : lane - distance);
}

template <class T> T atomicAdd(T* at, T by) { const T old = *at; *at = old + by; return old; }
template <class T> T atomicExch(T* at, T to) { const T old = *at; *at = to; return old; }
template <class T> T atomicCAS(T* at, T if_it_is, T to) { const T old = *at; if (old == if_it_is) *at = to; return old; }
template <class T> T atomicMax(T* at, T by) { const T old = *at; *at = by > old ? by : old; return old; }
template <class T> T atomicMin(T* at, T by) { const T old = *at; *at = by < old ? by : old; return old; }

static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline long long __double_as_longlong(double x) { long long y; memcpy(&y, &x, 8); return y; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
