// CUDA's blocks on the CPU: each thread of a block is a fiber that runs until it waits for others.
//
// A warp waits at every shuffle, a block at __syncthreads. A shuffle that not all lanes of a warp reach, or a barrier that not
// all threads of a block reach, ends the launch with an error instead of a hang. Threads are taken up in a given order, so that
// what depends on the order shows. Shared memory is filled with rubbish before each block. One launch runs at a time.
//
// A fiber lives on when its thread is done, and takes the thread of its number in the next block: to make one, and to switch with
// swapcontext, is a call of the system.

#include "cuda_on_cpu.h"

#include <setjmp.h>
#include <ucontext.h>

#include <mutex>
#include <vector>

Dim threadIdx, blockIdx, blockDim, gridDim;

namespace on_cpu {

unsigned long long slots[1024];
const char* error;

namespace {

struct Fiber { bool made; jmp_buf place; State state; std::vector<char> stack; };
struct Block {
    std::vector<Fiber> fibers;
    jmp_buf back;
    void (*kernel)(void*);
    void* given;
    unsigned now;
};
Block block;
std::mutex one_at_a_time;

void leave(State state) {
    Fiber& fiber = block.fibers[block.now];
    fiber.state = state;
    if (!_setjmp(fiber.place)) _longjmp(block.back, 1);
}

struct Copy { char* to; const char* from; bool is_there; };
std::vector<Copy> copies[1024];  // that each thread has not waited for

void threads_of_one_number() {
    for (;;) {
        block.kernel(block.given);
        if (!copies[block.now].empty()) error = "a copy that nobody waits for";
        leave(DONE);
    }
}

void enter(Fiber& fiber) {
    if (_setjmp(block.back)) return;
    if (fiber.made) _longjmp(fiber.place, 1);
    fiber.made = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.data();
    context.uc_stack.ss_size = fiber.stack.size();
    context.uc_link = nullptr;
    makecontext(&context, threads_of_one_number, 0);
    setcontext(&context);
}

bool release(unsigned first, unsigned count, State state) {
    for (unsigned i = first; i < first + count; ++i) if (block.fibers[i].state != state) return false;
    for (unsigned i = first; i < first + count; ++i) block.fibers[i].state = RUNS;
    return true;
}

unsigned long long mixed(unsigned long long x) {
    x ^= x >> 33; x *= 0xff51afd7ed558ccdull; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ull; x ^= x >> 33;
    return x;
}

bool run_thread(unsigned i) {
    if (block.fibers[i].state != RUNS) return false;
    block.now = i;
    threadIdx.x = i;
    enter(block.fibers[i]);
    return true;
}

// Runs warps one after the other, each as far as it comes without the others; whether any came further.
bool run_warps(unsigned threads) {
    bool progress = false;
    for (unsigned first = 0; first < threads; first += 32)
        for (bool more = true; more;) {
            more = false;
            for (unsigned i = first; i < first + 32; ++i) more |= run_thread(i);
            release(first, 32, WAITS_WARP);
            progress |= more;
        }
    return progress;
}

// The threads of one block. `order`: 0 forwards, 1 backwards, 2 warp by warp, else shuffled by that seed.
void run_block(unsigned threads, unsigned order) {
    for (unsigned i = 0; i < threads; ++i) block.fibers[i].state = RUNS;
    for (unsigned long long iteration = 0;; ++iteration) {
        bool progress = order == 2 && run_warps(threads);
        for (unsigned k = 0; k < threads && order != 2; ++k) {
            unsigned i = order == 1 ? threads - 1 - k : k;
            if (order > 1) i = (k + mixed(iteration * 31 + order)) % threads ^ (mixed(order + iteration) & 31);
            progress |= i < threads && run_thread(i);
        }
        unsigned done = 0, waiting = 0, running = 0;
        for (unsigned i = 0; i < threads; i += 32) release(i, 32, WAITS_WARP);
        for (unsigned i = 0; i < threads; ++i) {
            done += block.fibers[i].state == DONE;
            waiting += block.fibers[i].state == WAITS_BLOCK;
            running += block.fibers[i].state == RUNS;
        }
        if (done == threads) return;
        if (waiting == threads) { release(0, threads, WAITS_BLOCK); continue; }
        if (!running && !progress) { error = "threads wait for others that do not come"; return; }
        if (!running) { error = "a shuffle or barrier that not all threads reach"; return; }
    }
}

}  // namespace

void wait(State state) { leave(state); }

void copy_ahead(void* to, const void* from, bool is_there) {
    if ((reinterpret_cast<unsigned long long>(to) | reinterpret_cast<unsigned long long>(from)) & 15)
        error = "a copy from or to no multiple of 16 bytes";
    copies[block.now].push_back({static_cast<char*>(to), static_cast<const char*>(from), is_there});
    memset(to, 0xff, 16);  // NaN of every float
}

void copies_arrive() {
    for (const Copy& copy : copies[block.now]) {
        if (copy.is_there) memcpy(copy.to, copy.from, 16);
        else memset(copy.to, 0, 16);
    }
    copies[block.now].clear();
}

const char* run(void (*kernel)(void*), void* given, unsigned grid, unsigned threads, unsigned order, Shared shared) {
    std::lock_guard<std::mutex> held(one_at_a_time);
    blockDim = {threads, 1, 1};
    gridDim = {grid, 1, 1};
    if (threads % 32 || threads > 1024) return "a block that is no whole number of warps, or of too many";
    while (block.fibers.size() < threads) {
        block.fibers.emplace_back();
        block.fibers.back().stack.resize(1 << 16);
    }
    block.kernel = kernel;
    block.given = given;
    error = nullptr;
    for (std::vector<Copy>& left : copies) left.clear();
    for (unsigned b = 0; b < grid && !error; ++b) {
        blockIdx.x = order == 1 ? grid - 1 - b : b;
        if (shared.start) memset(shared.start, 0xa5, shared.stop - shared.start);
        run_block(threads, order);
    }
    for (Fiber& fiber : block.fibers) if (fiber.state != DONE) fiber.made = false;  // left in the middle
    return error;
}

}  // namespace on_cpu
