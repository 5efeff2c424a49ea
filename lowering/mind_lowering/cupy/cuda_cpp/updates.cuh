// Running sums over a block, and elements that several updates meet in: each combines them in the order of the updates.

namespace mind {

struct Last { template <class T> static MIND T of(T, T b) { return b; } };

MIND void add_to(float* at, float x) { atomicAdd(at, x); }
MIND void add_to(double* at, double x) { atomicAdd(at, x); }
template <class T> MIND void add_to(T* at, T x) {  // of integers, as if without a sign
    if constexpr (sizeof(T) == 8) atomicAdd(reinterpret_cast<ui64*>(at), ui64(x));
    else atomicAdd(reinterpret_cast<ui32*>(at), ui32(x));
}

// As an integer of its size and sign that atomics have.
template <class T, bool is_wide = sizeof(T) == 8, bool is_signed = T(-1) < T(0)> struct Atomic { typedef ui32 type; };
template <class T> struct Atomic<T, false, true> { typedef int type; };
template <class T> struct Atomic<T, true, false> { typedef ui64 type; };
template <class T> struct Atomic<T, true, true> { typedef si64 type; };
template <class T> MIND void max_to(T* at, T x) { atomicMax(reinterpret_cast<typename Atomic<T>::type*>(at), typename Atomic<T>::type(x)); }
template <class T> MIND void min_to(T* at, T x) { atomicMin(reinterpret_cast<typename Atomic<T>::type*>(at), typename Atomic<T>::type(x)); }

template <class T> MIND T from_below(T x, int distance) {
    if constexpr (sizeof(T) == 8 && !Is<T>::real) return T(__shfl_up_sync(0xffffffffu, si64(x), distance));
    else if constexpr (Is<T>::real) return __shfl_up_sync(0xffffffffu, x, distance);
    else return T(__shfl_up_sync(0xffffffffu, int(x), distance));
}
// The sum of what the threads before this one have, of 256; and that of all.
template <class T> MIND T scan(T x, T& sum) {
    __shared__ T parts[8];
    const int lane = threadIdx.x % 32, number = threadIdx.x / 32;
    T found = x;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const T below = from_below(found, distance);
        if (lane >= distance) found = add(below, found);
    }
    __syncthreads();
    if (lane == 31) parts[number] = found;
    __syncthreads();
    T before = T(0);
    sum = T(0);
    for (int i = 0; i < 8; ++i) {
        if (i == number) before = sum;
        sum = add(sum, parts[i]);
    }
    const T below = from_below(found, 1);
    return lane ? add(before, below) : before;
}

// The updates `first` up to `count` for which `is_mine`, in order, by 256 threads: `take(update)` for each, by all threads.
template <class I, class Mine, class Take> MIND void in_order(I first, I count, Mine is_mine, Take take) {
    __shared__ I found[256];
    for (I base = first; base < count; base += 256) {
        const I j = base + threadIdx.x;
        const int mine = j < count && is_mine(j);
        int sum;
        const int place = scan(mine, sum);
        if (mine) found[place] = j;
        __syncthreads();
        for (int i = 0; i < sum; ++i) take(found[i]);
        __syncthreads();
    }
}

}  // namespace mind
