// Random numbers from Philox4x32-10, as `ptir_kernels/random.py` defines them: a thread for each block of four words.
//
// `state[0]` is the seed of the call, what follows are the induction variables of the loops around, the outermost first.

namespace mind {

struct Words { ui32 at[4]; };

MIND Words philox(ui32 c0, ui32 c1, ui32 c2, ui32 c3, ui32 k0, ui32 k1) {
#pragma unroll
    for (int i = 0; i < 10; ++i) {
        const ui64 a = ui64(c0) * 0xD2511F53u, b = ui64(c2) * 0xCD9E8D57u;
        c0 = ui32(b >> 32) ^ c1 ^ k0;
        c2 = ui32(a >> 32) ^ c3 ^ k1;
        c1 = ui32(b);
        c3 = ui32(a);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return Words{{c0, c1, c2, c3}};
}

// Two numbers of mean 0 and variance 1, by Box and Muller.
MIND void normal(ui32 a, ui32 b, double& first, double& second) {
    const double scale = 1.0 / 16777216.0;
    const double radius = mind::sqrt(-2.0 * mind::log((double(a >> 8) + 1.0) * scale));
    const double angle = double(b >> 8) * (scale * 2.0 * 3.141592653589793);
    first = radius * mind::cos(angle);
    second = radius * mind::sin(angle);
}

template <class S> struct Drawn { static constexpr int bits = 24; };  // and no more than the significand has
template <> struct Drawn<f16> { static constexpr int bits = 11; };
template <> struct Drawn<bf16> { static constexpr int bits = 8; };

template <class S> MIND void in_registers(double x, float& to) {
    if constexpr (sizeof(S) == 4) to = float(x);
    else to = cast_narrow<S>(x);
}
template <class S> MIND void in_registers(double x, double& to) { to = x; }

template <class S, bool is_normal, int loops, class I> MIND void draw(const ui64* state, ui32 ordinal, S* to, I count) {
    using R = decltype(Stored<S>::load(S()));
    const ui32 low = ui32(state[0]), high = ui32(state[0] >> 32);
    Words key = {{low, ordinal, 0, 0}};
#pragma unroll
    for (int i = 0; i < loops; ++i) {
        const ui64 iteration = state[1 + i];
        key = philox(ui32(iteration), ui32(iteration >> 32), high, 1, key.at[0], key.at[1]);
    }
    const I blocks = (count - 1) / 4 + 1;
    for (I block = I(blockIdx.x) * 256 + threadIdx.x; block < blocks; block += I(gridDim.x) * 256) {
        const Words words = philox(ui32(block), ui32(ui64(block) >> 32), high, 0, key.at[0], key.at[1]);
        R x[4];
        if constexpr (is_normal) {
            double found[4];
            normal(words.at[0], words.at[1], found[0], found[1]);
            normal(words.at[2], words.at[3], found[2], found[3]);
#pragma unroll
            for (int j = 0; j < 4; ++j) in_registers<S>(found[j], x[j]);
        } else {
#pragma unroll
            for (int j = 0; j < 4; ++j) x[j] = R(words.at[j] >> (32 - Drawn<S>::bits)) * (R(1) / R(1 << Drawn<S>::bits));
        }
        if constexpr (sizeof(S) < 8) {
            mind::store<4>(to, x, I(block * 4), count);
        } else {
            const R one[2] = {x[0], x[1]}, two[2] = {x[2], x[3]};
            mind::store<2>(to, one, I(block * 4), count);
            mind::store<2>(to, two, I(block * 4 + 2), count);
        }
    }
}

}  // namespace mind
