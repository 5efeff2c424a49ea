// Copies of 16 bytes from global to shared memory that need no registers and go on while a thread computes (`cp.async`).
//
// What is copied is there for the thread that asked for it after `copies_arrive`, for others after a barrier that follows it.

namespace mind {

#ifdef __CUDACC__
MIND void copy_ahead(void* to, const void* from, bool is_there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(ui32(__cvta_generic_to_shared(to))),
                 "l"(__cvta_generic_to_global(from)), "r"(is_there ? 16 : 0));
}
MIND void copies_arrive() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#else
MIND void copy_ahead(void* to, const void* from, bool is_there) { on_cpu::copy_ahead(to, from, is_there); }
MIND void copies_arrive() { on_cpu::copies_arrive(); }
#endif

// Eight neighbours of a row of f16 or bf16, ahead where they lie so; zeros for a row that is not there.
template <class M, class I> MIND void eight_ahead(ui16* to, M m, I row, I rows, I column) {
    if (m.column == 1 && m.row % 8 == 0 && (reinterpret_cast<ui64>(m.at) & 15) == 0) {
        const bool is_there = row < rows;
        copy_ahead(to, m.at + (is_there ? row * m.row + column : I(0)), is_there);
        return;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) to[j] = row < rows ? m.get(row, column + j).bits : ui16(0);
}
// `count` rows of f16 or bf16 from `first` on, `width + 8` apart in shared memory.
template <int threads, int count, int width, class M, class I> MIND void rows_ahead(ui16* to, M m, I first, I end) {
    constexpr int across = width / 8;
    for (int e = threadIdx.x; e < count * across; e += threads)
        eight_ahead(to + e / across * (width + 8) + e % across * 8, m, I(first + e / across), end, I(e % across * 8));
}

}  // namespace mind
