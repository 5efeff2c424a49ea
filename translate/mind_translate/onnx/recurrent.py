"""Rows of RNN, GRU and LSTM: one scan over the time for each direction, all gates in one product."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from mind_dialect import ptir
from mind_dialect.errors import error
from mind_dialect.ptir.types import SI64

from ..unsupported import Refused
from .converter import OnnxConverter, OnnxRow, Values
from .elementwise import hard_sigmoid, negative_part, relu, softplus
from .node import Node

Step = Callable[[list[SSAValue], SSAValue, list[SSAValue]], list[SSAValue]]
"""The next states from the last ones, a row of the input's product, and weights."""
Activation = Callable[[OnnxConverter, SSAValue], SSAValue]


def _activations(node: Node, count: int, defaults: Sequence[str]) -> list[Activation]:
    names = node.words("activations") or list(defaults) * (count // len(defaults))
    alphas, betas = list(node.floats("activation_alpha") or []), list(node.floats("activation_beta") or [])
    if len(names) != count:
        raise error("E8002", f"{len(names)} activations, expected {count}", attribute="activations", value=names)
    return [_activation(name, alphas, betas) for name in names]


def _activation(name: str, alphas: list[float], betas: list[float]) -> Activation:
    """The function of a name; those with parameters take theirs in order."""
    word = name.lower()
    plain: dict[str, Activation] = {
        "relu": relu,
        "sigmoid": lambda to, x: to.emit(ptir.LogisticOp, x),
        "softplus": softplus,
        "softsign": lambda to, x: to.over(x, to.plus(to.emit(ptir.AbsOp, x), 1)),
        "tanh": lambda to, x: to.emit(ptir.TanhOp, x),
    }
    if word in plain:
        return plain[word]
    defaults = {"affine": (1.0, 0.0), "elu": (1.0, 0.0), "hardsigmoid": (0.2, 0.5), "leakyrelu": (0.01, 0.0)}
    if word not in defaults:
        raise Refused(
            f"the activation {name}", "use Sigmoid, Tanh, Relu, Affine, Elu, HardSigmoid, LeakyRelu, Softplus or Softsign"
        )
    a = alphas.pop(0) if alphas else defaults[word][0]
    b = (betas.pop(0) if betas else defaults[word][1]) if word in ("affine", "hardsigmoid") else 0.0
    if word == "affine":
        return lambda to, x: to.plus(to.times(x, a), b)
    if word == "hardsigmoid":
        return lambda to, x: hard_sigmoid(to, x, a, b)
    if word == "elu":
        return lambda to, x: negative_part(to, x, to.times(to.emit(ptir.Expm1Op, to.two(ptir.MinimumOp, x, 0)), a))
    return lambda to, x: negative_part(to, x, to.times(x, a))


def _transposed_product(to: OnnxConverter, x: SSAValue, w: SSAValue) -> SSAValue:
    """`x w'`."""
    return to.emit(ptir.DotGeneralOp, x, w, batch_lhs=(), batch_rhs=(), contract_lhs=(1,), contract_rhs=(1,))


class _Layer:
    """The operands that all three share, one direction at a time."""

    def __init__(self, to: OnnxConverter, node: Node, gates: int):
        self.to, self.node, self.gates = to, node, gates
        self.batch_first = bool(node.int("layout"))
        x, w = node.ranked(0, 3), node.ranked(1, 3)
        for i, rank in ((3, 2), (4, 1), (5, 3), (6, 3), (7, 2)):
            if node.has(i):
                node.ranked(i, rank)
        self.x = to.transpose(x, [1, 0, 2]) if self.batch_first else x
        way = node.word("direction", "forward", ("forward", "reverse", "bidirectional"))
        self.backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[way]
        self.hidden = node.int("hidden_size")
        self.clip = node.float("clip", 0.0)
        recurrence = to.shape(node.ranked(2, 3))
        if to.shape(w)[0] != recurrence[0] or recurrence[0] != len(self.backwards) or not isinstance(recurrence[2], int):
            raise error("E3002", f"R of shape {list(recurrence)}", expected="[directions, gates * hidden, hidden]", actual=3)
        self.hidden = self.hidden or recurrence[2]

    def weights(self, i: int, d: int) -> SSAValue:
        """Operand `i` of direction `d`, without that dimension."""
        x = self.node.x(i)
        part = self.to.part(x, 0, d, d + 1)
        return self.to.reshape(part, self.to.shape(x)[1:])

    def bias(self, d: int) -> list[SSAValue] | None:
        """The biases of the input and of the state."""
        if not self.node.has(3):
            return None
        both, n = self.weights(3, d), self.gates * self.hidden
        return [self.to.part(both, 0, 0, n), self.to.part(both, 0, n, 2 * n)]

    def initial(self, i: int, d: int) -> SSAValue:
        """The state in the beginning, zeros by default."""
        to = self.to
        if not self.node.has(i):
            return to.fill(0, to.dtype(self.x), (to.shape(self.x)[1], self.hidden))
        x = self.node.x(i)
        return self.weights(i, d) if not self.batch_first else self._second(x, d)

    def _second(self, x: SSAValue, d: int) -> SSAValue:
        part = self.to.part(x, 1, d, d + 1)
        return self.to.reshape(part, (self.to.shape(x)[0], self.to.shape(x)[2]))

    def clipped(self, x: SSAValue) -> SSAValue:
        """Emit the clipped operand of an activation."""
        return self.to.emit(ptir.ClampOp, x, self.to.like(-self.clip, x), self.to.like(self.clip, x)) if self.clip else x

    def parts(self, x: SSAValue, count: int) -> list[SSAValue]:
        """The gates side by side."""
        return [self.to.part(x, 1, i * self.hidden, (i + 1) * self.hidden) for i in range(count)]

    def products(self, d: int) -> SSAValue:
        """`x W'` and the input's bias, for all times."""
        to = self.to
        found = to.emit(
            ptir.DotGeneralOp, self.x, self.weights(1, d), batch_lhs=(), batch_rhs=(), contract_lhs=(2,), contract_rhs=(1,)
        )
        return found if (bias := self.bias(d)) is None else to.plus(found, bias[0])

    def state_bias(self, d: int) -> SSAValue:
        """The state's bias, zeros by default."""
        bias = self.bias(d)
        return bias[1] if bias is not None else self.to.fill(0, self.to.dtype(self.x), (self.gates * self.hidden,))

    def run(self, d: int, states: list[SSAValue], weights: list[SSAValue], step: Step) -> tuple[SSAValue, Values]:
        """The outputs over the time, and the last states; beyond the length of a sequence outputs are 0, states stay."""
        to = self.to
        lengths = self.node.optional(4)
        times = to.counted(to.shape(self.x)[0])
        x = self.products(d)
        x = to.emit(ptir.ReverseOp, x, axes=(0,)) if self.backwards[d] else x
        times = to.emit(ptir.ReverseOp, times, axes=(0,)) if self.backwards[d] else times
        held = [] if lengths is None else [to.cast(lengths, SI64)]

        def iteration(carries: Values, rows: Values) -> tuple[Values, Values]:
            old = list(carries[: len(states)])
            new = step(old, rows[0], list(carries[len(states) : len(states) + len(weights)]))
            out = new[0]
            if held:
                ends = to.along(carries[-1], 0, 2)
                inside = to.broadcast(to.compare("less", to.broadcast(rows[1], to.shape(ends)), ends), to.shape(new[0]))
                new = [to.select(inside, a, b) for a, b in zip(new, old, strict=True)]
                out = to.select(inside, out, to.like(0, out))
            return [*new, *carries[len(states) :]], [out]

        after, (ys,) = to.scan([*states, *weights, *held], [x, times], 1, iteration)
        return to.emit(ptir.ReverseOp, ys, axes=(0,)) if self.backwards[d] else ys, after[: len(states)]

    def results(self, found: Sequence[tuple[SSAValue, Values]]) -> list[SSAValue]:
        """Y, Y_h and so on of all directions."""
        to = self.to
        ys = to.concat([to.reshape(y, (to.shape(y)[0], 1, *to.shape(y)[1:])) for y, _ in found], 1)
        states = [to.concat([to.reshape(s[i], (1, *to.shape(s[i]))) for _, s in found], 0) for i in range(len(found[0][1]))]
        if self.batch_first:
            return [to.transpose(ys, [2, 0, 1, 3]), *(to.transpose(s, [1, 0, 2]) for s in states)]
        return [ys, *states]


def _rnn(to: OnnxConverter, node: Node) -> Values:
    """`h = f(x W' + h R' + b)`."""
    layer = _Layer(to, node, 1)
    functions = _activations(node, len(layer.backwards), ["Tanh"])
    found: list[tuple[SSAValue, Values]] = []
    for d, f in enumerate(functions):

        def step(states: list[SSAValue], x: SSAValue, w: list[SSAValue], f: Activation = f) -> list[SSAValue]:
            total = to.plus(to.plus(x, _transposed_product(to, states[0], w[0])), w[1])
            return [f(to, layer.clipped(total))]

        found.append(layer.run(d, [layer.initial(5, d)], [layer.weights(2, d), layer.state_bias(d)], step))
    return layer.results(found)


def _gru(to: OnnxConverter, node: Node) -> Values:
    """Gates z, r, h: `h = (1 - z) g(x_h + (r h) R_h' + b) + z h`, or with `linear_before_reset` `r (h R_h' + b)`."""
    layer = _Layer(to, node, 3)
    functions = _activations(node, 2 * len(layer.backwards), ["Sigmoid", "Tanh"])
    first = bool(node.int("linear_before_reset"))
    n = layer.hidden

    def step_of(f: Activation, g: Activation) -> Step:
        def step(states: list[SSAValue], x: SSAValue, w: list[SSAValue]) -> list[SSAValue]:
            (h,), (r_w, bias) = states, w
            x_z, x_r, x_h = layer.parts(x, 3)
            w_z, w_r, w_h = (to.part(r_w, 0, i * n, (i + 1) * n) for i in range(3))
            b_z, b_r, b_h = (to.part(bias, 0, i * n, (i + 1) * n) for i in range(3))
            z, r = (
                f(to, layer.clipped(to.plus(to.plus(x_i, _transposed_product(to, h, w_i)), b_i)))
                for x_i, w_i, b_i in ((x_z, w_z, b_z), (x_r, w_r, b_r))
            )
            if first:
                inner = to.times(r, to.plus(_transposed_product(to, h, w_h), b_h))
            else:
                inner = to.plus(_transposed_product(to, to.times(r, h), w_h), b_h)
            new = g(to, layer.clipped(to.plus(x_h, inner)))
            return [to.plus(to.times(to.minus(1, z), new), to.times(z, h))]

        return step

    found = [
        layer.run(
            d, [layer.initial(5, d)], [layer.weights(2, d), layer.state_bias(d)], step_of(functions[2 * d], functions[2 * d + 1])
        )
        for d in range(len(layer.backwards))
    ]
    return layer.results(found)


def _lstm(to: OnnxConverter, node: Node) -> Values:
    """Gates i, o, f, c, with peepholes to i, o and f: `C = f C + i g(c)`, `H = o h(C)`."""
    layer = _Layer(to, node, 4)
    functions = _activations(node, 3 * len(layer.backwards), ["Sigmoid", "Tanh", "Tanh"])
    coupled, n = bool(node.int("input_forget")), layer.hidden

    def step_of(f: Activation, g: Activation, last: Activation) -> Step:
        def step(states: list[SSAValue], x: SSAValue, w: list[SSAValue]) -> list[SSAValue]:
            h, c = states
            gates = to.plus(to.plus(x, _transposed_product(to, h, w[0])), w[1])
            i_x, o_x, f_x, c_x = layer.parts(gates, 4)
            peep = [to.part(w[2], 0, k * n, (k + 1) * n) for k in range(3)] if len(w) > 2 else None
            i = f(to, layer.clipped(i_x if peep is None else to.plus(i_x, to.times(c, peep[0]))))
            forget = f(to, layer.clipped(f_x if peep is None else to.plus(f_x, to.times(c, peep[2]))))
            forget = to.minus(1, i) if coupled else forget
            new = to.plus(to.times(forget, c), to.times(i, g(to, layer.clipped(c_x))))
            o = f(to, layer.clipped(o_x if peep is None else to.plus(o_x, to.times(new, peep[1]))))
            return [to.times(o, last(to, new)), new]

        return step

    found: list[tuple[SSAValue, Values]] = []
    for d in range(len(layer.backwards)):
        weights = [layer.weights(2, d), layer.state_bias(d), *([layer.weights(7, d)] if node.has(7) else [])]
        step = step_of(*functions[3 * d : 3 * d + 3])
        found.append(layer.run(d, [layer.initial(5, d), layer.initial(6, d)], weights, step))
    return layer.results(found)


RECURRENT: dict[str, OnnxRow | Refused] = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}
