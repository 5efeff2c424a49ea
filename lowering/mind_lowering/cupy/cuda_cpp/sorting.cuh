// Stable sorts of rows: what is sorted are keys with the places they come from, no two of which are equal.
//
// A block sorts a tile in shared memory; sorted runs are merged two by two, each block finding where its share begins in both.

namespace mind {

// Unsigned integers in the order of the elements, equal for equal ones: -0 is 0, NaN is the greatest.
template <class T> MIND ui64 sort_key(T x) {
    if constexpr (Is<T>::real) {
        const T plain = x + T(0);
        const int width = 8 * int(sizeof(T));
        const ui64 top = ui64(1) << (width - 1);
        ui64 bits;
        if constexpr (sizeof(T) == 4) bits = __float_as_uint(plain);
        else bits = ui64(__double_as_longlong(plain));
        if (x != x) return top | (top - 1);
        return bits & top ? (top | (top - 1)) ^ bits : bits | top;
    } else if constexpr (sizeof(T) == 8) {
        return is_signed<T>() ? ui64(x) ^ ui64(1) << 63 : ui64(x);
    } else {
        return is_signed<T>() ? ui64(ui32(x) ^ 0x80000000u) : ui64(x);
    }
}

// A key of 32 bits and its place in one number.
struct Entry32 {
    ui64 bits;
    static MIND Entry32 of(ui64 key, bool descending, ui32 place) {
        return Entry32{ui64(descending ? ~ui32(key) : ui32(key)) << 32 | place};
    }
    static MIND Entry32 last() { return Entry32{~ui64(0)}; }
    MIND ui32 place() const { return ui32(bits); }
    MIND bool before(const Entry32& other) const { return bits < other.bits; }
};
struct alignas(16) Entry64 {
    ui64 key;
    ui64 from;
    static MIND Entry64 of(ui64 key, bool descending, ui32 place) { return Entry64{descending ? ~key : key, place}; }
    static MIND Entry64 last() { return Entry64{~ui64(0), ~ui64(0)}; }
    MIND ui32 place() const { return ui32(from); }
    MIND bool before(const Entry64& other) const { return key < other.key || (key == other.key && from < other.from); }
};

// Sorts `size` entries of shared memory, a power of two; a bitonic network.
template <int size, int threads, class E> MIND void sort_shared(E* s) {
    __syncthreads();
    for (int k = 2; k <= size; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            for (int i = threadIdx.x; i < size / 2; i += threads) {
                const int low = 2 * i - (i & (j - 1)), high = low + j;
                const E a = s[low], b = s[high];
                if (b.before(a) == ((low & k) == 0)) {
                    s[low] = b;
                    s[high] = a;
                }
            }
            __syncthreads();
        }
    }
}

// The first `kept` entries of tile `tile` of `count` entries of a row: `entry(place)` gives them, `put(place, entry)` takes them.
template <class E, int size, int threads, class I, class Get, class Put>
MIND void sort_tile(I tile, I count, I kept, Get entry, Put put) {
    __shared__ E s[size];
    const I first = tile * size;
    for (int i = threadIdx.x; i < size; i += threads) s[i] = first + i < count ? entry(first + i) : E::last();
    sort_shared<size, threads>(s);
    for (int i = threadIdx.x; i < kept; i += threads) put(I(tile * kept + i), s[i]);
}

// How many of the first `d` entries of two sorted runs together are of the first of them.
template <class E> MIND int merged_from_first(const E* a, int la, const E* b, int lb, int d) {
    int low = d > lb ? d - lb : 0, high = d < la ? d : la;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (b[d - 1 - middle].before(a[middle])) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Share `share` of a row of `count` entries whose runs of `run` entries are sorted, merged two by two; `put(place, entry)` takes it.
template <class E, int threads, class I, class Put> MIND void merge_runs(const E* from, I share, I count, I run, Put put) {
    constexpr int each = 4, size = threads * each;
    __shared__ E s[size];
    const I first = share * size, start = first / (2 * run) * (2 * run);
    const int la = int(mind::minimum(run, I(count - start)));
    const int lb = int(mind::maximum(I(0), mind::minimum(run, I(count - start - la))));
    const E *a = from + start, *b = a + la;
    const int d0 = int(first - start), d1 = mind::minimum(d0 + size, la + lb);
    const int i0 = merged_from_first(a, la, b, lb, d0), i1 = merged_from_first(a, la, b, lb, d1);
    const int na = i1 - i0, nb = d1 - d0 - na;
    for (int i = threadIdx.x; i < na + nb; i += threads) s[i] = i < na ? a[i0 + i] : b[d0 - i0 + (i - na)];
    __syncthreads();
    const int d = mind::minimum(int(threadIdx.x) * each, na + nb);
    int i = merged_from_first(s, na, s + na, nb, d), j = d - i;
#pragma unroll
    for (int n = 0; n < each; ++n) {
        if (d + n < na + nb) {
            const bool second = i >= na || (j < nb && s[na + j].before(s[i]));
            put(I(first + d + n), second ? s[na + j] : s[i]);
            second ? ++j : ++i;
        }
    }
}

}  // namespace mind
