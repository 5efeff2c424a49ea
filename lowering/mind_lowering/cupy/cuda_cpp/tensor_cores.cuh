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
#else
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

}  // namespace mind
