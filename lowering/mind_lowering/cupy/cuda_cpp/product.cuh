// A tile of 64 by 64 elements of a matrix product whose operands are functions of C++: `a(row, k)` and `b(k, column)`.
//
// What is computed of an element is handed to `finish(sum, row, column)`. Where tiles are few several blocks share the sum of one:
// each leaves its part, and the last to finish adds up all of them in their order.

namespace mind {

// The parts of all blocks of a tile added up; false for all blocks but the last.
template <int shares, int count, int threads, class R> MIND bool together(R (&sum)[count], R* parts, ui32* counter, int share) {
    if constexpr (shares > 1) {
#pragma unroll
        for (int e = 0; e < count; ++e) parts[(share * count + e) * threads + threadIdx.x] = sum[e];
        if (!is_last(counter, shares)) return false;
#pragma unroll
        for (int e = 0; e < count; ++e) {
            sum[e] = parts[e * threads + threadIdx.x];
            for (int s = 1; s < shares; ++s) sum[e] = add(sum[e], parts[(s * count + e) * threads + threadIdx.x]);
        }
    }
    return true;
}

// By 256 threads, each with elements 16 apart.
template <int rows, int depth, int columns, int shares, class R, class I, class A, class B, class Finish>
MIND void product(I top, I left, int share, R* parts, ui32* counter, A a, B b, Finish finish) {
    constexpr int steps = (depth + 15) / 16, chunk = (steps + shares - 1) / shares * 16;
    __shared__ R as[16][68], bs[16][64];
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    R sum[16] = {};
    const I from = I(share) * chunk, to = from + chunk < depth ? from + chunk : I(depth);
    for (I base = from; base < to; base += 16) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const I row = top + y + 16 * i, k = base + x, deep = base + threadIdx.x / 64 + 4 * i, column = left + threadIdx.x % 64;
            as[x][y + 16 * i] = row < rows && k < to ? a(row, k) : R(0);
            bs[threadIdx.x / 64 + 4 * i][threadIdx.x % 64] = deep < to && column < columns ? b(deep, column) : R(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            R l[4], r[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) l[i] = as[k][y + 16 * i], r[i] = bs[k][x + 16 * i];
#pragma unroll
            for (int e = 0; e < 16; ++e) sum[e] = fused(l[e / 4], r[e % 4], sum[e]);
        }
    }
    if (!together<shares, 16, 256>(sum, parts, counter, share)) return;
#pragma unroll
    for (int e = 0; e < 16; ++e) {
        const I row = top + y + 16 * (e / 4), column = left + x + 16 * (e % 4);
        if (row < rows && column < columns) finish(sum[e], row, column);
    }
}

// As `product`, of f16 or bf16 on tensor cores: 4 warps with 32 by 32 elements each.
template <int rows, int depth, int columns, int shares, class S, class I, class A, class B, class Finish>
MIND void product_narrow(I top, I left, int share, float* parts, ui32* counter, A a, B b, Finish finish) {
    constexpr int steps = (depth + 31) / 32, chunk = (steps + shares - 1) / shares * 32;
    alignas(16) __shared__ ui16 as[64][40], bs[64][40];
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = threadIdx.x / 32;
    const int down = warp / 2 * 32, right = warp % 2 * 32;
    float sums[8][4] = {};
    const I from = I(share) * chunk, to = from + chunk < depth ? from + chunk : I(depth);
    for (I base = from; base < to; base += 32) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            const int r = warp + 4 * i, c = threadIdx.x % 64, deep = threadIdx.x / 64 + 2 * i;
            const bool inside = top + r < rows && base + lane < to, there = base + deep < to && left + c < columns;
            as[r][lane] = inside ? Stored<S>::store(a(top + r, base + lane)).bits : ui16(0);
            bs[c][deep] = there ? Stored<S>::store(b(base + deep, left + c)).bits : ui16(0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k += 16) {
            ui32 l[2][4], r[4][2];
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int e = 0; e < 4; ++e) l[m][e] = pair(&as[down + 16 * m + g + e % 2 * 8][k + 2 * t + e / 2 * 8]);
#pragma unroll
            for (int n = 0; n < 4; ++n)
#pragma unroll
                for (int e = 0; e < 2; ++e) r[n][e] = pair(&bs[right + 8 * n + g][k + 2 * t + e * 8]);
#pragma unroll
            for (int m = 0; m < 2; ++m)
#pragma unroll
                for (int n = 0; n < 4; ++n) multiply<S>(sums[m * 4 + n], l[m], r[n]);
        }
    }
    float sum[32];
#pragma unroll
    for (int e = 0; e < 32; ++e) sum[e] = sums[e / 4][e % 4];
    if (!together<shares, 32, 128>(sum, parts, counter, share)) return;
#pragma unroll
    for (int e = 0; e < 32; ++e) {
        const I row = top + down + e / 16 * 16 + g + e % 4 / 2 * 8, column = left + right + e / 4 % 4 * 8 + 2 * t + e % 2;
        if (row < rows && column < columns) finish(sum[e], row, column);
    }
}

}  // namespace mind
