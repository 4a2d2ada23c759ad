"""Element-wise functions: dtypes, broadcasting and special cases of NumPy and the array API standard."""

import itertools
import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from arrays import BF16, COMPLEX, FLOATS, INTEGERS, LAYOUTS, NUMBERS

import unishape
from unishape import array_api as xp

BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum
    minimum multiply nextafter not_equal pow remainder subtract
""".split()
TERNARY = ["where", "clip"]
SHAPES = ["broadcast_arrays", "broadcast_shapes", "broadcast_to"]
UNARY = [name for name in xp._UNISHAPE_NAMES if name not in [*BINARY, *TERNARY, *SHAPES]]

# ml_dtypes' bfloat16 has its own promotion rules; see crates/unishape/tests/expr_numpy.py.
DTYPES = [dtype for dtype in NUMBERS if dtype != BF16]


@pytest.fixture(autouse=True)
def quiet():
    """NumPy warns about infinities and NaNs; unishape does not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(function, *arguments):
    """The result, or the class of the exception: NumPy's UFuncTypeError is a TypeError."""
    try:
        return np.asarray(function(*arguments))
    except TypeError:
        return TypeError
    except OverflowError:
        return OverflowError
    except ValueError:
        return ValueError


def assert_alike(result, expected, case):
    """The same exception, or the same dtype, shape and, but for rounding, values."""
    if isinstance(expected, type) or isinstance(result, type):
        assert result is expected, case
        return
    assert result.dtype == expected.dtype, case
    assert result.shape == expected.shape, case
    if expected.dtype.kind in "fc":
        tolerance = 8 * float(np.finfo(expected.dtype).eps)
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=0, err_msg=str(case))
    else:
        assert result.tolist() == expected.tolist(), case


def test_namespace_has_all_names_of_the_standard():
    assert len(UNARY) == 38 and len(BINARY) == 28
    for name in xp.__all__:
        assert getattr(xp, name) is getattr(unishape if name in xp._UNISHAPE_NAMES else np, name)
    assert xp.__array_namespace_info__().dtypes()["float32"] == np.float32


# Dtypes.


@pytest.mark.parametrize("name", UNARY)
def test_dtypes_of_unary_functions(name):
    for dtype in DTYPES:
        # Every function is defined at 1, and no integer is divided by 0.
        x = np.array([1, 1], dtype)
        assert_alike(outcome(getattr(unishape, name), x), outcome(getattr(np, name), x), (name, dtype))


@pytest.mark.parametrize("name", BINARY)
def test_dtypes_of_binary_functions(name):
    for one, other in itertools.product(DTYPES, DTYPES):
        x, y = np.array([[1], [3]]).astype(one), np.array([1, 2, 3]).astype(other)
        assert_alike(outcome(getattr(unishape, name), x, y), outcome(getattr(np, name), x, y), (name, one, other))


def test_dtypes_of_where_and_clip():
    for one, other in itertools.product(DTYPES, DTYPES):
        x, y = np.array([[0], [3]]).astype(one), np.array([1, 2, 4]).astype(other)
        for name, arguments in [
            ("where", (x, x, y)),
            ("where", (y > 2, y, x)),
            ("clip", (x, y, x)),
            ("clip", (x, y, None)),
            ("clip", (x, None, y)),
            ("clip", (x,)),
        ]:
            case = (name, one, other, arguments)
            assert_alike(outcome(getattr(unishape, name), *arguments), outcome(getattr(np, name), *arguments), case)


# The standard's promotion tables.
TABLE = """
       i1 i2 i4 i8 u1 u2 u4
    i1 i1 i2 i4 i8 i2 i4 i8
    i2 i2 i2 i4 i8 i2 i4 i8
    i4 i4 i4 i4 i8 i4 i4 i8
    i8 i8 i8 i8 i8 i8 i8 i8
    u1 i2 i2 i4 i8 u1 u2 u4
    u2 i4 i4 i4 i8 u2 u2 u4
    u4 i8 i8 i8 i8 u4 u4 u4

        f4  f8  c8 c16
    f4  f4  f8  c8 c16
    f8  f8  f8 c16 c16
    c8  c8 c16  c8 c16
    c16 c16 c16 c16 c16

       u8
    u1 u8
    u2 u8
    u4 u8
    u8 u8
"""


def promotions():
    for table in TABLE.strip("\n").split("\n\n"):
        head, *rows = [line.split() for line in table.splitlines()]
        for row, *results in rows:
            for column, result in zip(head, results, strict=True):
                yield row, column, result


def test_promotion_tables_of_the_standard():
    cases = list(promotions())
    assert len(cases) == 49 + 16 + 4
    for one, other, result in cases:
        for x, y in [(one, other), (other, one)]:
            for name in ["add", "subtract", "multiply"]:
                computed = getattr(xp, name)(np.ones(2, x), np.ones((2, 1), y))
                assert computed.dtype == result and computed.shape == (2, 2)
            assert xp.where(np.array([True]), np.ones(1, x), np.ones(1, y)).dtype == result
            assert xp.equal(np.ones(2, x), np.ones(2, y)).dtype == bool


def test_bfloat16():
    x = np.array([1.5, -2.0], BF16)
    for name in ["add", "multiply", "maximum", "divide"]:
        assert getattr(unishape, name)(x, x).dtype == BF16
    assert unishape.exp(x).dtype == BF16 and unishape.less(x, 2).dtype == bool
    assert unishape.add(x, np.float32(1)).dtype == np.float32
    assert unishape.multiply(x, 2.5).astype(float).tolist() == [3.75, -5.0]


SCALARS = [True, 2, -1, 300, 70_000, 2.5, 1e300, 2j]


@pytest.mark.parametrize("name", BINARY)
def test_python_numbers_adopt_the_dtype_of_arrays(name):
    for dtype, scalar in itertools.product(DTYPES, SCALARS):
        x = np.array([1, 1, 3]).astype(dtype)
        for arguments in [(x, scalar), (scalar, x)]:
            result, expected = (outcome(getattr(module, name), *arguments) for module in (unishape, np))
            if name == "pow" and dtype.kind == "c" and scalar in (300, 70_000, 1e300):
                assert result.dtype == expected.dtype
                continue  # NumPy's high powers of complex numbers lose digits, and overflow to NaN
            assert_alike(result, expected, (name, dtype, scalar, arguments))


def test_numpy_scalars_have_a_dtype():
    x = np.ones(2, np.float32)
    assert unishape.add(x, np.float64(1)).dtype == np.float64
    assert unishape.add(np.ones(2, np.int8), np.int64(1)).dtype == np.int64
    assert unishape.add(np.ones(2, np.int8), np.True_).dtype == np.int8
    assert unishape.add(x, 1.0).dtype == np.float32
    assert unishape.add(1, 2).dtype == np.int64 and unishape.divide(1, 2) == 0.5


def test_truth_values_of_numbers():
    x = np.array([True, False])
    assert unishape.logical_and(x, 2j).tolist() == [True, False]
    assert unishape.logical_or(x, 0j).tolist() == [True, False]
    assert unishape.where(2j, x, 1).tolist() == [1, 0]


# Broadcasting and layouts.

SMALL = [shape for rank in range(4) for shape in itertools.product([0, 1, 2, 3], repeat=rank)]


def test_all_pairs_of_small_shapes():
    for one, other in itertools.product(SMALL, SMALL):
        x = np.arange(math.prod(one)).reshape(one)
        y = 100 * np.arange(math.prod(other)).reshape(other)
        try:
            expected = x + y
        except ValueError:
            with pytest.raises(ValueError, match="E1"):
                unishape.add(x, y)
            continue
        result = unishape.add(x, y)
        assert result.shape == expected.shape and result.tolist() == expected.tolist()


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_broadcast(name):
    rng = np.random.default_rng(7)
    function, reference = getattr(unishape, name), getattr(np, name)
    dtype = np.dtype(np.uint8 if "bitwise" in name else np.float64)
    for _ in range(60):
        one, other = SMALL[rng.integers(len(SMALL))], SMALL[rng.integers(len(SMALL))]
        x, y = rng.choice(LAYOUTS)(rng, one, dtype), rng.choice(LAYOUTS)(rng, other, dtype)
        assert_alike(outcome(function, x, y), outcome(reference, x, y), (name, one, other))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unary_functions_in_every_layout(layout):
    rng = np.random.default_rng(8)
    for name in UNARY:
        dtype = np.dtype(np.int16 if name == "bitwise_invert" else np.float64)
        x = layout(rng, (3, 4, 5), dtype)
        assert_alike(outcome(getattr(unishape, name), x), outcome(getattr(np, name), x), (name, layout))


# Special cases of the standard by function: arguments > result. Signs of zeros count.
REAL = """
abs: nan>nan; -0>0; inf>inf; -inf>inf
acos: nan>nan; 1.5>nan; -1.5>nan; 1>0
acosh: nan>nan; 0.5>nan; 1>0; inf>inf
add: nan,1>nan; 1,nan>nan; inf,-inf>nan; -inf,inf>nan; inf,inf>inf; -inf,-inf>-inf; inf,2>inf; -inf,2>-inf;
     2,inf>inf; 2,-inf>-inf; -0,-0>-0; -0,0>0; 0,-0>0; 0,0>0; -0,3>3; 0,-3>-3; 3,-0>3; 3,-3>0
asin: nan>nan; 1.5>nan; -1.5>nan; 0>0; -0>-0
asinh: nan>nan; 0>0; -0>-0; inf>inf; -inf>-inf
atan: nan>nan; 0>0; -0>-0; inf>pi/2; -inf>-pi/2
atan2: nan,1>nan; 1,nan>nan; 2,0>pi/2; 2,-0>pi/2; 0,2>0; 0,0>0; 0,-0>pi; 0,-2>pi; -0,2>-0; -0,0>-0; -0,-0>-pi;
     -0,-2>-pi; -2,0>-pi/2; -2,-0>-pi/2; 2,inf>0; 2,-inf>pi; -2,inf>-0; -2,-inf>-pi; inf,2>pi/2; -inf,2>-pi/2;
     inf,inf>pi/4; inf,-inf>3*pi/4; -inf,inf>-pi/4; -inf,-inf>-3*pi/4
atanh: nan>nan; 1.5>nan; -1.5>nan; -1>-inf; 1>inf; 0>0; -0>-0
ceil: nan>nan; inf>inf; -inf>-inf; 0>0; -0>-0; -0.5>-0; 2>2; 1.5>2
copysign: 2,-0>-2; -2,0>2; 2,-3>-2; nan,1>nan; 0,-1>-0; -0,1>0; inf,-1>-inf; 3,inf>3
cos: nan>nan; 0>1; -0>1; inf>nan; -inf>nan
cosh: nan>nan; 0>1; -0>1; inf>inf; -inf>inf
divide: nan,1>nan; 1,nan>nan; inf,inf>nan; inf,-inf>nan; -inf,inf>nan; 0,0>nan; 0,-0>nan; -0,0>nan; 0,2>0; -0,2>-0;
     0,-2>-0; -0,-2>0; 2,0>inf; 2,-0>-inf; -2,0>-inf; -2,-0>inf; inf,2>inf; inf,-2>-inf; -inf,2>-inf; -inf,-2>inf;
     2,inf>0; 2,-inf>-0; -2,inf>-0; -2,-inf>0; 6,3>2; -6,3>-2
exp: nan>nan; 0>1; -0>1; inf>inf; -inf>0
expm1: nan>nan; 0>0; -0>-0; inf>inf; -inf>-1
floor: nan>nan; inf>inf; -inf>-inf; 0>0; -0>-0; 2>2; -0.5>-1
hypot: inf,nan>inf; nan,-inf>inf; nan,1>nan; -inf,2>inf; 2,inf>inf; nan,nan>nan; 3,-4>5; -0,-0>0
log: nan>nan; -2>nan; 0>-inf; -0>-inf; 1>0; inf>inf
log10: nan>nan; -2>nan; 0>-inf; -0>-inf; 1>0; inf>inf; 1000>3
log1p: nan>nan; -2>nan; -1>-inf; 0>0; -0>-0; inf>inf
log2: nan>nan; -2>nan; 0>-inf; -0>-inf; 1>0; inf>inf; 8>3
logaddexp: nan,1>nan; 1,nan>nan; inf,1>inf; 1,inf>inf; -inf,-inf>-inf; -inf,3>3
maximum: nan,1>nan; 1,nan>nan; inf,1>inf; -inf,1>1
minimum: nan,1>nan; 1,nan>nan; inf,1>1; -inf,1>-inf
multiply: nan,1>nan; inf,0>nan; -inf,0>nan; inf,-0>nan; 0,inf>nan; inf,inf>inf; inf,-inf>-inf; inf,2>inf; -inf,2>-inf;
     -2,inf>-inf; 2,-3>-6; -2,-3>6; 0,-1>-0; -0,-1>0
negative: nan>nan; 0>-0; -0>0; inf>-inf; 2>-2
nextafter: nan,1>nan; 1,nan>nan; 0,-0>-0; -0,0>0; 2,2>2
pow: nan,0>1; nan,-0>1; 5,0>1; 5,-0>1; nan,3>nan; 1,nan>1; 2,nan>nan; 2,inf>inf; 2,-inf>0; 1,inf>1; 1,-inf>1; -1,inf>1;
     -1,-inf>1; 0.5,inf>0; 0.5,-inf>inf; inf,2>inf; inf,-2>0; -inf,3>-inf; -inf,2>inf; -inf,2.5>inf; -inf,-3>-0;
     -inf,-2>0; 0,2>0; 0,-2>inf; -0,3>-0; -0,2>0; -0,2.5>0; -0,-3>-inf; -0,-2>inf; -0,-2.5>inf; -2,0.5>nan; 3,1>3
reciprocal: nan>nan; inf>0; -inf>-0; 0>inf; -0>-inf; 4>0.25
remainder: nan,1>nan; 1,nan>nan; inf,1>nan; -inf,2>nan; inf,inf>nan; 1,0>nan; 0,0>nan; -1,-0>nan; 0,2>0; 0,-2>-0;
     -0,2>0; -0,-2>-0; 5,3>2; -5,3>1; 5,-3>-1; -5,-3>-2; 2,inf>2; -2,-inf>-2
round: nan>nan; inf>inf; -inf>-inf; 0>0; -0>-0; 0.5>0; -0.5>-0; 1.5>2; 2.5>2; -1.5>-2; 2>2
sign: nan>nan; 0>0; 3>1; -3>-1; inf>1; -inf>-1
signbit: 0>False; -0>True; inf>False; -inf>True; 2>False; -2>True; -nan>True; nan>False
sin: nan>nan; 0>0; -0>-0; inf>nan; -inf>nan
sinh: nan>nan; 0>0; -0>-0; inf>inf; -inf>-inf
sqrt: nan>nan; -2>nan; 0>0; -0>-0; inf>inf; 9>3
square: nan>nan; -0>0; inf>inf; -inf>inf; -3>9
subtract: nan,1>nan; inf,inf>nan; -inf,-inf>nan; inf,-inf>inf; 2,inf>-inf; 0,0>0; -0,0>-0; -0,-0>0; 0,-0>0
tan: nan>nan; 0>0; -0>-0; inf>nan; -inf>nan
tanh: nan>nan; 0>0; -0>-0; inf>1; -inf>-1
trunc: nan>nan; inf>inf; -inf>-inf; 0>0; -0>-0; 2>2; 1.5>1; -1.5>-1; -0.5>-0
isfinite: nan>False; inf>False; -inf>False; 0>True; 1e300>True
isinf: nan>False; inf>True; -inf>True; 2>False
isnan: nan>True; inf>False; 0>False
equal: nan,nan>False; nan,1>False; inf,inf>True; -inf,inf>False; 0,-0>True
not_equal: nan,nan>True; nan,1>True; inf,inf>False; 0,-0>False
less: nan,1>False; 1,nan>False; -inf,inf>True; -0,0>False
greater_equal: nan,1>False; nan,nan>False; inf,inf>True; -0,0>True
logical_not: nan>False; 0>True; -0>True; inf>False
logical_and: nan,1>True; nan,0>False
logical_xor: nan,inf>False; nan,-0>True
"""

# Complex special cases, real and imaginary parts: a b > c d. A result with ~ may have either sign.
COMPLEX_CASES = """
abs: inf nan>inf; -inf nan>inf; nan inf>inf; nan -inf>inf; nan 0>nan; 3 -4>5; -0 0>0
exp: 0 0>1 0; -0 0>1 0; 2 inf>nan nan; 2 nan>nan nan; inf 0>inf 0; inf nan>~inf nan; nan 0>nan 0; nan 2>nan nan;
     -inf inf>~0 ~0; -inf nan>~0 ~0; inf inf>~inf nan; nan nan>nan nan
expm1: 0 0>0 0; 2 inf>nan nan; 2 nan>nan nan; inf 0>inf 0; -inf inf>-1 ~0; inf inf>~inf nan; inf nan>~inf nan;
     -inf nan>-1 ~0; nan 0>nan 0; nan 2>nan nan; nan nan>nan nan
log: -0 0>-inf pi; 0 0>-inf 0; 2 inf>inf pi/2; 2 nan>nan nan; -inf 2>inf pi; inf 2>inf 0; -inf inf>inf 3*pi/4;
     inf inf>inf pi/4; inf nan>inf nan; -inf nan>inf nan; nan 2>nan nan; nan inf>inf nan; nan nan>nan nan
sqrt: 0 0>0 0; -0 0>0 0; 2 inf>inf inf; -2 inf>inf inf; nan inf>inf inf; 2 nan>nan nan; -inf 2>0 inf; inf 2>inf 0;
     -inf nan>nan ~inf; inf nan>inf nan; nan 2>nan nan; nan nan>nan nan
acos: 0 0>pi/2 -0; -0 0>pi/2 -0; 0 nan>pi/2 nan; 2 inf>pi/2 -inf; 2 nan>nan nan; -inf 2>pi -inf; inf 2>0 -inf;
     -inf inf>3*pi/4 -inf; inf inf>pi/4 -inf; inf nan>nan ~inf; nan inf>nan -inf; nan nan>nan nan
asinh: 0 0>0 0; 2 inf>inf pi/2; 2 nan>nan nan; inf 2>inf 0; inf inf>inf pi/4; inf nan>inf nan; nan 0>nan 0;
     nan 2>nan nan; nan inf>~inf nan; nan nan>nan nan
atanh: 0 0>0 0; 0 nan>0 nan; 1 0>inf 0; 2 inf>0 pi/2; 2 nan>nan nan; inf 2>0 pi/2; inf inf>0 pi/2; inf nan>0 nan;
     nan 2>nan nan; nan inf>~0 pi/2; nan nan>nan nan
cosh: 0 0>1 0; 0 inf>nan ~0; 0 nan>nan ~0; 2 inf>nan nan; 2 nan>nan nan; inf 0>inf 0; inf inf>inf nan; inf nan>inf nan;
     nan 0>nan ~0; nan 2>nan nan; nan nan>nan nan
sinh: 0 0>0 0; 0 inf>~0 nan; 0 nan>~0 nan; 2 inf>nan nan; 2 nan>nan nan; inf 0>inf 0; inf inf>~inf nan; inf nan>~inf nan;
     nan 0>nan 0; nan 2>nan nan; nan nan>nan nan
tanh: 0 0>0 0; 2 inf>nan nan; 2 nan>nan nan; inf 2>1 ~0; inf inf>1 ~0; inf nan>1 ~0; nan 0>nan 0; nan 2>nan nan;
     nan nan>nan nan
sign: 0 0>0 0; 3 4>0.6 0.8; nan 1>nan nan; 1 nan>nan nan
isnan: nan 1>True; 1 nan>True; inf nan>True; inf 1>False
isinf: nan inf>True; -inf 1>True; nan 1>False
isfinite: 1 nan>False; inf 1>False; 1 2>True
"""

NAMES = {"nan": math.nan, "inf": math.inf, "pi": math.pi, "True": True, "False": False}


def number(text):
    """Parses a number; the int -0 would have no sign."""
    text = text.strip().removeprefix("~")
    return -0.0 if text == "-0" else float(eval(text, {"__builtins__": {}}, NAMES))


def cases(table):
    for line in table.strip().replace("\n    ", " ").splitlines():
        name, rest = line.split(": ", 1)
        for case in rest.split(";"):
            yield name, *case.strip().split(">")


def is_same(result, expected, tolerance, any_sign=False):
    """The same number and sign but for rounding; NaNs have no sign."""
    if math.isnan(expected):
        return math.isnan(result)
    if not any_sign and math.copysign(1, result) != math.copysign(1, expected):
        return False
    return math.isclose(abs(result), abs(expected), rel_tol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_cases(dtype):
    tolerance = 4 * float(ml_dtypes.finfo(dtype).eps)
    tested, wrong = set(), []
    for name, arguments, expected in cases(REAL):
        tested.add(name)
        if "1e300" in arguments and dtype != np.float64:
            continue
        # As a single element, and with SIMD.
        for count in (1, 37):
            arrays = [np.full(count, number(part), dtype) for part in arguments.split(",")]
            result = getattr(xp, name)(*arrays)
            if not all(is_same(float(each), number(expected), tolerance) for each in result):
                wrong.append((name, arguments, expected, result[0]))
    assert not wrong
    assert len(tested) >= 48


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_complex_special_cases(dtype):
    tolerance = 4 * float(np.finfo(dtype).eps)
    wrong = []
    for name, arguments, expected in cases(COMPLEX_CASES):
        x = np.empty(37, dtype)
        x.real, x.imag = map(number, arguments.split())
        results = getattr(xp, name)(x)
        parts = expected.split()
        for result in (results[0], results[-1]):
            result_parts = [result.real, result.imag] if len(parts) == 2 else [result]
            for part, text in zip(result_parts, parts, strict=True):
                if not is_same(float(part), number(text), tolerance, any_sign="~" in text):
                    wrong.append((name, arguments, expected, result))
    assert not wrong


def test_special_cases_of_floor_divide():
    # As NumPy and Python: NaN where the standard has infinities, and -1 // inf is -1.
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 3.0, -7.5]
    x, y = np.array(values)[:, None], np.array(values)
    result, expected = unishape.floor_divide(x, y), np.floor_divide(x, y)
    np.testing.assert_array_equal(result, expected)
    defined = ~np.isnan(expected)
    assert (np.signbit(result) == np.signbit(expected))[defined].all()


def test_integer_edge_cases():
    x = np.array([5, -5, 0, -128], np.int8)
    assert unishape.floor_divide(x, 0).tolist() == [0] * 4
    assert unishape.remainder(x, 0).tolist() == [0] * 4
    assert unishape.floor_divide(x, -1).tolist() == [-5, 5, 0, -128]
    with pytest.raises(ValueError, match="negative integer powers"):
        unishape.pow(x, -1)
    assert unishape.negative(x).tolist() == [-5, 5, 0, -128]
    assert unishape.bitwise_left_shift(x, 9).tolist() == [0] * 4
    assert unishape.bitwise_right_shift(x, 9).tolist() == [0, -1, 0, -1]


# Outputs and errors.


@pytest.mark.parametrize("name", ["add", "sqrt", "where", "clip"])
def test_out(name):
    x = np.arange(12.0).reshape(3, 4)
    arguments = {"add": (x, x[0]), "sqrt": (x,), "where": (x > 3, x, 0.0), "clip": (x, 2, 7)}[name]
    function, expected = getattr(unishape, name), getattr(np, name)(*arguments)
    for out in [np.empty((3, 4)), np.empty((4, 3)).T, np.empty((6, 8))[::-2, ::2], np.empty((3, 4), np.float32)]:
        assert function(*arguments, out=out) is out
        np.testing.assert_allclose(out, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="3x4"):
        function(*arguments, out=np.empty((4, 3)))
    with pytest.raises(TypeError, match="float64"):
        function(*arguments, out=np.empty((3, 4), int))
    with pytest.raises(TypeError, match="NumPy array"):
        function(*arguments, out=[])


@pytest.mark.parametrize(
    "call",
    [
        lambda: unishape.add(np.array(["a"]), 1),
        lambda: unishape.add(np.array([1, None]), 1),
        lambda: unishape.sqrt(np.array(["2026-01-01"], "M8[D]")),
        lambda: unishape.add(np.longdouble([1.0]), 1),
        lambda: unishape.add(np.zeros(2, "i4,f4"), 1),
        lambda: unishape.add(np.array(["a"], np.dtypes.StringDType()), 1),
        lambda: unishape.add(None, 1),
        lambda: unishape.add(object(), 1),
        lambda: unishape.add({1, 2}, 1),
        lambda: unishape.add(1),
        lambda: unishape.add(1, 2, 3),
        lambda: unishape.add(x1=1, x2=2),
        lambda: unishape.bitwise_and(np.ones(2), 1),
        lambda: unishape.subtract(np.array([True]), np.array([True])),
        lambda: unishape.negative(np.array([True])),
        lambda: unishape.floor(np.array([1j])),
        lambda: unishape.add(np.ma.array([1, 2], mask=[0, 1]), 1),
    ],
)
def test_type_errors(call):
    with pytest.raises(TypeError) as raised:
        call()
    assert len(str(raised.value)) > 20


def test_overflowing_numbers():
    for number_ in (300, -129, 2**64, 2**200):
        with pytest.raises(OverflowError):
            unishape.add(np.ones(2, np.int8), number_)
    # Comparisons are exact.
    assert unishape.less(np.ones(2, np.int8), 300).tolist() == [True, True]
    assert unishape.equal(np.array([2**64 - 1], np.uint64), np.array([-1], np.int64)).tolist() == [False]


def test_exact_comparison_of_signed_and_unsigned():
    big, small = np.array([2**63], np.uint64), np.array([-1, 2**62], np.int64)
    assert unishape.greater(big, small).tolist() == [True, True]
    assert unishape.less_equal(big, small).tolist() == [False, False]


def test_aliases():
    for name, other in [("abs", "absolute"), ("acos", "arccos"), ("pow", "power"), ("bitwise_invert", "invert")]:
        assert getattr(unishape, name) is getattr(unishape, other)
    # These are reductions in NumPy and in the standard.
    assert not hasattr(unishape, "max") and not hasattr(unishape, "min")


def test_integer_limits():
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        x = np.array([info.min, info.max], dtype)
        for name in ["add", "subtract", "multiply", "maximum", "bitwise_xor"]:
            assert_alike(outcome(getattr(unishape, name), x, x[::-1]), outcome(getattr(np, name), x, x[::-1]), name)
