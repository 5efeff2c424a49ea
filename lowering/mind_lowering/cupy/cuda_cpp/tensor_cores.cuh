// Products of small matrices of f16 or bf16 by a warp, with sums in f32: D (16 by 8) += A (16 by 16) B (16 by 8).
//
// With g = lane / 4 and t = lane % 4 a lane has of A the pairs of columns 2t and 2t + 8, of rows g and g + 8; of B the pairs of
// rows 2t and 2t + 8 of column g; of D columns 2t and 2t + 1 of rows g and g + 8. That is what the machine says of m16n8k16.

namespace mind {

#ifdef __CUDACC__
MIND ui32 pair(const ui16* at) { return *reinterpret_cast<const ui32*>(at); }
#else
MIND ui32 pair(const ui16* at) { return ui32(at[0]) | ui32(at[1]) << 16; }
#endif
template <class S> MIND ui32 packed(float low, float high) {
    return ui32(Stored<S>::store(low).bits) | ui32(Stored<S>::store(high).bits) << 16;
}
template <class S> MIND float part(ui32 pair, int which) { return Stored<S>::load(S{ui16(pair >> 16 * which)}); }

template <class S> MIND void multiply(float (&d)[4], const ui32 (&a)[4], const ui32 (&b)[2]);

// Four 8 by 8 matrices of shared memory: lane l has the address of row l % 8 of matrix l / 8, which begins at a multiple of 16
// bytes. A lane gets columns 2t and 2t + 1 of row g of each; `by_columns` rows 2t and 2t + 1 of column g.
template <bool by_columns> MIND void load_four(ui32 (&r)[4], const ui16* at);

#ifdef __CUDACC__
template <> MIND void multiply<f16>(float (&d)[4], const ui32 (&a)[4], const ui32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <> MIND void multiply<bf16>(float (&d)[4], const ui32 (&a)[4], const ui32 (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <> MIND void load_four<false>(ui32 (&r)[4], const ui16* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(ui32(__cvta_generic_to_shared(at))) : "memory");
}
template <> MIND void load_four<true>(ui32 (&r)[4], const ui16* at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(ui32(__cvta_generic_to_shared(at))) : "memory");
}
#else
template <bool by_columns> MIND void load_four(ui32 (&r)[4], const ui16* at) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    if (reinterpret_cast<ui64>(at) & 15) on_cpu::error = "a row of a matrix at no multiple of 16 bytes";
    for (int e = 0; e < 4; ++e) {
        if constexpr (by_columns) {
            const ui16 *low = __shfl_sync(0xffffffffu, at, 8 * e + 2 * t), *high = __shfl_sync(0xffffffffu, at, 8 * e + 2 * t + 1);
            r[e] = ui32(low[g]) | ui32(high[g]) << 16;
        } else {
            const ui16* row = __shfl_sync(0xffffffffu, at, 8 * e + g);
            r[e] = ui32(row[2 * t]) | ui32(row[2 * t + 1]) << 16;
        }
    }
}
template <class S> MIND void multiply(float (&d)[4], const ui32 (&a)[4], const ui32 (&b)[2]) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    for (int from = 0; from < 4; ++from) {
        ui32 mine[4], left[2], right[2];
        for (int e = 0; e < 4; ++e) mine[e] = __shfl_sync(0xffffffffu, a[e], 4 * g + from);
        for (int e = 0; e < 2; ++e) left[e] = __shfl_sync(0xffffffffu, b[e], 4 * (2 * t) + from);
        for (int e = 0; e < 2; ++e) right[e] = __shfl_sync(0xffffffffu, b[e], 4 * (2 * t + 1) + from);
        for (int e = 0; e < 4; ++e)
            for (int which = 0; which < 4; ++which)
                d[e] += part<S>(mine[e / 2 + which / 2 * 2], which % 2) * part<S>((e % 2 ? right : left)[which / 2], which % 2);
    }
}
#endif

// Products of 16 rows that a lane has a part of, with rows of a tile that are `pitch` apart: two columns of results at a time.
template <class S, int pitch, int steps, int tiles> MIND void dots_narrow(float (&s)[tiles][4], const ui32 (&a)[steps][4], const ui16* b) {
    const int lane = threadIdx.x % 32;
    const ui16* at = b + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8;
#pragma unroll
    for (int n = 0; n < tiles; n += 2)
#pragma unroll
        for (int i = 0; i < steps; ++i) {
            ui32 r[4];
            load_four<false>(r, at + 8 * n * pitch + 16 * i);
            multiply<S>(s[n], a[i], {r[0], r[1]});
            multiply<S>(s[n + 1], a[i], {r[2], r[3]});
        }
}
// Sums over the rows of a tile, weighed by what `dots_narrow` gives; weights are rounded before. Behind each row is room for 8 elements.
template <class S, int pitch, int tiles, int columns> MIND void gather_narrow(float (&o)[columns][4], const float (&w)[tiles][4], const ui16* b) {
    const int lane = threadIdx.x % 32;
    const ui16* at = b + (lane / 8 % 2 * 8 + lane % 8) * pitch + lane / 16 * 8;
#pragma unroll
    for (int i = 0; i < tiles / 2; ++i) {
        const ui32 a[4] = {packed<S>(w[2 * i][0], w[2 * i][1]), packed<S>(w[2 * i][2], w[2 * i][3]),
                           packed<S>(w[2 * i + 1][0], w[2 * i + 1][1]), packed<S>(w[2 * i + 1][2], w[2 * i + 1][3])};
#pragma unroll
        for (int n = 0; n < columns; n += 2) {
            ui32 r[4];
            load_four<true>(r, at + 16 * i * pitch + 8 * n);
            multiply<S>(o[n], a, {r[0], r[1]});
            if (n + 1 < columns) multiply<S>(o[n + 1], a, {r[2], r[3]});
        }
    }
}

}  // namespace mind
