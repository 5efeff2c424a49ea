// Gradients of attention: weights are made again from queries, keys and what was kept of each row, tile by tile.
//
// One kernel has a block of keys and goes over the rows, for the gradients of keys and values; the other has a block of rows and
// goes over the keys, for that of queries: each sum is in one block, in a fixed order. `weigh` makes of a product of query and key
// and one of the result's adjoint and value the weight and the adjoint of the product. As in `attention.cuh`, keys that a mask
// hides from some on are not looked at, but by rows whose greatest score is near what hides them.

namespace mind {

// Tiles of f32 and f64 have 64 threads, 8 by 8, so that each has many sums for what it reads of shared memory.
constexpr int workers = 64;

// Sums over `count` rows of a tile b, columns from x on, 8 apart, each weighed by w: `down` and `right` are steps along rows of b and sums.
template <int count, int down, int right, int pitch, int high, int columns, class R>
MIND void gather(R (&o)[high][columns], const R* w, const R* b) {
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    for (int c = 0; c < count; ++c)
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            const R value = b[c * pitch + x + 8 * j];
#pragma unroll
            for (int i = 0; i < high; ++i) o[i][j] = fused(w[c * down + (y + 8 * i) * right], value, o[i][j]);
        }
}
template <int width, int high, int columns, class O, class R, class I, class Finish>
MIND void put(O* out, I pitch, I first, I end, R (&o)[high][columns], Finish finish) {
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    for (int i = 0; i < high; ++i)
        for (int j = 0; j < columns; ++j)
            if (first + y + 8 * i < end && x + 8 * j < width)
                out[(first + y + 8 * i) * pitch + x + 8 * j] = Stored<O>::store(finish(rounded<O>(o[i][j])));
}
// Whether a row below `end`, from `first` on, has no score far above what hides keys.
template <int threads, class R, class I, class Greatest> MIND bool looks_at_all(I first, I end, R hidden, Greatest greatest) {
    bool more = false;
    for (I r = first + threadIdx.x; r < end; r += threads) more |= !(greatest(r) > hidden / 2);
    return all<Max, threads>(int(more), 0);
}

// Keys from `first` on of one matrix, and all rows from `start` on.
template <int rows, int keys, int depth, int width, int tall, int wide, bool of_k, bool of_v, class R, class S, class K, class V, class I,
          class Weigh, class Greatest, class FinishK, class FinishV>
MIND void attend_keys(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, Matrix<S, I> g, K* dk, I k_pitch, V* dv, I v_pitch, I first, I start,
                      R hidden, Weigh weigh, Greatest greatest, FinishK finish_k, FinishV finish_v) {
    constexpr int high = tall / 8, across = wide / 8, of_depth = (depth + 7) / 8, of_width = (width + 7) / 8;
    constexpr int deep = of_depth * 8 + 4, thick = of_width * 8 + 4;  // neighbouring rows begin in other banks
    alignas(16) __shared__ R ks[wide * deep], vs[of_k ? wide * thick : 1], qs[tall * deep], gs[tall * thick], ps[of_v ? tall * (wide + 1) : 1],
        ds[of_k ? tall * (wide + 1) : 1];
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    R ok[wide / 8][of_depth] = {}, ov[wide / 8][of_width] = {};
    __syncthreads();
    fetch<workers, wide, depth, deep>(ks, k, first, I(keys));
    if constexpr (of_k) fetch<workers, wide, width, thick>(vs, v, first, I(keys));
    if (start > 0 && looks_at_all<workers>(I(0), start < rows ? start : I(rows), hidden, greatest)) start = 0;
    for (I top = start / tall * tall; top < rows; top += tall) {
        __syncthreads();
        fetch<workers, tall, depth, deep>(qs, q, top, I(rows));
        fetch<workers, tall, width, thick>(gs, g, top, I(rows));
        __syncthreads();
        R s[high][across] = {}, a[high][across] = {};
        dots<8, high, across, deep>(s, qs, ks);
        if constexpr (of_k) dots<8, high, across, thick>(a, gs, vs);
#pragma unroll
        for (int i = 0; i < high; ++i)
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const I r = top + y + 8 * i, c = first + x + 8 * j;
                R weight = R(0), adjoint = R(0);
                if (r < rows && c < keys) weigh(s[i][j], a[i][j], r, c, weight, adjoint);
                if constexpr (of_v) ps[(y + 8 * i) * (wide + 1) + x + 8 * j] = weight;
                if constexpr (of_k) ds[(y + 8 * i) * (wide + 1) + x + 8 * j] = adjoint;
            }
        __syncthreads();
        if constexpr (of_v) gather<tall, wide + 1, 1, thick>(ov, ps, gs);
        if constexpr (of_k) gather<tall, wide + 1, 1, deep>(ok, ds, qs);
    }
    if constexpr (of_v) put<width>(dv, v_pitch, first, I(keys), ov, finish_v);
    if constexpr (of_k) put<depth>(dk, k_pitch, first, I(keys), ok, finish_k);
}

// Rows from `first` on of one matrix, and all keys up to `end`.
template <int rows, int keys, int depth, int width, int tall, int wide, class R, class S, class O, class I, class Weigh, class Greatest,
          class Finish>
MIND void attend_queries(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, Matrix<S, I> g, O* dq, I pitch, I first, I end, R hidden,
                         Weigh weigh, Greatest greatest, Finish finish) {
    constexpr int high = tall / 8, across = wide / 8, of_depth = (depth + 7) / 8, of_width = (width + 7) / 8;
    constexpr int deep = of_depth * 8 + 4, thick = of_width * 8 + 4;  // neighbouring rows begin in other banks
    alignas(16) __shared__ R ks[wide * deep], vs[wide * thick], qs[tall * deep], gs[tall * thick], ds[tall * (wide + 1)];
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    R o[high][of_depth] = {};
    __syncthreads();
    fetch<workers, tall, depth, deep>(qs, q, first, I(rows));
    fetch<workers, tall, width, thick>(gs, g, first, I(rows));
    if (end < keys && looks_at_all<workers>(first, first + tall < rows ? first + tall : I(rows), hidden, greatest)) end = keys;
    for (I key = 0; key < end; key += wide) {
        __syncthreads();
        fetch<workers, wide, depth, deep>(ks, k, key, I(keys));
        fetch<workers, wide, width, thick>(vs, v, key, I(keys));
        __syncthreads();
        R s[high][across] = {}, a[high][across] = {};
        dots<8, high, across, deep>(s, qs, ks);
        dots<8, high, across, thick>(a, gs, vs);
#pragma unroll
        for (int i = 0; i < high; ++i)
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const I r = first + y + 8 * i, c = key + x + 8 * j;
                R weight = R(0), adjoint = R(0);
                if (r < rows && c < keys) weigh(s[i][j], a[i][j], r, c, weight, adjoint);
                ds[(y + 8 * i) * (wide + 1) + x + 8 * j] = adjoint;
            }
        __syncthreads();
        gather<wide, 1, wide + 1, deep>(o, ds, ks);
    }
    put<depth>(dq, pitch, first, I(rows), o, finish);
}

template <int columns, class O, class I, class Finish> MIND void put_narrow(O* out, I pitch, I row, I end, float (&o)[columns][4], Finish finish) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const I r = row + 8 * half;
        if (r < end)
            for (int n = 0; n < columns; ++n)
                for (int e = 0; e < 2; ++e) out[r * pitch + 8 * n + 2 * t + e] = Stored<O>::store(finish(rounded<O>(o[n][2 * half + e])));
    }
}

// As `attend_keys`, on tensor cores: 4 warps with 16 keys each.
template <int rows, int keys, int depth, int width, int tall, bool of_k, bool of_v, class S, class K, class V, class I, class Weigh,
          class Greatest, class FinishK, class FinishV>
MIND void attend_keys_narrow(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, Matrix<S, I> g, K* dk, I k_pitch, V* dv, I v_pitch, I first,
                             I start, float hidden, Weigh weigh, Greatest greatest, FinishK finish_k, FinishV finish_v) {
    constexpr int tiles = tall / 8, of_q = tall * (depth + 8), of_g = tall * (width + 8);
    alignas(16) __shared__ ui16 qs[2 * of_q], gs[2 * of_g];
    const int lane = threadIdx.x % 32, t = lane % 4;
    const I key = first + threadIdx.x / 32 * 16 + lane / 4;  // and 8 below
    ui32 a[depth / 16][4], b[width / 16][4];
    operand(a, k, key, I(keys));
    if constexpr (of_k) operand(b, v, key, I(keys));
    float ok[depth / 8][4] = {}, ov[width / 8][4] = {};
    if (start > 0 && looks_at_all<128>(I(0), start < rows ? start : I(rows), hidden, greatest)) start = 0;
    start = start / tall * tall;
    __syncthreads();
    rows_ahead<128, tall, depth>(qs, q, start, I(rows));
    rows_ahead<128, tall, width>(gs, g, start, I(rows));
    int now = 0;
    for (I top = start; top < rows; top += tall, now ^= 1) {
        copies_arrive();
        __syncthreads();  // and everyone is done with the tile before, whose place the next one takes
        if (top + tall < rows) {
            rows_ahead<128, tall, depth>(qs + (now ^ 1) * of_q, q, I(top + tall), I(rows));
            rows_ahead<128, tall, width>(gs + (now ^ 1) * of_g, g, I(top + tall), I(rows));
        }
        float s[tiles][4] = {}, d[tiles][4] = {};
        dots_narrow<S, depth + 8>(s, a, qs + now * of_q);
        if constexpr (of_k) dots_narrow<S, width + 8>(d, b, gs + now * of_g);
#pragma unroll
        for (int e = 0; e < 4 * tiles; ++e) {
            const I r = top + 8 * (e / 4) + 2 * t + e % 2, c = key + e % 4 / 2 * 8;
            float weight = 0.0f, adjoint = 0.0f;
            if (r < rows && c < keys) weigh(s[e / 4][e % 4], d[e / 4][e % 4], r, c, weight, adjoint);
            s[e / 4][e % 4] = weight;
            d[e / 4][e % 4] = adjoint;
        }
        if constexpr (of_v) gather_narrow<S, width + 8>(ov, s, gs + now * of_g);
        if constexpr (of_k) gather_narrow<S, depth + 8>(ok, d, qs + now * of_q);
    }
    copies_arrive();  // those for rows beyond the last, if there was none
    if constexpr (of_v) put_narrow(dv, v_pitch, key, I(keys), ov, finish_v);
    if constexpr (of_k) put_narrow(dk, k_pitch, key, I(keys), ok, finish_k);
}

// As `attend_queries`, on tensor cores: 4 warps with 16 rows each.
template <int rows, int keys, int depth, int width, int wide, class S, class O, class I, class Weigh, class Greatest, class Finish>
MIND void attend_queries_narrow(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, Matrix<S, I> g, O* dq, I pitch, I first, I end,
                                float hidden, Weigh weigh, Greatest greatest, Finish finish) {
    constexpr int tiles = wide / 8, of_k = wide * (depth + 8), of_v = wide * (width + 8);
    alignas(16) __shared__ ui16 ks[2 * of_k], vs[2 * of_v];
    const int lane = threadIdx.x % 32, t = lane % 4;
    const I row = first + threadIdx.x / 32 * 16 + lane / 4;  // and 8 below
    ui32 a[depth / 16][4], b[width / 16][4];
    operand(a, q, row, I(rows));
    operand(b, g, row, I(rows));
    float o[depth / 8][4] = {};
    if (end < keys && looks_at_all<128>(first, first + 64 < rows ? first + 64 : I(rows), hidden, greatest)) end = keys;
    __syncthreads();
    rows_ahead<128, wide, depth>(ks, k, I(0), I(keys));
    rows_ahead<128, wide, width>(vs, v, I(0), I(keys));
    int now = 0;
    for (I key = 0; key < end; key += wide, now ^= 1) {
        copies_arrive();
        __syncthreads();  // and everyone is done with the tile before, whose place the next one takes
        if (key + wide < end) {
            rows_ahead<128, wide, depth>(ks + (now ^ 1) * of_k, k, I(key + wide), I(keys));
            rows_ahead<128, wide, width>(vs + (now ^ 1) * of_v, v, I(key + wide), I(keys));
        }
        float s[tiles][4] = {}, d[tiles][4] = {};
        dots_narrow<S, depth + 8>(s, a, ks + now * of_k);
        dots_narrow<S, width + 8>(d, b, vs + now * of_v);
#pragma unroll
        for (int e = 0; e < 4 * tiles; ++e) {
            const I r = row + e % 4 / 2 * 8, c = key + 8 * (e / 4) + 2 * t + e % 2;
            float weight = 0.0f, adjoint = 0.0f;
            if (r < rows && c < keys) weigh(s[e / 4][e % 4], d[e / 4][e % 4], r, c, weight, adjoint);
            d[e / 4][e % 4] = adjoint;
        }
        gather_narrow<S, depth + 8>(o, d, ks + now * of_k);
    }
    copies_arrive();  // those of the first keys, if none is looked at
    put_narrow(dq, pitch, row, I(rows), o, finish);
}

}  // namespace mind
