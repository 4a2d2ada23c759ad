"""Evaluates expressions with NumPy, as the reference of expr_numpy.rs.

    expr_numpy.py FOLDER

FOLDER/cases has one line per case, with fields separated by tabs: the expression, the tolerance ("exact", a number of
ulp, or "type" to compare only the dtype), NAME=TYPE:SHAPE for each array, and TYPE:SHAPE of the result, or "error".
FOLDER/data has the bytes of these arrays one after another, in C order.
"""

import itertools
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
INTEGERS = [np.dtype(name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()]
FLOATS = [np.dtype(np.float16), BF16, np.dtype(np.float32), np.dtype(np.float64)]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]
ALL = [np.dtype(bool), *INTEGERS, *FLOATS, *COMPLEX]

NAMES = dict(
    vars(np),
    min=np.minimum,
    max=np.maximum,
    acos=np.arccos,
    atan2=np.arctan2,
    round=np.round,
    signbit=np.signbit,
    pi=np.pi,
    inf=np.inf,
    leaky_relu=lambda x, slope: np.where(x < 0, x * slope, x),
    nan=np.nan,
)


def values(dtype, count):
    """Ordinary, special and extreme values."""
    if dtype == bool:
        return np.resize(np.array([False, True]), count)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 5, 7, 10, 100, -1, -2, -3, -7, -10, -100]
        some += [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, info.max // 3, info.min // 3]
        return np.resize(np.array([x for x in some if info.min <= x <= info.max], dtype), count)
    part = dtype if dtype.kind != "c" else np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
    info = ml_dtypes.finfo(part)
    some = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 7.0, 0.1, -0.1, 10.0, 33.3, -1e-3, 1e3]
    some += [np.inf, -np.inf, np.nan, float(info.max), float(info.min), float(info.tiny), float(info.eps)]
    some += [float(info.smallest_subnormal), -float(info.tiny) / 2]
    some = np.array(some).astype(part)
    if dtype.kind != "c":
        return np.resize(some, count)
    real, imaginary = np.resize(some, count), np.resize(np.roll(some, 7)[: len(some) - 1], count)
    result = np.empty(count, dtype)
    result.real, result.imag = real, imaginary
    return result


def binary_cases():
    """Every pair of types for operators that are to be exact."""
    operators = "a + b|a - b|a * b|a / b|a // b|a % b|a == b|a != b|a < b|a <= b|a > b|a >= b|a & b|a | b|a ^ b"
    operators = [*operators.replace("a | b", "a OR b").split("|")]
    operators = [text.replace("OR", "|") for text in operators]
    operators += ["min(a, b)", "max(a, b)", "logical_and(a, b)", "logical_or(a, b)", "logical_xor(a, b)"]
    operators += ["copysign(a, b)", "fmod(a, b)", "where(a, a, b)", "clip(a, b, a)", "fmax(a, b)", "fmin(a, b)"]
    operators += ["heaviside(a, b)"]
    for text, x, y in itertools.product(operators, ALL, ALL):
        is_complex = "c" in (x.kind, y.kind)
        if text.startswith("clip") and (is_complex or BF16 in (x, y)):
            continue  # ordering complex numbers with NaNs; ml_dtypes has no clip, so that it becomes float32
        if text.startswith("where") and x != y and BF16 in (x, y):
            continue  # ml_dtypes has no common type with most integers
        # Products of complex numbers are rounded once or twice by the CPU's instructions for them.
        yield text, "type" if text == "a * b" and is_complex else "exact", {"a": values(x, 27).reshape(27, 1), "b": values(y, 26)}
    for text, x, y in itertools.product(["a << b", "a >> b"], [np.dtype(bool), *INTEGERS], INTEGERS):
        yield text, "exact", {"a": values(x, 27).reshape(27, 1), "b": values(y, 26)}
    for text, x in itertools.product(["atan2(a, b)", "hypot(a, b)", "logaddexp(a, b)", "logaddexp2(a, b)", "nextafter(a, b)"], ALL):
        # NumPy's own logaddexp is not as close as its other functions.
        exact = "exact" if "next" in text else "16" if "logadd" in text else "4"
        yield text, exact, {"a": values(x, 27).reshape(27, 1), "b": values(x, 26)}
    for x, y in itertools.product(INTEGERS + FLOATS, INTEGERS + FLOATS):
        if x == y or BF16 not in (x, y):
            yield "leaky_relu(a, b)", "exact", {"a": values(x, 27).reshape(27, 1), "b": values(y, 26)}
    for x, y in itertools.product([np.dtype(bool), *INTEGERS], [np.dtype(bool), *INTEGERS]):
        # NumPy refuses negative powers of integers.
        exact = "exact" if np.promote_types(x, y).kind in "iub" else "4"
        yield "a ** b", exact, {"a": values(x, 27).reshape(27, 1), "b": np.abs(values(y, 26) % 9).astype(y)}
    for x, y in itertools.product(FLOATS, FLOATS):
        if BF16 not in (x, y):
            yield "float_power(a, b)", "4", {"a": values(x, 27).reshape(27, 1), "b": values(y, 26)}
        yield "a ** b", "4", {"a": values(x, 27).reshape(27, 1), "b": values(y, 26)}


def unary_cases():
    exact = "-a|+a|~a|not_(a)|abs(a)|sign(a)|square(a)|floor(a)|ceil(a)|trunc(a)|round(a)|sqrt(a)|isnan(a)|isinf(a)"
    exact += "|isfinite(a)|signbit(a)|real(a)|imag(a)|conj(a)|reciprocal(a)|deg2rad(a)|rad2deg(a)"
    for text, x in itertools.product(exact.split("|"), ALL):
        a = values(x, 27)
        if text == "reciprocal(a)" and x.kind in "iu":
            a = a[a != 0]  # which C leaves open
        rounded = "abs(a)", "sign(a)", "sqrt(a)", "square(a)", "reciprocal(a)"
        yield text, "4" if x.kind == "c" and text in rounded else "exact", {"a": a}
    functions = "acos arccosh arcsin arcsinh arctan arctanh cbrt cos cosh exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh"
    for name, x in itertools.product(functions.split(), ALL):
        # NumPy takes log1p of a complex number to be log(1 + a), which loses digits near 0.
        exact = "type" if name == "log1p" and x.kind == "c" else "4"
        a = values(x, 27)
        if name == "exp2" and x.kind == "c":
            # NumPy multiplies by ln 2 and rounds, which loses digits of large exponents and of large angles.
            a = a[~(np.isfinite(a.real) & (np.abs(a.real) > 30) | (np.abs(a.imag) > 100))]
        yield f"{name}(a)", exact, {"a": a}


def literal_cases():
    texts = "a + 2|2 - a|a * 2.5|a / 3|a // 2|7 % a|a ** 2|a + 2j|a < 200|a == 300|-1 < a|a + 300|a - 70000|a * 1e300"
    texts += "|a + True|a > 0.5|minimum(a, 0)|clip(a, 0, 1)|where(a > 0, a, 0)|where(a > 0, a, -1.5)|a * (2 * 3)|a + 2**3"
    texts += "|round(a, 0)|round(a, 1)|around(a, 2)|round(a, -1)|fmax(a, 1)|heaviside(a, 0.5)|clip(a, -1, 100000)"
    texts += "|hypot(a, 2)|copysign(3, a)|logical_and(a, 2j)|where(2j, a, a)"
    texts += "|a * pi|(a + 1) * (a + 1)|-a ** 2|2 ** a|1 / (1 + a)|a << 1|a & 1|a + (7 // 2)|a * (1 / 2)|not_(a > 1)"
    for text, x in itertools.product(texts.split("|"), ALL):
        a = values(x, 27)
        if x == BF16 and ("." in text or "pi" in text or "/" in text or "1e" in text or "clip" in text):
            continue  # ml_dtypes lets a written number widen it
        if text in ("round(a, 1)", "around(a, 2)", "round(a, -1)") and x.kind in "cb":
            continue  # which have no multiples of 10
        if text == "round(a, -1)" and x.kind in "iu":
            a = a[(a > np.iinfo(x).min + 9) & (a < np.iinfo(x).max - 9)]  # which C leaves open
        if x == bool and "** 2" in text:
            continue  # by a shortcut of NumPy's int8, where its own power is int64
        if text == "2 ** a":
            if x.kind not in "iub":
                continue
            a = np.abs(a % 9).astype(x)
        yield text, "4" if "pi" in text or "hypot" in text else "exact", {"a": a}


def cast_cases():
    for x, y in itertools.product(ALL, ALL):
        a = values(x, 27)
        if x.kind == "c" and y.kind not in "cb":
            continue  # refused, where NumPy warns and drops the imaginary part
        if x.kind not in "iubc" and y.kind in "iu":
            # Out of range C leaves it open what comes out.
            a = np.array([0.0, -0.0, 1.0, 0.5, 1.5, 2.5, 99.0, 3.3, 7.75], x)
            if y.kind == "i":
                a = np.concatenate([a, -a])
        if y == BF16 and x.kind in "iuf" and x.itemsize > 2:
            continue  # ml_dtypes rounds twice
        yield f"cast(a, {name(y)})", "exact", {"a": a}


def name(dtype):
    return "bfloat16" if dtype == BF16 else dtype.name


def expected(text, arrays):
    text = text.replace("not_(", "logical_not(")
    text = text.replace("cast(a, bfloat16)", "a.astype(BF16)")
    if text.startswith("cast("):
        text = f"a.astype('{text[8:-1]}')"
    try:
        return eval(text, dict(NAMES, BF16=BF16), dict(arrays))
    except (TypeError, OverflowError, ValueError):
        return None


def main():
    folder = Path(sys.argv[1])
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with open(folder / "cases", "w") as cases, open(folder / "data", "wb") as data:
        for text, exact, arrays in itertools.chain(binary_cases(), unary_cases(), literal_cases(), cast_cases()):
            result = expected(text, arrays)
            parts = [text, exact]
            for key, array in arrays.items():
                parts.append(f"{key}={described(array)}")
                data.write(np.ascontiguousarray(array).tobytes())
            if result is None:
                parts.append("error")
            else:
                result = np.asarray(result)
                parts.append(described(result))
                data.write(np.ascontiguousarray(result).tobytes())
            cases.write("\t".join(parts) + "\n")


def described(array):
    return f"{name(array.dtype)}:{'x'.join(map(str, array.shape))}"


main()
