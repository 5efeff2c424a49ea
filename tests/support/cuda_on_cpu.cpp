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

Shared memory;                // of the module that runs
std::vector<char> shown;      // what products of four warps see of it
struct Piece { char* at; unsigned bytes; };
std::vector<Piece> unshown[1024];  // that each thread has written and not shown

// A product that is under way: where its sums will be, what they are, and the operands as they were.
struct Product {
    float *d, sums[32];
    const unsigned* a;
    unsigned left[4];
    unsigned long long descriptor;
    bool by_columns, is_good, is_committed;
    std::vector<unsigned short> right;
};
std::vector<Product> products[1024];
bool is_fenced[1024];
std::vector<unsigned long long> issued[32];  // the descriptors of each warp, in order

const float rubbish = NAN;

// Where products of four warps see an address, if it is in the section of shared memory: arrays of templates are not.
char* shown_at(const void* at, unsigned bytes) {
    const char* found = static_cast<const char*>(at);
    return memory.start && found >= memory.start && found + bytes <= memory.stop ? &shown[found - memory.start] : nullptr;
}

std::vector<unsigned short> right_of(unsigned long long descriptor, bool by_columns) {
    std::vector<unsigned short> found;
    for (unsigned n = 0; n < 64; ++n) for (unsigned k = 0; k < 16; ++k) found.push_back(group_element(descriptor, by_columns, n, k));
    return found;
}

// All warps of a group must have multiplied by the same matrices.
void compare_warps(unsigned threads) {
    for (unsigned warp = 0; warp < threads / 32; ++warp)
        if (issued[warp] != issued[warp / 4 * 4]) error = "warps of a group that multiply by different matrices";
}

void threads_of_one_number() {
    for (;;) {
        block.kernel(block.given);
        if (!copies[block.now].empty()) error = "a copy that nobody waits for";
        if (!products[block.now].empty()) error = "a product that nobody waits for";
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
    if (char* seen = shown_at(to, 16)) memset(seen, 0xff, 16);
}

void copies_arrive() {
    for (const Copy& copy : copies[block.now]) {
        if (copy.is_there) memcpy(copy.to, copy.from, 16);
        else memset(copy.to, 0, 16);
        stored(copy.to, 16);
    }
    copies[block.now].clear();
}

void stored(void* to, unsigned bytes) {
    char* seen = shown_at(to, bytes);
    if (!seen) return;
    unshown[block.now].push_back({static_cast<char*>(to), bytes});
    memset(seen, 0xff, bytes);
}

void shared_fence() {
    for (const Piece& piece : unshown[block.now]) memcpy(shown_at(piece.at, piece.bytes), piece.at, piece.bytes);
    unshown[block.now].clear();
}

unsigned long long shared_address(const void* at) {
    if (!shown_at(at, 1)) error = "an address that is not in shared memory";
    return static_cast<const char*>(at) - memory.start;
}

void group_fence() { is_fenced[block.now] = true; }
void group_commit() { for (Product& product : products[block.now]) product.is_committed = true; }

void group_wait() {
    is_fenced[block.now] = false;
    std::vector<Product> left;
    for (Product& product : products[block.now]) {
        if (!product.is_committed) { left.push_back(product); continue; }
        bool is_good = product.is_good && !memcmp(product.a, product.left, sizeof product.left);
        is_good &= right_of(product.descriptor, product.by_columns) == product.right;
        for (int e = 0; e < 32; ++e) product.d[e] = is_good ? product.sums[e] : rubbish;
    }
    products[block.now] = left;
}

void group_sums(const float* d, float* sums) {
    memcpy(sums, d, 32 * sizeof(float));
    for (const Product& product : products[block.now]) if (product.d == d) memcpy(sums, product.sums, sizeof product.sums);
}

// Element (n, k) of the right operand, as PTX's matrix descriptors and CUTLASS's canonical layouts say.
unsigned short group_element(unsigned long long descriptor, bool by_columns, unsigned n, unsigned k) {
    const unsigned start = unsigned(descriptor & 0x3fff) << 4, leading = unsigned(descriptor >> 16 & 0x3fff) << 4;
    const unsigned stride = unsigned(descriptor >> 32 & 0x3fff) << 4, mode = unsigned(descriptor >> 62);
    const unsigned width = mode ? 256u >> mode : 16;  // bytes of a row of an atom: 128, 64 or 32
    if (descriptor & ~(0x3fffull | 0x3fffull << 16 | 0x3fffull << 32 | 3ull << 62)) error = "a descriptor with bits of no meaning";
    unsigned at = start;
    if (!mode) at += by_columns ? n / 8 * stride + n % 8 * 2 + k % 8 * 16 + k / 8 * leading : n % 8 * 16 + n / 8 * stride + k / 8 * leading + k % 8 * 2;
    else if (by_columns) at += n % (width / 2) * 2 + n / (width / 2) * leading + k % 8 * width + k / 8 * stride;
    else at += n % 8 * width + n / 8 * stride + k * 2;
    if (mode) at ^= (at >> 7 & ((8u >> (mode - 1)) - 1)) << 4;
    if (at + 2 > shown.size()) { error = "a product that reads beyond shared memory"; return 0x7fff; }
    unsigned short found;
    memcpy(&found, &shown[at], 2);
    return found;
}

void group_issue(float* d, const float* sums, const unsigned* a, unsigned long long descriptor, bool by_columns) {
    bool is_good = is_fenced[block.now];
    for (const Product& product : products[block.now]) if (product.d == d) is_good &= product.is_good;
    Product product{d, {}, a, {}, descriptor, by_columns, is_good, false, right_of(descriptor, by_columns)};
    memcpy(product.sums, sums, sizeof product.sums);
    memcpy(product.left, a, sizeof product.left);
    products[block.now].push_back(product);
    for (int e = 0; e < 32; ++e) d[e] = rubbish;
    if (block.now % 32 == 0) issued[block.now / 32].push_back(descriptor);
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
    for (std::vector<Piece>& left : unshown) left.clear();
    for (std::vector<Product>& left : products) left.clear();
    memory = shared;
    for (unsigned b = 0; b < grid && !error; ++b) {
        blockIdx.x = order == 1 ? grid - 1 - b : b;
        if (shared.start) memset(shared.start, 0xa5, shared.stop - shared.start);
        shown.assign(shared.start ? shared.stop - shared.start : 0, char(0xff));
        for (std::vector<unsigned long long>& warp : issued) warp.clear();
        run_block(threads, order);
        if (!error) compare_warps(threads);
    }
    for (Fiber& fiber : block.fibers) if (fiber.state != DONE) fiber.made = false;  // left in the middle
    return error;
}

}  // namespace on_cpu
