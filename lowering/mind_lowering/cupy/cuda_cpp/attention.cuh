// Attention without its scores in memory: softmax(score(q k^T)) v, keys in tiles, with the greatest score and the sum so far.
//
// A key that leaves nothing of its weight is one whose score is far below the greatest. Where a mask hides all keys from some on,
// those are not looked at, unless a row has no score that is far above what hides them.

namespace mind {

// A matrix by its strides.
template <class S, class I> struct Matrix {
    const S* at;
    I row, column;
    MIND S get(I r, I c) const { return at[r * row + c * column]; }
};

template <class R> MIND R nothing();  // the score of a key that is not there
template <> MIND float nothing<float>() { return __uint_as_float(0xff800000u); }
template <> MIND double nothing<double>() { return __longlong_as_double((long long)0xfff0000000000000ull); }
// The weight of what had `before` as its greatest score.
template <class R> MIND R weight(R before, R greatest) { return greatest == nothing<R>() ? R(0) : mind::exp(before - greatest); }

template <class R> constexpr int at_once = 16 / sizeof(R);

// `count` rows of a matrix from `first` on, zeros beyond its end and width; 16 bytes at once where they lie so.
template <int threads, int count, int width, int pitch, class R, class S, class I> MIND void fetch(R* to, Matrix<S, I> m, I first, I end) {
    constexpr int n = at_once<R>, across = pitch / n;
    if (width % n == 0 && sizeof(S) == sizeof(R) && m.column == 1 && m.row % n == 0 && (reinterpret_cast<ui64>(m.at) & 15) == 0) {
#pragma unroll 8
        for (int e = threadIdx.x; e < count * across; e += threads) {
            const I r = first + e / across;
            const int d = e % across * n;
            Pack<R, n> pack = {};
            if (r < end && d < width) pack = *reinterpret_cast<const Pack<R, n>*>(m.at + r * m.row + d);
            *reinterpret_cast<Pack<R, n>*>(to + e / across * pitch + d) = pack;
        }
        return;
    }
    for (int e = threadIdx.x; e < count * pitch; e += threads) {
        const I r = first + e / pitch;
        const int d = e % pitch;
        to[e] = r < end && d < width ? Stored<S>::load(m.get(r, I(d))) : R(0);
    }
}
// Products of rows of two tiles: those from y on, `step` apart, with those from x on, 8 apart.
template <int step, int high, int across, int pitch, class R> MIND void dots(R (&s)[high][across], const R* a, const R* b) {
    constexpr int n = at_once<R>;
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
#pragma unroll 2
    for (int d = 0; d < pitch - 4; d += n) {
        Pack<R, n> packs[across];
#pragma unroll
        for (int j = 0; j < across; ++j) packs[j] = *reinterpret_cast<const Pack<R, n>*>(b + (x + 8 * j) * pitch + d);
#pragma unroll
        for (int i = 0; i < high; ++i) {
            const Pack<R, n> pack = *reinterpret_cast<const Pack<R, n>*>(a + (y + step * i) * pitch + d);
#pragma unroll
            for (int j = 0; j < across; ++j)
#pragma unroll
                for (int k = 0; k < n; ++k) s[i][j] = fused(pack.at[k], packs[j].at[k], s[i][j]);
        }
    }
}

// Rows from `first` on of one matrix of queries; rows of the result are `pitch` apart. Gradients want the greatest score of each row
// and 1 over the sum of its exponentials. 128 threads: 8 neighbours have a row together, 16 rows at a time.
template <int rows, int keys, int depth, int width, int tall, int wide, class R, class S, class O, class I, class Score, class End>
MIND void attend(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, O* out, I pitch, I first, R hidden,
                 R* greatests, R* shares, Score score, End end) {
    constexpr int high = tall / 16, across = wide / 8, columns = (width + 7) / 8;
    constexpr int deep = (depth + 7) / 8 * 8 + 4, thick = columns * 8;  // neighbouring rows of keys begin in other banks
    alignas(16) __shared__ R qs[tall * deep], ks[wide * deep], vs[wide * thick], ps[tall][wide + 1];
    const int x = threadIdx.x % 8, y = threadIdx.x / 8;
    R greatest[high], total[high], o[high][columns] = {};
    for (int i = 0; i < high; ++i) greatest[i] = nothing<R>(), total[i] = R(0);
    __syncthreads();
    fetch<128, tall, depth, deep>(qs, q, first, I(rows));
    const I seen = end(first + tall < rows ? first + tall - 1 : I(rows) - 1);
    for (I key = 0; key < keys; key += wide) {
        if (key >= seen) {
            bool more = false;
            for (int i = 0; i < high; ++i) more |= first + y + 16 * i < rows && !(greatest[i] > hidden / 2);
            if (!all<Max, 128>(int(more), 0)) break;
        }
        __syncthreads();
        fetch<128, wide, depth, deep>(ks, k, key, I(keys));
        fetch<128, wide, width, thick>(vs, v, key, I(keys));
        __syncthreads();
        R s[high][across] = {};
        dots<16, high, across, deep>(s, qs, ks);
#pragma unroll
        for (int i = 0; i < high; ++i) {
            const I r = first + y + 16 * i < rows ? first + y + 16 * i : I(rows) - 1;
            R most = greatest[i], sum = R(0);
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const I c = key + x + 8 * j;
                s[i][j] = c < keys ? score(s[i][j], r, c) : nothing<R>();
                most = maximum(most, s[i][j]);
            }
            most = warp<Max, 8>(most);
            const R kept = weight(greatest[i], most);
#pragma unroll
            for (int j = 0; j < across; ++j) {
                const R p = weight(s[i][j], most);
                ps[y + 16 * i][x + 8 * j] = p;
                sum += p;
            }
            total[i] = fused(total[i], kept, warp<Sum, 8>(sum));
            greatest[i] = most;
#pragma unroll
            for (int j = 0; j < columns; ++j) o[i][j] *= kept;
        }
        __syncthreads();
        for (int c = 0; c < wide; ++c) {
#pragma unroll
            for (int j = 0; j < columns; ++j) {
                const R vd = vs[c * thick + x + 8 * j];
#pragma unroll
                for (int i = 0; i < high; ++i) o[i][j] = fused(ps[y + 16 * i][c], vd, o[i][j]);
            }
        }
    }
    for (int i = 0; i < high; ++i) {
        const I r = first + y + 16 * i;
        if (greatests && x == 0 && r < rows) greatests[r] = greatest[i], shares[r] = R(1) / total[i];
    }
    for (int i = 0; i < high; ++i)
        for (int j = 0; j < columns; ++j)
            if (first + y + 16 * i < rows && x + 8 * j < width)
                out[(first + y + 16 * i) * pitch + x + 8 * j] = Stored<O>::store(o[i][j] / total[i]);
}

// One row, by 256 threads of `shares` blocks: 8 neighbours have a key together. `parts` has what each block found.
template <int keys, int depth, int width, int shares, class R, class S, class O, class I, class Score>
MIND void attend_one(
    Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, O* out, I row, int share, R* parts, ui32* counter, Score score) {
    constexpr int columns = (width + 7) / 8, parts_of_q = (depth + 7) / 8, chunk = (keys + shares - 1) / shares;
    __shared__ R greatests[32], totals[32], os[32][columns * 8];
    const int x = threadIdx.x % 8, group = threadIdx.x / 8;
    R mine[parts_of_q], greatest = nothing<R>(), total = R(0), o[columns] = {};
    for (int j = 0; j < parts_of_q; ++j) mine[j] = x + 8 * j < depth ? Stored<S>::load(q.get(row, I(x + 8 * j))) : R(0);
    const I from = I(share) * chunk, to = from + chunk < keys ? from + chunk : I(keys);
    for (I base = from; base < to; base += 32) {
        const I c = base + group;
        R s = R(0);
        if (c < to) {
#pragma unroll
            for (int j = 0; j < parts_of_q; ++j)
                if (x + 8 * j < depth) s = fused(mine[j], Stored<S>::load(k.get(c, I(x + 8 * j))), s);
        }
        s = warp<Sum, 8>(s);
        if (c < to) {
            s = score(s, row, c);
            const R most = maximum(greatest, s), kept = weight(greatest, most), p = weight(s, most);
            total = fused(total, kept, p);
            greatest = most;
#pragma unroll
            for (int j = 0; j < columns; ++j)
                o[j] = fused(o[j], kept, x + 8 * j < width ? p * Stored<S>::load(v.get(c, I(x + 8 * j))) : R(0));
        }
    }
    __syncthreads();
    greatests[group] = greatest;
    totals[group] = total;
    for (int j = 0; j < columns; ++j) os[group][x + 8 * j] = o[j];
    __syncthreads();
    greatest = greatests[0];
    for (int g = 1; g < 32; ++g) greatest = maximum(greatest, greatests[g]);
    total = R(0);
    for (int g = 0; g < 32; ++g) total = fused(totals[g], weight(greatests[g], greatest), total);
    R* part = parts + share * (width + 2);
    for (int d = threadIdx.x; d < width; d += 256) {
        R sum = R(0);
        for (int g = 0; g < 32; ++g) sum = fused(os[g][d], weight(greatests[g], greatest), sum);
        if constexpr (shares == 1) out[d] = Stored<O>::store(sum / total);
        else part[d + 2] = sum;
    }
    if constexpr (shares > 1) {
        if (threadIdx.x == 0) part[0] = greatest, part[1] = total;
        if (!is_last(counter, shares)) return;
        greatest = parts[0];
        for (int g = 1; g < shares; ++g) greatest = maximum(greatest, parts[g * (width + 2)]);
        total = R(0);
        for (int g = 0; g < shares; ++g)
            total = fused(parts[g * (width + 2) + 1], weight(parts[g * (width + 2)], greatest), total);
        for (int d = threadIdx.x; d < width; d += 256) {
            R sum = R(0);
            for (int g = 0; g < shares; ++g)
                sum = fused(parts[g * (width + 2) + d + 2], weight(parts[g * (width + 2)], greatest), sum);
            out[d] = Stored<O>::store(sum / total);
        }
    }
}

// The rows of a 16 by 16 operand of a product by a warp that a lane has, for all columns: rows `row` and 8 below it.
template <int steps, class S, class I> MIND void operand(ui32 (&a)[steps][4], Matrix<S, I> m, I row, I end) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < steps; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const I r = row + e % 2 * 8, d = 16 * i + 2 * t + e / 2 * 8;
            a[i][e] = r < end ? ui32(m.get(r, d).bits) | ui32(m.get(r, d + 1).bits) << 16 : 0u;
        }
}

// Scores of a tile as weights in their place, with sums so far that are weighed anew; rows `top` and 8 below it.
template <int rows, int keys, int tiles, int columns, class I, class Score>
MIND void soften(float (&s)[tiles][4], float (&o)[columns][4], float (&greatest)[2], float (&total)[2], I top, I key, Score score) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const I r = top + 8 * half < rows ? top + 8 * half : I(rows) - 1;
        float most = greatest[half], sum = 0.0f;
#pragma unroll
        for (int e = 0; e < 2 * tiles; ++e) {
            const I c = key + 8 * (e / 2) + 2 * t + e % 2;
            float& x = s[e / 2][2 * half + e % 2];
            x = c < keys ? score(x, r, c) : nothing<float>();
            most = maximum(most, x);
        }
        most = warp<Max, 4>(most);
        const float kept = weight(greatest[half], most);
#pragma unroll
        for (int e = 0; e < 2 * tiles; ++e) {
            float& x = s[e / 2][2 * half + e % 2];
            x = weight(x, most);
            sum += x;
        }
        total[half] = fused(total[half], kept, sum);
        greatest[half] = most;
#pragma unroll
        for (int n = 0; n < columns; ++n) o[n][2 * half] *= kept, o[n][2 * half + 1] *= kept;
    }
}
// Results of rows `top` and 8 below it.
template <int rows, int columns, class O, class I>
MIND void put_softened(O* out, I pitch, I top, float (&o)[columns][4], float (&greatest)[2], float (&total)[2], float* greatests, float* shares) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const float sum = warp<Sum, 4>(total[half]);
        const I r = top + 8 * half;
        if (greatests && t == 0 && r < rows) greatests[r] = greatest[half], shares[r] = 1.0f / sum;
        for (int n = 0; n < columns; ++n)
            for (int e = 0; e < 2; ++e)
                if (r < rows) out[r * pitch + 8 * n + 2 * t + e] = Stored<O>::store(o[n][2 * half + e] / sum);
    }
}

// As `attend`, of f16 or bf16 on tensor cores: 4 warps with 16 rows each. Weights are rounded before they meet the values. A tile
// of keys is copied while the one before is multiplied, but for tiles beyond `seen`, which hardly ever are looked at.
template <int rows, int keys, int depth, int width, int wide, class S, class O, class I, class Score, class End>
MIND void attend_narrow(Matrix<S, I> q, Matrix<S, I> k, Matrix<S, I> v, O* out, I pitch, I first, float hidden,
                        float* greatests, float* shares, Score score, End end) {
    constexpr int steps = depth / 16, tiles = wide / 8, columns = width / 8, of_k = wide * (depth + 8), of_v = wide * (width + 8);
    alignas(16) __shared__ ui16 ks[2 * of_k], vs[2 * of_v];
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
            rows_ahead<128, wide, depth>(ks + now * of_k, k, key, I(keys));
            rows_ahead<128, wide, width>(vs + now * of_v, v, key, I(keys));
        }
        copies_arrive();
        __syncthreads();  // and everyone is done with the tile before, whose place the next one takes
        is_copied = key + wide < seen && key + wide < keys;
        if (is_copied) {
            rows_ahead<128, wide, depth>(ks + (now ^ 1) * of_k, k, I(key + wide), I(keys));
            rows_ahead<128, wide, width>(vs + (now ^ 1) * of_v, v, I(key + wide), I(keys));
        }
        float s[tiles][4] = {};
        dots_narrow<S, depth + 8>(s, a, ks + now * of_k);
        soften<rows, keys>(s, o, greatest, total, top, key, score);
        gather_narrow<S, width + 8>(o, s, vs + now * of_v);
    }
    put_softened<rows>(out, pitch, top, o, greatest, total, greatests, shares);
}

}  // namespace mind
