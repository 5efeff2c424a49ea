// Products of 64 rows by four warps together, with the right operand in shared memory (`wgmma` of sm_90a), and attention by them.
//
// A tile of shared memory has rows of 64 elements of 16 bits, 128 bytes, eight of which are an atom that begins at a multiple of
// 1024 bytes. The piece of 16 bytes number c of row r is at c ^ r % 8 of its row: the swizzle of 128 bytes. A descriptor has the
// address of a tile, the distances of atoms along its other axis and down the rows, in units of 16 bytes, and the swizzle.
//
// Each warp has 16 rows, whose sums and left operand are distributed as those of m16n8k16. Registers of sums and operands
// belong to the machine from `group_fence` to `group_wait`. The machine reads what `shared_fence` has shown it, after a barrier.
// For other machines, `attend_warp_group` is `attend_narrow`.

namespace mind {

#if !defined(__CUDACC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)

#ifdef __CUDACC__
// Keeps the compiler from moving what it does with registers over a fence or a wait.
template <int n> MIND void hold(float (&d)[n][4]) {
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("" : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])::"memory");
}
MIND void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
MIND void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
MIND void group_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
MIND void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
MIND ui64 shared_address(const void* at) { return __cvta_generic_to_shared(at); }
MIND void put_eight(ui16* to, const Pack<ui16, 8>& pack) { *reinterpret_cast<Pack<ui16, 8>*>(to) = pack; }

// The sums of a tile that a thread has: 8 times 8 columns.
#define MIND_SUMS(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define MIND_GROUP_PRODUCT(type, by_columns) \
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, 1, 1, 1, " by_columns ";" \
        : MIND_SUMS(0), MIND_SUMS(1), MIND_SUMS(2), MIND_SUMS(3), MIND_SUMS(4), MIND_SUMS(5), MIND_SUMS(6), MIND_SUMS(7) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b) : "memory")
template <class S> constexpr bool is_f16 = false;
template <> constexpr bool is_f16<f16> = true;
// D (64 by 64) += A (64 by 16) B (16 by 64); columns of B are rows of its tile, but rows of the tile `by_columns`.
template <class S, bool by_columns> MIND void multiply_group(float (&d)[8][4], const ui32 (&a)[4], ui64 b) {
    if constexpr (is_f16<S> && by_columns) MIND_GROUP_PRODUCT("f16", "1");
    else if constexpr (is_f16<S>) MIND_GROUP_PRODUCT("f16", "0");
    else if constexpr (by_columns) MIND_GROUP_PRODUCT("bf16", "1");
    else MIND_GROUP_PRODUCT("bf16", "0");
}
#else
template <int n> MIND void hold(float (&)[n][4]) {}
MIND void group_fence() { on_cpu::group_fence(); }
MIND void group_commit() { on_cpu::group_commit(); }
MIND void group_wait() { on_cpu::group_wait(); }
MIND void shared_fence() { on_cpu::shared_fence(); }
MIND ui64 shared_address(const void* at) { return on_cpu::shared_address(at); }
MIND void put_eight(ui16* to, const Pack<ui16, 8>& pack) {
    memcpy(to, &pack, 16);
    on_cpu::stored(to, 16);
}
template <class S, bool by_columns> MIND void multiply_group(float (&d)[8][4], const ui32 (&a)[4], ui64 b) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    if (__shfl_sync(0xffffffffu, b, 0) != b) on_cpu::error = "lanes multiply by different matrices";
    float left[2][16], sums[32];
    for (int from = 0; from < 4; ++from)
        for (int e = 0; e < 4; ++e) {
            const ui32 pair = __shfl_sync(0xffffffffu, a[e], 4 * g + from);
            for (int which = 0; which < 2; ++which) left[e % 2][2 * from + e / 2 * 8 + which] = part<S>(pair, which);
        }
    on_cpu::group_sums(&d[0][0], sums);
    for (int e = 0; e < 32; ++e)
        for (int k = 0; k < 16; ++k)
            sums[e] += left[e % 4 / 2][k] * Stored<S>::load(S{on_cpu::group_element(b, by_columns, 8 * (e / 4) + 2 * t + e % 2, k)});
    on_cpu::group_issue(&d[0][0], sums, a, b, by_columns);
}
#endif

MIND ui64 descriptor(const ui16* at, ui32 across, ui32 down) {
    return (shared_address(at) & 0x3ffff) >> 4 | ui64(across >> 4) << 16 | ui64(down >> 4) << 32 | 1ull << 62;
}
// `count` rows of f16 or bf16 from `first` on, in tiles of 64 columns.
template <int threads, int count, int width, class M, class I> MIND void rows_swizzled(ui16* to, M m, I first, I end) {
    constexpr int across = width / 8;
    const bool is_aligned = m.column == 1 && m.row % 8 == 0 && (reinterpret_cast<ui64>(m.at) & 15) == 0;
    for (int e = threadIdx.x; e < count * across; e += threads) {
        const int r = e / across, c = e % across;
        const I row = first + r, column = I(c * 8);
        ui16* at = to + c / 8 * (count * 64) + r * 64 + (c % 8 ^ r % 8) * 8;
        const bool is_there = row < end;
        if (is_aligned) {
            copy_ahead(at, m.at + (is_there ? row * m.row + column : I(0)), is_there);
            continue;
        }
        Pack<ui16, 8> pack;
#pragma unroll
        for (int j = 0; j < 8; ++j) pack.at[j] = is_there ? m.get(row, column + j).bits : ui16(0);
        put_eight(at, pack);
    }
}

// As `attend_narrow`, 64 keys at a time. Depths and widths are multiples of 64; `tiles` has room for two tiles of keys and two of
// values, at a multiple of 1024 bytes.
template <int rows, int keys, int depth, int width, class S, class O, class I, class Score, class End>
MIND void attend_warp_group(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, O* out, I pitch, I first, float hidden,
                            float* greatests, float* shares, Score score, End end, ui16* tiles) {
    constexpr int steps = depth / 16, wide = 64, columns = width / 8, of_k = wide * depth, of_v = wide * width, atom = 1024;
    ui16 *ks = tiles, *vs = tiles + 2 * of_k;
    const I top = first + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;  // and 8 below
    ui32 a[steps][4];
    operand(a, q, top, I(rows));
    float greatest[2] = {nothing<float>(), nothing<float>()}, total[2] = {0.0f, 0.0f}, o[columns][4] = {};
    const I seen = end(first + 64 < rows ? first + 63 : I(rows) - 1);
    bool is_copied = false;
    int now = 0;
    __syncthreads();
    for (I key = 0; key < keys; key += wide, now ^= 1) {
        if (key >= seen) {
            const bool more = (top < rows && !(greatest[0] > hidden / 2)) || (top + 8 < rows && !(greatest[1] > hidden / 2));
            if (!all<Max, 128>(int(more), 0)) break;
        }
        if (!is_copied) {
            rows_swizzled<128, wide, depth>(ks + now * of_k, k, key, I(keys));
            rows_swizzled<128, wide, width>(vs + now * of_v, v, key, I(keys));
        }
        copies_arrive();
        shared_fence();
        __syncthreads();  // and everyone is done with the tile before, whose place the next one takes
        is_copied = key + wide < seen && key + wide < keys;
        if (is_copied) {
            rows_swizzled<128, wide, depth>(ks + (now ^ 1) * of_k, k, I(key + wide), I(keys));
            rows_swizzled<128, wide, width>(vs + (now ^ 1) * of_v, v, I(key + wide), I(keys));
        }
        float s[8][4] = {};
        hold(s);
        group_fence();
#pragma unroll
        for (int i = 0; i < steps; ++i)
            multiply_group<S, false>(s, a[i], descriptor(ks + now * of_k + i / 4 * (wide * 64) + i % 4 * 16, 16, atom));
        group_commit();
        group_wait();
        hold(s);
        soften<rows, keys>(s, o, greatest, total, top, key, score);
        ui32 w[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int e = 0; e < 4; ++e) w[i][e] = packed<S>(s[2 * i + e / 2][e % 2 * 2], s[2 * i + e / 2][e % 2 * 2 + 1]);
        hold(o);
        group_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int n = 0; n < columns; n += 8)
                multiply_group<S, true>(*reinterpret_cast<float(*)[8][4]>(o[n]), w[i],
                                        descriptor(vs + now * of_v + n / 8 * (wide * 64) + i * 16 * 64, wide * 128, atom));
        group_commit();
        group_wait();
        hold(o);
    }
    put_softened<rows>(out, pitch, top, o, greatest, total, greatests, shares);
}

#else

template <int rows, int keys, int depth, int width, class S, class O, class I, class Score, class End>
MIND void attend_warp_group(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, O* out, I pitch, I first, float hidden,
                            float* greatests, float* shares, Score score, End end, ui16* tiles) {
    attend_narrow<rows, keys, depth, width, 32>(q, k, v, out, pitch, first, hidden, greatests, shares, score, end);
}

#endif

}  // namespace mind
