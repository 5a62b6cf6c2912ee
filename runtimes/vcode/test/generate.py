# SPDX-License-Identifier: Apache-2.0 OR MIT
# Programs with their expected output: every operation on every shape, and random chains of operations.
import random

from reference import BINARY, UNARY, Reference

# Lengths around which a run-time may change what it does: blocks, digits of sorts, what is put off or shared.
EDGES = [0, 1, 2, 3, 9, 32, 33, 1024, 4095, 4096, 4097]
LARGE = [40000, 70000]
DATA = ("INT", "BOOL", "FLOAT")


class Program:
    """A program that grows statement by statement, carried out by the reference as it does."""

    def __init__(self, rng):
        self.rng = rng
        self.reference = Reference()
        self.lines = []

    def op(self, name, kind=""):
        self.lines.append((name + " " + kind).strip())
        self.reference.step(name, kind)

    def move(self, name, n, i):
        self.lines.append("%s %d %d" % (name, n, i))
        self.reference.move(name, n, i)

    def const(self, kind, values):
        if kind == "FLOAT":
            text = " ".join("%.17e" % v for v in values)
        elif kind == "BOOL":
            text = " ".join("T" if v else "F" for v in values)
        else:
            text = " ".join(map(str, values))
        self.lines.append("CONST %s (%s)" % (kind, text))
        self.reference.push(kind, list(values))

    def descriptor(self, lengths):
        if self.rng.random() < 0.5:
            self.const("SEGDES", lengths)
        else:
            self.const("INT", lengths)
            self.op("MAKE_SEGDES")

    def values(self, kind, count):
        rng = self.rng
        if kind == "BOOL":
            share = rng.choice([0.4, 0.4, 0.02, 0.98, 0, 1])
            return [rng.random() < share for _ in range(count)]
        if kind == "FLOAT":
            special = [0.0, -0.0, 1.5, -2.5, 1e300, 1e-300]
            return [rng.choice(special) if rng.random() < 0.05 else rng.uniform(-100, 100) for _ in range(count)]
        if rng.random() < 0.3:
            return [rng.randrange(4) for _ in range(count)]
        extreme = [2**31 - 1, -(2**31), 0, -1]
        return [rng.choice(extreme) if rng.random() < 0.05 else rng.randrange(-1000, 1000) for _ in range(count)]

    def vector(self, kind, count):
        """Pushes a vector; long ones are made by the program."""
        if count < 3000:
            return self.const(kind, self.values(kind, count))
        self.const("INT", [self.rng.choice([2, 7, 100, 1 << 20, 2**31 - 1])])
        self.const("SEGDES", [count])
        self.op("DIST", "INT")
        self.op("RAND")
        if kind == "BOOL":
            self.const("INT", [1])
            self.const("SEGDES", [count])
            self.op("DIST", "INT")
            self.op("AND", "INT")
            self.op("I_TO_B")
        elif kind == "FLOAT":
            self.op("I_TO_F")
            self.const("FLOAT", [self.rng.uniform(-4, 4)])
            self.const("SEGDES", [count])
            self.op("DIST", "FLOAT")
            self.op("*", "FLOAT")

    def indices(self, ss, ds):
        """Indices for segments of these lengths into others."""
        values = []
        for s, d in zip(ss, ds):
            values += [self.rng.randrange(d) for _ in range(s)]
        self.const("INT", values)

    def ranges(self, starts, steps, lengths):
        """INDEX, whose numbers need not be in memory."""
        self.const("INT", starts)
        self.const("INT", steps)
        self.descriptor(lengths)
        self.op("INDEX")

    def text(self):
        return "FUNC TEST_1\n" + "\n".join(self.lines) + "\nRET\n"

    def expected(self):
        return self.reference.final()


def shapes(rng, total):
    """Segments of so many elements: one, few, many, tiny ones, with and without empty ones."""
    yield [total]
    cuts = sorted(rng.randrange(total + 1) for _ in range(4))
    yield [b - a for a, b in zip([0] + cuts, cuts + [total])]
    yield [0] * 3 + [total] + [0] * 3
    tiny = []
    while sum(tiny) < total:
        tiny.append(min(rng.choice([0, 0, 1, 1, 2, 3, 5]), total - sum(tiny)) if total < 3000
                    else min(rng.randrange(400), total - sum(tiny)))
    yield tiny
    if total <= 4097:
        yield [1] * total
        yield [0] * rng.randrange(5) if total == 0 else [0] * 5000 + [total]


def not_empty(lengths):
    return [x or 1 for x in lengths]


def elementwise_operations(program, kind, total):
    """Each of them once on vectors of this length. The results stay on the stack."""
    for (name, suffix), (_, _) in BINARY.items():
        if (suffix or "INT") == kind:
            program.vector(kind, total)
            program.vector(kind, total)
            program.op(name, suffix)
    for (name, suffix), (operand, _, _) in UNARY.items():
        if operand == kind:
            program.vector(kind, total)
            program.op(name, suffix)
    program.vector("BOOL", total)
    program.vector(kind, total)
    program.vector(kind, total)
    program.op("SELECT", kind)


def segment_operations(program, kind, lengths):
    """Each operation with descriptors once on operands of this shape."""
    rng = program.rng
    total = sum(lengths)
    names = {"INT": ["+", "*", "MAX", "MIN", "AND", "OR", "XOR"], "BOOL": ["AND", "OR", "XOR"],
             "FLOAT": ["+", "MAX", "MIN"]}[kind]
    for name in names:
        for form in ("_SCAN", "_REDUCE"):
            program.vector(kind, total)
            program.descriptor(lengths)
            program.op(name + form, kind)
    program.vector(kind, total)
    program.const("INT", [p for length in lengths for p in rng.sample(range(length), length)])
    program.descriptor(lengths)
    program.op("PERMUTE", kind)
    others = [rng.choice([1, 2, x + 1, 2 * x + 1]) for x in lengths]
    # To other lengths, with indices that occur twice.
    program.vector(kind, total)
    program.indices(lengths, others)
    program.vector(kind, sum(others))
    program.descriptor(lengths)
    program.descriptor(others)
    program.op("DPERMUTE", kind)
    program.vector(kind, total)
    program.indices(lengths, others)
    program.vector("BOOL", total)
    program.vector(kind, sum(others))
    program.descriptor(lengths)
    program.descriptor(others)
    program.op("DFPERMUTE", kind)
    program.vector(kind, total)
    program.indices(lengths, others)
    program.vector("BOOL", total)
    program.descriptor(lengths)
    program.descriptor(others)
    program.op("FPERMUTE", kind)
    program.vector(kind, sum(others))
    program.indices(lengths, others)
    program.descriptor(others)
    program.descriptor(lengths)
    program.op("BPERMUTE", kind)
    program.vector(kind, sum(others))
    program.indices(lengths, others)
    program.vector("BOOL", total)
    program.descriptor(others)
    program.descriptor(lengths)
    program.op("BFPERMUTE", kind)
    full = not_empty(lengths)
    program.vector(kind, sum(full))
    program.const("INT", [rng.randrange(x) for x in full])
    program.descriptor(full)
    program.op("EXTRACT", kind)
    program.vector(kind, sum(full))
    program.const("INT", [rng.randrange(x) for x in full])
    program.vector(kind, len(full))
    program.descriptor(full)
    program.op("REPLACE", kind)
    program.vector(kind, total)
    program.vector("BOOL", total)
    program.descriptor(lengths)
    program.op("PACK", kind)
    if kind != "BOOL":
        for name in ("RANK_UP", "RANK_DOWN"):
            program.vector(kind, total)
            program.descriptor(lengths)
            program.op(name, kind)
    program.vector(kind, len(lengths))
    program.descriptor(lengths)
    program.op("DIST", kind)
    program.vector(kind, total)
    program.op("LENGTH", kind)
    if kind == "INT":
        program.vector("INT", len(lengths))
        program.vector("INT", len(lengths))
        program.descriptor(lengths)
        program.op("INDEX")
        program.descriptor(lengths)
        program.op("LENGTHS")


def run_into(rng, length, room, steps):
    """First index and step of a run of so many indices into so many places."""
    step = rng.choice([s for s in steps if abs(s) * (length - 1) < room])
    first = rng.randrange(room - abs(step) * max(length - 1, 0))
    return (first, step) if step >= 0 else (first - step * max(length - 1, 0), step)


def every_operation(program, kind, lengths):
    elementwise_operations(program, kind, sum(lengths))
    segment_operations(program, kind, lengths)


def runs_of_elements(program, kind, lengths):
    """Gathers and scatters by INDEX: by segments, and over one segment, with runs that meet and that do not."""
    rng = program.rng
    total = sum(lengths)
    others = [rng.choice([x, x + 1, 2 * x + 1]) or 1 for x in lengths]
    by_segment = [run_into(rng, x, room, [1, 1, -1, 2, 0]) for x, room in zip(lengths, others)]
    anywhere = [run_into(rng, x, total + 1, [1, 1, 1, -1, 0]) for x in lengths]
    behind, at = [], 0
    for x in lengths:
        behind.append((at, 1))
        at += x
    # Behind one another, and from the beginning again behind each empty one, which lies far before it.
    again, at = [], 0
    for x in lengths:
        again.append((at, 1 if x > 0 else total + 1))
        at = at + x if x > 0 else 0
    for name in ("BPERMUTE", "DPERMUTE"):
        everywhere = [(runs, [total + 1]) for runs in (anywhere, behind, again)]
        for runs, rooms in [(by_segment, others)] + everywhere:
            own = lengths if rooms is others else [total]
            program.vector(kind, sum(rooms) if name == "BPERMUTE" else total)
            program.ranges([first for first, _ in runs], [step for _, step in runs], lengths)
            if name == "DPERMUTE":
                program.vector(kind, sum(rooms))
                program.descriptor(own)
            program.descriptor(rooms)
            if name == "BPERMUTE":
                program.descriptor(own)
            program.op(name, kind)
    program.vector(kind, total)
    turned = rng.random() < 0.5
    program.ranges([x - 1 if turned else 0 for x in lengths], [-1 if turned else 1] * len(lengths), lengths)
    program.descriptor(lengths)
    program.op("PERMUTE", kind)
    # Numbers that wrap, and what else takes them as a vector.
    program.ranges([2**31 - 2] * len(lengths), [rng.choice([-5, 1, 2**30])] * len(lengths), lengths)
    program.move("COPY", 1, 0)
    program.op("+", "INT")


ELEMENTWISE = {
    "INT": [("+", "INT"), ("-", "INT"), ("*", "INT"), ("/", "INT"), ("%", ""), ("AND", "INT"), ("XOR", "INT"),
            ("LSHIFT", ""), ("RSHIFT", "")],
    "FLOAT": [("+", "FLOAT"), ("-", "FLOAT")],
    "BOOL": [("AND", "BOOL"), ("OR", "BOOL"), ("XOR", "BOOL")],
}


def random_chain(rng, length):
    """A chain on vectors of one length, with copies, so that results are shared and reused in place."""
    program = Program(rng)
    kinds = []  # of the vectors on the stack, the top last

    def fresh(kind):
        program.vector(kind, length)
        kinds.append(kind)

    def distributed(kind):
        program.const(kind, program.values(kind, 1))
        program.const("SEGDES", [length])
        program.op("DIST", kind)
        kinds.append(kind)

    def need(kind, operands=0):
        """Brings some vector of this kind to the top: an old one moved or copied, or a new one. So many of the
        topmost ones are operands already, and stay."""
        places = [k for k, x in enumerate(reversed(kinds)) if x == kind]
        choice = rng.random()
        if not places or choice < 0.15:
            fresh(kind)
        elif choice < 0.3:
            distributed(kind)
        else:
            place = rng.choice(places)
            how = "COPY" if place < operands or rng.random() < 0.6 else "CPOP"
            program.move(how, 1, place)
            if how == "CPOP":
                del kinds[len(kinds) - 1 - place]
            kinds.append(kind)

    fresh("INT")
    for _ in range(rng.randrange(5, 40)):
        choice = rng.random()
        kind = rng.choice(DATA)
        if choice < 0.55:
            name, suffix = rng.choice(ELEMENTWISE[kind])
            need(kind)
            need(kind, 1)
            program.op(name, suffix)
            del kinds[-2:]
            kinds.append(kind)
        elif choice < 0.65:
            need(kind if kind != "BOOL" else "INT")
            need(kinds[-1], 1)
            operand = kinds[-1]
            program.op(rng.choice(["<", "<=", "=", ">", ">=", "!="]), operand)
            del kinds[-2:]
            kinds.append("BOOL")
        elif choice < 0.75:
            need("BOOL")
            fresh(kind)
            fresh(kind)
            program.op("SELECT", kind)
            del kinds[-3:]
            kinds.append(kind)
        elif choice < 0.85:
            need("INT")
            name = rng.choice(["I_TO_F", "I_TO_B", "NOT"])
            program.op(name, "INT" if name == "NOT" else "")
            kinds[-1] = {"I_TO_F": "FLOAT", "I_TO_B": "BOOL", "NOT": "INT"}[name]
        elif choice < 0.9 and len(kinds) > 1:
            place = rng.randrange(len(kinds))
            program.move("POP", 1, place)
            del kinds[len(kinds) - 1 - place]
        else:
            need("INT")
            lengths = rng.choice(list(shapes(rng, length)))
            program.descriptor(lengths)
            program.op("+_SCAN", "INT")
    while len(kinds) > 4:
        program.move("POP", 1, rng.randrange(1, 4))
        kinds.pop()
    if rng.random() < 0.5:
        # Reduce whatever is on top.
        kind = program.reference.stack[-1][0]
        program.const("SEGDES", [length])
        program.op({"INT": "+_REDUCE", "BOOL": "OR_REDUCE", "FLOAT": "MAX_REDUCE"}[kind], kind)
    return program


def programs(seed, count, large):
    """(name, program) of the whole set."""
    rng = random.Random(seed)
    for total in EDGES + large:
        for kind in DATA:
            program = Program(rng)
            elementwise_operations(program, kind, total)
            yield "elementwise %s %d" % (kind, total), program
            for number, lengths in enumerate(shapes(rng, total)):
                # Some of the long ones are enough.
                if total in large and rng.random() < 0.6:
                    continue
                program = Program(rng)
                segment_operations(program, kind, lengths)
                runs_of_elements(program, kind, lengths)
                yield "every %s %d shape %d" % (kind, total, number), program
    for number in range(count):
        length = rng.choice(EDGES + large * 2)
        yield "chain %d of length %d" % (number, length), random_chain(rng, length)
