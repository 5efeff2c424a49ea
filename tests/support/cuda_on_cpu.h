// CUDA kernels as sequential C++: each thread of a block is a fiber that runs until it waits for others.
//
// A warp waits at every shuffle, a block at __syncthreads. A shuffle that not all lanes of a warp reach, or a barrier that not
// all threads of a block reach, ends the launch with an error instead of a hang. Threads are taken up in a given order, so that
// what depends on the order shows. Shared memory is filled with rubbish before each block.

#include <math.h>
#include <string.h>
#include <ucontext.h>

#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static __attribute__((section("cuda_shared")))

struct Dim { unsigned x, y, z; };
static Dim threadIdx, blockIdx, blockDim, gridDim;

namespace on_cpu {

enum State { RUNS, WAITS_WARP, WAITS_BLOCK, DONE };
struct Fiber { ucontext_t context; State state; std::vector<char> stack; };
struct Block {
    std::vector<Fiber> fibers;
    std::vector<unsigned long long> slots;
    ucontext_t back;
    void (*run)(void*);
    void* given;
    unsigned now;
    const char* error;
};
static Block block;

static void wait(State state) {
    Fiber& fiber = block.fibers[block.now];
    fiber.state = state;
    swapcontext(&fiber.context, &block.back);
}

static void enter() {
    block.run(block.given);
    block.fibers[block.now].state = DONE;
}

static bool release(unsigned first, unsigned count, State state) {
    for (unsigned i = first; i < first + count; ++i) if (block.fibers[i].state != state) return false;
    for (unsigned i = first; i < first + count; ++i) block.fibers[i].state = RUNS;
    return true;
}

static unsigned long long mixed(unsigned long long x) {
    x ^= x >> 33; x *= 0xff51afd7ed558ccdull; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ull; x ^= x >> 33;
    return x;
}

extern "C" char __start_cuda_shared[] __attribute__((weak));
extern "C" char __stop_cuda_shared[] __attribute__((weak));

// The threads of one block. `order`: 0 forwards, 1 backwards, else shuffled by that seed.
static void run_block(unsigned threads, unsigned order) {
    if (__start_cuda_shared) memset(__start_cuda_shared, 0xa5, __stop_cuda_shared - __start_cuda_shared);
    for (Fiber& fiber : block.fibers) {
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &block.back;
        makecontext(&fiber.context, enter, 0);
        fiber.state = RUNS;
    }
    for (unsigned long long turn = 0;; ++turn) {
        bool progress = false;
        for (unsigned k = 0; k < threads; ++k) {
            unsigned i = order == 1 ? threads - 1 - k : k;
            if (order > 1) i = (k + mixed(turn * 31 + order)) % threads ^ (mixed(order + turn) & 31);
            if (i >= threads || block.fibers[i].state != RUNS) continue;
            block.now = i;
            threadIdx.x = i;
            swapcontext(&block.back, &block.fibers[i].context);
            progress = true;
        }
        unsigned done = 0, waiting = 0;
        for (unsigned i = 0; i < threads; i += 32) release(i, 32, WAITS_WARP);
        for (const Fiber& fiber : block.fibers) { done += fiber.state == DONE; waiting += fiber.state == WAITS_BLOCK; }
        if (done == threads) return;
        if (waiting == threads) { release(0, threads, WAITS_BLOCK); continue; }
        bool runs = false;
        for (const Fiber& fiber : block.fibers) runs |= fiber.state == RUNS;
        if (!runs && !progress) { block.error = "threads wait for others that do not come"; return; }
        if (!runs) { block.error = "a shuffle or barrier that not all threads reach"; return; }
    }
}

template <class... P, size_t... i> void apply(void (*kernel)(P...), void** arrays, std::index_sequence<i...>) {
    kernel(static_cast<P>(arrays[i])...);
}

// Runs a grid; null, or what went wrong.
template <class... P> const char* launch(void (*kernel)(P...), void** arrays, unsigned grid, unsigned threads, unsigned order) {
    auto body = [=] { apply(kernel, arrays, std::index_sequence_for<P...>()); };
    blockDim = {threads, 1, 1};
    gridDim = {grid, 1, 1};
    if (threads % 32) return "a block that is no whole number of warps";
    block.fibers.resize(threads);
    block.slots.resize(threads);
    for (Fiber& fiber : block.fibers) fiber.stack.resize(1 << 16);
    block.run = [](void* given) { (*static_cast<decltype(body)*>(given))(); };
    block.given = &body;
    block.error = nullptr;
    for (unsigned b = 0; b < grid && !block.error; ++b) {
        blockIdx.x = order == 1 ? grid - 1 - b : b;
        run_block(threads, order);
    }
    return block.error;
}

}  // namespace on_cpu

static inline void __syncthreads() { on_cpu::wait(on_cpu::WAITS_BLOCK); }
static inline void __threadfence() {}

template <class T> T __shfl_xor_sync(unsigned mask, T x, int distance) {
    const unsigned me = threadIdx.x;
    if (mask != 0xffffffffu) on_cpu::block.error = "a shuffle of some lanes";
    memcpy(&on_cpu::block.slots[me], &x, sizeof x);
    on_cpu::wait(on_cpu::WAITS_WARP);
    T y;
    memcpy(&y, &on_cpu::block.slots[me ^ unsigned(distance)], sizeof y);
    on_cpu::wait(on_cpu::WAITS_WARP);
    return y;
}

template <class T> T __shfl_sync(unsigned mask, T x, int lane) {
    const unsigned me = threadIdx.x;
    if (mask != 0xffffffffu) on_cpu::block.error = "a shuffle of some lanes";
    memcpy(&on_cpu::block.slots[me], &x, sizeof x);
    on_cpu::wait(on_cpu::WAITS_WARP);
    T y;
    memcpy(&y, &on_cpu::block.slots[me / 32 * 32 + unsigned(lane) % 32], sizeof y);
    on_cpu::wait(on_cpu::WAITS_WARP);
    return y;
}

template <class T> T __shfl_up_sync(unsigned mask, T x, int distance) {
    const int lane = threadIdx.x % 32;
    return __shfl_sync(mask, x, lane < distance ? lane : lane - distance);
}

template <class T> T atomicAdd(T* at, T by) { const T old = *at; *at = old + by; return old; }
template <class T> T atomicExch(T* at, T to) { const T old = *at; *at = to; return old; }
template <class T> T atomicCAS(T* at, T if_it_is, T to) { const T old = *at; if (old == if_it_is) *at = to; return old; }
template <class T> T atomicMin(T* at, T by) { const T old = *at; *at = by < old ? by : old; return old; }

static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
