# SPDX-License-Identifier: Apache-2.0 OR MIT
# A plain serial reference for VCODE, written apart from the run-time: one Python function for each operation.
"""Values are pairs (type, list). A SEGDES is its list of lengths."""
import array
import math
import struct

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
EXTREME = 9.9999996169031625e35


class Wrong(Exception):
    """What a run-time must refuse."""


def wrap(value):
    return (value + 2**31) % 2**32 - 2**31


def check(condition, text):
    if not condition:
        raise Wrong(text)


def quotient(a, b):
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return wrap(q if (a < 0) == (b < 0) else -q)


def remainder(a, b):
    if b == 0:
        return 0
    return int(math.copysign(abs(a) % abs(b), a))


def float_divide(a, b):
    if b != 0:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def to_int(x, how):
    if x != x:
        return 0
    if math.isinf(x):
        return INT_MAX if x > 0 else INT_MIN
    return max(INT_MIN, min(INT_MAX, how(x)))


def total(f):
    """A function of C's, whose errors are values."""

    def call(x):
        try:
            return f(x)
        except OverflowError:
            return -math.inf if x < 0 and f is math.sinh else math.inf
        except ValueError:
            return math.nan

    return call


def natural_log(x):
    return -math.inf if x == 0 else math.log(x)


BINARY = {
    ("+", "INT"): ("INT", lambda a, b: wrap(a + b)),
    ("-", "INT"): ("INT", lambda a, b: wrap(a - b)),
    ("*", "INT"): ("INT", lambda a, b: wrap(a * b)),
    ("/", "INT"): ("INT", quotient),
    ("+", "FLOAT"): ("FLOAT", lambda a, b: a + b),
    ("-", "FLOAT"): ("FLOAT", lambda a, b: a - b),
    ("*", "FLOAT"): ("FLOAT", lambda a, b: a * b),
    ("/", "FLOAT"): ("FLOAT", float_divide),
    ("%", ""): ("INT", remainder),
    ("LSHIFT", ""): ("INT", lambda a, n: wrap(a << (n & 31))),
    ("RSHIFT", ""): ("INT", lambda a, n: a >> (n & 31)),
    ("AND", "INT"): ("INT", lambda a, b: a & b),
    ("OR", "INT"): ("INT", lambda a, b: a | b),
    ("XOR", "INT"): ("INT", lambda a, b: a ^ b),
    ("AND", "BOOL"): ("BOOL", lambda a, b: a and b),
    ("OR", "BOOL"): ("BOOL", lambda a, b: a or b),
    ("XOR", "BOOL"): ("BOOL", lambda a, b: a != b),
}
for _t in ("INT", "FLOAT"):
    BINARY["<", _t] = ("BOOL", lambda a, b: a < b)
    BINARY["<=", _t] = ("BOOL", lambda a, b: a <= b)
    BINARY[">", _t] = ("BOOL", lambda a, b: a > b)
    BINARY[">=", _t] = ("BOOL", lambda a, b: a >= b)
    BINARY["=", _t] = ("BOOL", lambda a, b: a == b)
    BINARY["!=", _t] = ("BOOL", lambda a, b: a != b)

UNARY = {
    ("NOT", "BOOL"): ("BOOL", "BOOL", lambda a: not a),
    ("NOT", "INT"): ("INT", "INT", lambda a: ~a),
    ("FLOOR", ""): ("FLOAT", "INT", lambda x: to_int(x, math.floor)),
    ("CEIL", ""): ("FLOAT", "INT", lambda x: to_int(x, math.ceil)),
    ("TRUNC", ""): ("FLOAT", "INT", lambda x: to_int(x, math.trunc)),
    ("ROUND", ""): ("FLOAT", "INT", lambda x: to_int(x, round)),
    ("I_TO_F", ""): ("INT", "FLOAT", float),
    ("I_TO_B", ""): ("INT", "BOOL", lambda a: a != 0),
    ("B_TO_I", ""): ("BOOL", "INT", int),
    ("LOG", ""): ("FLOAT", "FLOAT", total(natural_log)),
}
for _n in ("SQRT", "EXP", "SIN", "COS", "TAN", "ASIN", "ACOS", "ATAN", "SINH", "COSH", "TANH"):
    UNARY[_n, ""] = ("FLOAT", "FLOAT", total(getattr(math, _n.lower())))


def combiner(name, kind):
    """The function and identity of a scan or reduce."""
    table = {
        ("+", "INT"): (lambda a, b: wrap(a + b), 0),
        ("+", "FLOAT"): (lambda a, b: a + b, 0.0),
        ("*", "INT"): (lambda a, b: wrap(a * b), 1),
        ("*", "FLOAT"): (lambda a, b: a * b, 1.0),
        ("MAX", "INT"): (max, INT_MIN),
        ("MIN", "INT"): (min, INT_MAX),
        ("MAX", "FLOAT"): (max, -EXTREME),
        ("MIN", "FLOAT"): (min, EXTREME),
        ("AND", "INT"): (lambda a, b: a & b, -1),
        ("OR", "INT"): (lambda a, b: a | b, 0),
        ("XOR", "INT"): (lambda a, b: a ^ b, 0),
        ("AND", "BOOL"): (lambda a, b: a and b, True),
        ("OR", "BOOL"): (lambda a, b: a or b, False),
        ("XOR", "BOOL"): (lambda a, b: a != b, False),
    }
    return table.get((name, kind))


def float_key(x):
    bits = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else ~(bits & (2**63 - 1))


class Generator:
    """Additive feedback, degree 31. Numbers from one seed are computed once for all programs."""

    known = {}

    def __init__(self, seed):
        if seed not in self.known:
            r = [seed or 1]
            for _ in range(30):
                r.append(16807 * r[-1] % 2147483647)
            for k in range(31, 34):
                r.append(r[k - 31])
            for k in range(34, 344):
                r.append((r[k - 3] + r[k - 31]) % 2**32)
            self.known[seed] = array.array("I", r[-31:])
        self.numbers = self.known[seed]
        self.at = 31

    def take(self, count):
        end = self.at + count
        numbers, append = self.numbers, self.numbers.append
        for k in range(len(numbers), end):
            append((numbers[k - 3] + numbers[k - 31]) & 0xFFFFFFFF)
        taken = [number >> 1 for number in numbers[self.at:end]]
        self.at = end
        return taken


def starts(lengths):
    at = 0
    for length in lengths:
        yield at, length
        at += length


def text_of(kind, values):
    if kind == "FLOAT":
        items = ["%.14e" % v for v in values]
    elif kind == "BOOL":
        items = ["T" if v else "F" for v in values]
    else:
        items = [str(v) for v in values]
    left, right = ("[", "]") if kind == "SEGDES" else ("(", ")")
    return left + "".join(" " + i for i in items) + " " + right


class Reference:
    def __init__(self):
        self.stack = []
        self.generator = Generator(1)

    def pop(self, *kinds):
        check(len(self.stack) >= len(kinds), "stack")
        taken = self.stack[len(self.stack) - len(kinds):]
        for (kind, _), wanted in zip(taken, kinds):
            check(kind == wanted, "type")
        del self.stack[len(self.stack) - len(kinds):]
        return [values for _, values in taken]

    def push(self, kind, values):
        self.stack.append((kind, values))

    def final(self):
        return [text_of(*cell) for cell in self.stack]

    def move(self, name, n, i):
        check(len(self.stack) >= n + i, "stack")
        first = len(self.stack) - i - n
        cells = self.stack[first:first + n]
        if name != "COPY":
            del self.stack[first:first + n]
        if name != "POP":
            self.stack += cells

    def step(self, name, kind=""):
        if (name, kind) in BINARY:
            result, f = BINARY[name, kind]
            a, b = self.pop(*[kind or "INT"] * 2)
            check(len(a) == len(b), "length")
            self.push(result, [f(x, y) for x, y in zip(a, b)])
        elif (name, kind) in UNARY:
            operand, result, f = UNARY[name, kind]
            (a,) = self.pop(operand)
            self.push(result, [f(x) for x in a])
        elif name.endswith("_SCAN") or name.endswith("_REDUCE"):
            self.combine(name, kind)
        else:
            getattr(self, "op_" + name.lower())(kind)

    def combine(self, name, kind):
        operator, _, form = name.partition("_")
        f, identity = combiner(operator, kind)
        v, s = self.pop(kind, "SEGDES")
        check(len(v) == sum(s), "length")
        result = []
        for at, length in starts(s):
            value = identity
            for x in v[at:at + length]:
                if form == "SCAN":
                    result.append(value)
                value = f(value, x)
            if form == "REDUCE":
                result.append(value)
        self.push(kind, result)

    def op_select(self, kind):
        f, a, b = self.pop("BOOL", kind, kind)
        check(len(f) == len(a) == len(b), "length")
        self.push(kind, [x if c else y for c, x, y in zip(f, a, b)])

    def op_rand(self, _):
        (n,) = self.pop("INT")
        check(not n or min(n) > 0, "limit")
        self.push("INT", [r % x for r, x in zip(self.generator.take(len(n)), n)])

    def op_srand(self, _):
        (seed,) = self.pop("INT")
        check(len(seed) == 1, "length")
        self.generator = Generator(seed[0])
        self.push("BOOL", [True])

    def scatter(self, v, i, f, result, ss, ds):
        check(len(ss) == len(ds) and len(v) == len(i) == sum(ss), "length")
        check(f is None or len(f) == sum(ss), "length")
        check(len(result) == sum(ds), "length")
        result = list(result)
        for (at, length), (to, room) in zip(starts(ss), starts(ds)):
            for k in range(at, at + length):
                if f is None or f[k]:
                    check(0 <= i[k] < room, "index")
                    result[to + i[k]] = v[k]
        return result

    def op_permute(self, kind):
        v, i, s = self.pop(kind, "INT", "SEGDES")
        check(len(v) == len(i) == sum(s), "length")
        for at, length in starts(s):
            check(sorted(i[at:at + length]) == list(range(length)), "index")
        self.push(kind, self.scatter(v, i, None, v, s, s))

    def op_dpermute(self, kind):
        v, i, d, ss, ds = self.pop(kind, "INT", kind, "SEGDES", "SEGDES")
        self.push(kind, self.scatter(v, i, None, d, ss, ds))

    def op_fpermute(self, kind):
        v, i, f, ss, ds = self.pop(kind, "INT", "BOOL", "SEGDES", "SEGDES")
        zero = {"INT": 0, "FLOAT": 0.0, "BOOL": False}[kind]
        self.push(kind, self.scatter(v, i, f, [zero] * sum(ds), ss, ds))

    def op_dfpermute(self, kind):
        v, i, f, d, ss, ds = self.pop(kind, "INT", "BOOL", kind, "SEGDES", "SEGDES")
        self.push(kind, self.scatter(v, i, f, d, ss, ds))

    def gather(self, kind, v, i, f, ss, ds):
        check(len(ss) == len(ds) and len(v) == sum(ss) and len(i) == sum(ds), "length")
        check(f is None or len(f) == sum(ds), "length")
        zero = {"INT": 0, "FLOAT": 0.0, "BOOL": False}[kind]
        result = []
        for (at, length), (to, room) in zip(starts(ss), starts(ds)):
            for k in range(to, to + room):
                if f is None or f[k]:
                    check(0 <= i[k] < length, "index")
                    result.append(v[at + i[k]])
                else:
                    result.append(zero)
        self.push(kind, result)

    def op_bpermute(self, kind):
        v, i, ss, ds = self.pop(kind, "INT", "SEGDES", "SEGDES")
        self.gather(kind, v, i, None, ss, ds)

    def op_bfpermute(self, kind):
        v, i, f, ss, ds = self.pop(kind, "INT", "BOOL", "SEGDES", "SEGDES")
        self.gather(kind, v, i, f, ss, ds)

    def op_extract(self, kind):
        v, i, s = self.pop(kind, "INT", "SEGDES")
        check(len(v) == sum(s) and len(i) == len(s), "length")
        result = []
        for (at, length), k in zip(starts(s), i):
            check(0 <= k < length, "index")
            result.append(v[at + k])
        self.push(kind, result)

    def op_replace(self, kind):
        v, i, w, s = self.pop(kind, "INT", kind, "SEGDES")
        check(len(v) == sum(s) and len(i) == len(w) == len(s), "length")
        v = list(v)
        for (at, length), k, x in zip(starts(s), i, w):
            check(0 <= k < length, "index")
            v[at + k] = x
        self.push(kind, v)

    def op_pack(self, kind):
        v, f, s = self.pop(kind, "BOOL", "SEGDES")
        check(len(v) == len(f) == sum(s), "length")
        self.push(kind, [x for x, keep in zip(v, f) if keep])
        self.push("SEGDES", [sum(f[at:at + length]) for at, length in starts(s)])

    def rank(self, kind, sign):
        v, s = self.pop(kind, "SEGDES")
        check(len(v) == sum(s), "length")
        result = [0] * len(v)
        for at, length in starts(s):
            key = (lambda k: sign * float_key(v[at + k])) if kind == "FLOAT" else (lambda k: sign * v[at + k])
            for place, k in enumerate(sorted(range(length), key=key)):
                result[at + k] = place
        self.push("INT", result)

    def op_rank_up(self, kind):
        self.rank(kind, 1)

    def op_rank_down(self, kind):
        self.rank(kind, -1)

    def op_dist(self, kind):
        w, s = self.pop(kind, "SEGDES")
        check(len(w) == len(s), "length")
        self.push(kind, [x for x, length in zip(w, s) for _ in range(length)])

    def op_index(self, _):
        a, b, s = self.pop("INT", "INT", "SEGDES")
        check(len(a) == len(b) == len(s), "length")
        self.push("INT", [wrap(x + k * y) for x, y, length in zip(a, b, s) for k in range(length)])

    def op_length(self, kind):
        (v,) = self.pop(kind)
        self.push("INT", [len(v)])

    def op_make_segdes(self, _):
        (lengths,) = self.pop("INT")
        check(not lengths or min(lengths) >= 0, "length")
        self.push("SEGDES", lengths)

    def op_lengths(self, _):
        (s,) = self.pop("SEGDES")
        self.push("INT", s)
