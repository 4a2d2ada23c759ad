"""Compares machine code of the core with that of the proven programs, for all sizes.

`cargo xtask equivalence` runs this. FOLDER contains the shared libraries that it builds. angr executes a function of
Rust with symbolic sizes, and from each end state the same function of C. An SMT solver then looks for arguments that
lead there and whose results differ. Ranks, lengths and rule sets are concrete: each combination is a case.

Every path is followed to its end: a path that angr cannot follow is an error. So the results are equal for all 64-bit
values of the symbolic words, if no difference is found.
"""

import argparse
import itertools
import json
import logging
import multiprocessing
import os
import sys
import time

# angr reports that it has no emulator, which nothing here needs.
logging.getLogger("angr.state_plugins.unicorn_engine").setLevel(logging.CRITICAL)

import angr
import claripy
from angr.engines.vex.claripy import ccall
from angr.engines.vex.claripy.datalayer import ClaripyDataMixin

LIBRARIES = ["rust", "core", "common_usize", "common_extent"]

# As in src/lib.rs.
WORDS, LENGTH = 64, 4
A, B, C, D, E = 16, 24, 32, 40, 48
STANDARD, SONNX, STANDARD_STRICT, SONNX_STRICT = RULES = range(4)

# Addresses of arguments and results, and the one that functions return to: apart from libraries, stack and heap.
ARGUMENTS, RUST, PROVEN, END = 0x1000_0000, 0x1001_0000, 0x1002_0000, 0x1003_0000

KINDS_OF_EXTENTS = 3


class Case:
    """One function at concrete ranks: numbers are concrete words, the others can have any value below their bound."""

    def __init__(self, function, numbers=(), bounds=()):
        self.function, self.numbers, self.bounds = function, dict(numbers), dict(bounds)

    def __str__(self):
        numbers = " ".join(str(number) for _, number in sorted(self.numbers.items()))
        return f"{self.function} {numbers}".strip()


def cases(rank):
    """All cases of shapes up to this rank."""
    ranks = range(rank + 1)
    # A shape may have a higher rank than the buffer or the target.
    longer = range(rank + 2) if rank < LENGTH else ranks
    yield Case("rules", bounds={0: len(RULES)})
    yield Case("broadcast_dim", bounds={0: len(RULES)})
    yield Case("join_extents", bounds={0: len(RULES), 1: KINDS_OF_EXTENTS, 3: KINDS_OF_EXTENTS})
    yield Case("index_map")
    for n in ranks:
        yield Case("padded_dim", {1: n}, {2: 1 << 31, 3: 1 << 31})
        yield Case("element_count", {1: n})
        yield Case("byte_count", {1: n})
        yield Case("fits_isize", {1: n})
    for rules, own, other in itertools.product((STANDARD, SONNX), ranks, longer):
        yield Case("join_shape", {0: rules, 1: own, 2: other})
    for sizes, owners in itertools.product(ranks, ranks):
        yield Case("new", {0: STANDARD, 1: sizes, 2: owners})
    for rules, target, shape in itertools.product(RULES, ranks, longer):
        yield Case("check_broadcast_to", {0: rules, 1: shape, 2: target})
        yield Case("broadcast_strides", {0: rules, 1: shape, 2: shape, 3: target, 4: target})
    # Inconsistent lengths.
    few = range(min(rank, 2) + 1)
    for shape, strides, target, stretched in itertools.product(few, repeat=4):
        if (strides, stretched) != (shape, target):
            numbers = {0: STANDARD, 1: shape, 2: strides, 3: target, 4: stretched}
            yield Case("broadcast_strides", numbers)
    for target, shape in itertools.product(ranks, longer):
        yield Case("source_index", {1: shape, 2: target, 3: target, 4: shape})
    for shape, target, index, source in itertools.product(few, repeat=4):
        if (index, source) != (target, shape):
            yield Case("source_index", {1: shape, 2: target, 3: index, 4: source})
    for target, strides, index in itertools.product(ranks, repeat=3):
        yield Case("source_offset", {1: target, 2: strides, 3: index})
    # One shape more, after any state of a fold: any sizes, owners and number of inputs.
    for rules, room in itertools.product(RULES, ranks):
        for folded, shape in itertools.product(range(room + 1), range(min(room + 2, LENGTH + 1))):
            yield Case("push", {0: rules, 1: room, 2: room, 3: folded, 5: shape})
    for sizes, owners, folded, shape in itertools.product(few, repeat=4):
        if sizes != owners:
            yield Case("push", {0: STANDARD, 1: sizes, 2: owners, 3: folded, 5: shape})
    kinds = {at + k: KINDS_OF_EXTENTS for at in (D, E) for k in range(LENGTH)}
    for rules, room in itertools.product((STANDARD, SONNX), range(min(rank, 1) + 1)):
        for folded, shape in itertools.product(range(room + 1), range(room + 2)):
            yield Case("push_extents", {0: rules, 1: room, 2: room, 3: folded, 5: shape}, kinds)
    for rules, room in itertools.product(RULES, few):
        for inputs in range(4 if room < 2 else 3):
            for lengths in itertools.product(range(room + 1), repeat=inputs):
                numbers = {0: rules, 1: room, 2: inputs}
                numbers.update({3 + k: length for k, length in enumerate(lengths)})
                yield Case("fast", numbers)


def product(state, a, b):
    """The lower half of a product of 64-bit words, and the upper halves of the unsigned and the signed one.

    Solvers are slow with products of unknown words, so that a product is an unknown function here: it has the same
    result for the same operands, and commutes. Of its values only those of 0 and 1 are known. What is equal for every
    such function is equal for products.
    """
    if a.concrete and b.concrete:
        unsigned, signed = a.zero_extend(64) * b.zero_extend(64), a.sign_extend(64) * b.sign_extend(64)
        return unsigned[63:0], unsigned[127:64], signed[127:64]
    known = state.globals.get("products", ())
    for c, d, result in known:
        if (a is c and b is d) or (a is d and b is c):
            return result
    result = tuple(claripy.BVS(f"product{len(known)}", 64) for _ in range(3))
    lower, upper, signed = result
    for x, y in [(a, b), (b, a)]:
        state.solver.add(claripy.Or(x != 0, claripy.And(lower == 0, upper == 0, signed == 0)))
        state.solver.add(claripy.Or(x != 1, claripy.And(lower == y, upper == 0, signed == sign(y))))
    for c, d, other in known:
        same = claripy.Or(claripy.And(a == c, b == d), claripy.And(a == d, b == c))
        equal = claripy.And(*(one == another for one, another in zip(result, other)))
        state.solver.add(claripy.Or(claripy.Not(same), equal))
    state.globals["products"] = (*known, (a, b, result))
    return result


def sign(word):
    """64 copies of the sign."""
    return claripy.If(word[63] == 1, claripy.BVV(-1, 64), claripy.BVV(0, 64))


def operation(engine, op, args):
    """Executes an operation of VEX: products are those of `product`."""
    if op in ("Iop_Mul64", "Iop_MullU64", "Iop_MullS64"):
        lower, upper, signed = product(engine.state, *args)
        return {"Iop_Mul64": lower, "Iop_MullU64": upper.concat(lower), "Iop_MullS64": signed.concat(lower)}[op]
    return execute(engine, op, args)


def flags(overflow):
    """The CPU's flags after a multiplication, from its overflow."""

    def after(state, nbits, cc_dep1, cc_dep2, cc_ndep, platform=None):
        if nbits != 64:
            raise NotImplementedError(f"flags of a multiplication of {nbits} bits")
        lower, upper, signed = product(state, cc_dep1, cc_dep2)
        zero, one = claripy.BVV(0, 1), claripy.BVV(1, 1)
        over = claripy.If(overflow(lower, upper, signed), one, zero)
        parity = ccall.calc_paritybit(lower)
        bits = (over, parity, zero, ccall.calc_zerobit(lower), lower[63], over)
        return ccall.pc_make_rdata(ccall.data[platform]["size"], *bits, platform=platform)

    return after


def unsigned_overflow(lower, upper, signed):
    return upper != 0


def signed_overflow(lower, upper, signed):
    return signed != sign(lower)


# angr's own flags of an unsigned product are wrong, too: angr 9.2.213 looks for the upper half in the lower one.
ccall.pc_actions_UMUL = flags(unsigned_overflow)
ccall.pc_actions_SMUL = flags(signed_overflow)
execute = ClaripyDataMixin._perform_vex_expr_Op
ClaripyDataMixin._perform_vex_expr_Op = operation


class CheckedMul(angr.SimProcedure):
    """The contract of the programs `checked_mul_usize` and `checked_mul_isize`, which Why3 proves: they return the product,
    or that it does not fit.

    The programs divide, and no solver that angr has compares a division of 64 bits with a multiplication.
    """

    def run(self):
        lower, upper, signed = product(self.state, self.state.regs.rdi, self.state.regs.rsi)
        over = self.overflow(lower, upper, signed)
        self.state.regs.rax = claripy.If(over, claripy.BVV(0, 64), claripy.BVV(1, 64))
        self.state.regs.rdx = claripy.If(over, claripy.BVV(0, 64), lower)


class CheckedMulUsize(CheckedMul):
    overflow = staticmethod(unsigned_overflow)


class CheckedMulIsize(CheckedMul):
    overflow = staticmethod(signed_overflow)


class Comparison:
    """The libraries, loaded."""

    def __init__(self, folder):
        files = [os.path.join(folder, f"{name}.so") for name in LIBRARIES]
        self.project = angr.Project(files[0], auto_load_libs=False, force_load_libs=files[1:])
        for name, contract in [("checked_mul_usize", CheckedMulUsize), ("checked_mul_isize", CheckedMulIsize)]:
            self.project.hook(self.address(name), contract())
        # What compilers call by themselves. angr would let any other function return whatever it likes.
        for symbol in self.project.loader.extern_object.symbols:
            procedure = angr.SIM_PROCEDURES["libc"].get(symbol.name if symbol.name != "bcmp" else "memcmp")
            if symbol.name not in ("memset", "memcpy", "memmove", "memcmp", "bcmp"):
                raise LookupError(f"the libraries call {symbol.name}, for example to panic")
            self.project.hook(symbol.rebased_addr, procedure(), replace=True)

    def address(self, name):
        symbol = self.project.loader.find_symbol(name)
        if symbol is None:
            raise LookupError(f"no function {name}")
        return symbol.rebased_addr

    def call(self, name, results, base):
        """The states in which a function returns."""
        state = self.project.factory.call_state(
            self.address(name), ARGUMENTS, results, base_state=base, ret_addr=END,
            prototype="void f(unsigned long *, unsigned long *)",
        )
        manager = self.project.factory.simulation_manager(state, save_unconstrained=True)
        manager.explore(find=END, num_find=1 << 30)
        for stash, states in manager.stashes.items():
            if states and stash not in ("found", "active", "avoid"):
                raise RuntimeError(f"{name}: paths that are {stash}: {states} {manager.errored}")
        if manager.errored or manager.active or not manager.found:
            raise RuntimeError(f"{name}: paths do not end: {manager} {manager.errored}")
        return manager.found

    def compare(self, case):
        """The number of paths, and arguments with different results if there are some."""
        start = self.project.factory.blank_state(
            add_options={
                angr.options.SYMBOL_FILL_UNCONSTRAINED_MEMORY,
                angr.options.SYMBOL_FILL_UNCONSTRAINED_REGISTERS,
            },
        )
        arguments = [claripy.BVS(f"a{k}", 64) for k in range(WORDS)]
        for k, bound in case.bounds.items():
            start.solver.add(claripy.ULT(arguments[k], bound))
        for k, number in case.numbers.items():
            arguments[k] = claripy.BVV(number, 64)
        before = [claripy.BVS(f"r{k}", 64) for k in range(WORDS)]
        for address, words in [(ARGUMENTS, arguments), (RUST, before), (PROVEN, before)]:
            for k, word in enumerate(words):
                start.memory.store(address + 8 * k, word, endness="Iend_LE")
        paths = 0
        for middle in self.call(f"rust_{case.function}", RUST, start):
            for end in self.call(f"c_{case.function}", PROVEN, middle):
                paths += 1
                rust, proven = (
                    [end.memory.load(at + 8 * k, 8, endness="Iend_LE") for k in range(WORDS)]
                    for at in (RUST, PROVEN)
                )
                other = [a != b for a, b in zip(rust, proven) if a is not b]
                if other and end.solver.satisfiable(extra_constraints=[claripy.Or(*other)]):
                    end.solver.add(claripy.Or(*other))
                    values = [[end.solver.eval(word) for word in words] for words in (arguments, rust, proven)]
                    return paths, values
        return paths, None


def shown(values):
    """The arguments of a difference, and the words of the results that differ."""
    arguments, rust, proven = values
    differ = [k for k in range(WORDS) if rust[k] != proven[k]]
    places = {A: "A", B: "B", C: "C", D: "D", E: "E"}
    arrays = [f"{name} = {arguments[at:at + LENGTH]}" for at, name in places.items()]
    words = [f"word {k}: Rust {rust[k]}, proven {proven[k]}" for k in differ]
    return f"numbers {arguments[:6]}, {', '.join(arrays)}: {'; '.join(words)}"


def start_process(folder):
    global comparison
    for name in ("angr", "cle", "claripy", "pyvex"):
        logging.getLogger(name).setLevel(logging.ERROR)
    comparison = Comparison(folder)


def run(case):
    start = time.process_time()
    try:
        paths, values = comparison.compare(case)
    except Exception as error:
        return case, time.process_time() - start, 0, f"not compared: {type(error).__name__}: {error}"
    return case, time.process_time() - start, paths, values and shown(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--first", action="store_true", help="stop at the first difference")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    parser.add_argument("--functions", nargs="*")
    options = parser.parse_args()
    chosen = [case for case in cases(options.rank) if not options.functions or case.function in options.functions]
    found, totals = 0, {}
    with multiprocessing.Pool(options.jobs, start_process, [options.folder]) as pool:
        for case, seconds, paths, difference in pool.imap_unordered(run, chosen):
            count = totals.setdefault(case.function, [0, 0, 0.0])
            count[0] += 1
            count[1] += paths
            count[2] += seconds
            if options.verbose:
                print(f"{case}: {paths} paths, {seconds:.1f} s", flush=True)
            if difference:
                found += 1
                print(f"{case}: {difference}", flush=True)
                if options.first:
                    break
        pool.terminate()
    for function, (count, paths, seconds) in totals.items():
        print(f"{function}: {count} cases, {paths} paths, {seconds:.0f} s", flush=True)
    print(f"{found} of {len(chosen)} cases differ", flush=True)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
