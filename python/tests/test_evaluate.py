"""evaluate: values and dtypes compared with NumPy, name resolution, outputs, errors, threads and Ctrl-C."""

import subprocess
import sys
import textwrap
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from arrays import BF16, LAYOUTS, NUMBERS, assert_same, make_array, random_shapes

import unishape
from unishape import evaluate

# Functions and operators whose results equal NumPy's bit by bit.
INTEGER_FORMS = ["({} + {})", "({} - {})", "({} * {})", "({} & {})", "({} | {})", "({} ^ {})", "minimum({}, {})"]
INTEGER_FORMS += ["where({} > {}, {}, {})", "maximum({}, {})", "abs({})", "square({})", "({} == {})", "({} <= {})"]
INTEGER_FORMS += ["-{}", "~{}"]
FLOAT_FORMS = ["({} + {})", "({} - {})", "({} * {})", "({} / {})", "sqrt(abs({}))", "-{}", "floor({})", "rint({})"]
FLOAT_FORMS += ["where({} > {}, {}, {})", "maximum({}, {})", "minimum({}, {})", "square({})", "abs({})", "trunc({})"]


def expression(rng, forms, names, depth):
    """A random expression. Numbers are operands next to names only: functions of numbers alone have no dtype."""
    if depth == 0 or rng.random() < 0.1:
        return str(rng.choice(names))
    form = str(rng.choice(forms))
    parts = [expression(rng, forms, names, depth - 1) for _ in range(form.count("{}"))]
    if len(parts) == 2 and rng.random() < 0.3:
        parts[1] = str(rng.integers(1, 9))
    return form.format(*parts)


def numpy_eval(text, values):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(eval(text, dict(vars(np), **values)))


@pytest.mark.parametrize("seed", range(8))
def test_random_expressions(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        is_integer = rng.random() < 0.5
        kinds = "iu" if is_integer else "f"
        types = [dtype for dtype in NUMBERS if dtype.kind in kinds and dtype != BF16]
        # uint64 with signed integers promotes to float64, which has no & and |.
        types = [dtype for dtype in types if dtype != np.uint64]
        names = ["a", "b", "c", "d"]
        values = {
            name: rng.choice(LAYOUTS)(rng, shape, types[rng.integers(len(types))])
            for name, shape in zip(names, random_shapes(rng, 4), strict=True)
        }
        text = expression(rng, INTEGER_FORMS if is_integer else FLOAT_FORMS, names, 4)
        try:
            expected = numpy_eval(text, values)
        except TypeError:
            with pytest.raises(TypeError):
                evaluate(text, values)
            continue
        result = evaluate(text, values)
        assert result.dtype == expected.dtype and result.shape == expected.shape, text
        np.testing.assert_array_equal(result, expected, err_msg=text)
        if expected.dtype.kind == "f":
            defined = ~np.isnan(expected)
            assert (np.signbit(result) == np.signbit(expected))[defined].all(), text


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_type_in_every_layout(dtype, layout):
    rng = np.random.default_rng(3)
    x, y = layout(rng, (7, 1, 5), dtype), layout(rng, (6, 5), dtype)
    assert_same(evaluate("where(x == y, x, y)"), np.where(x == y, x, y))
    assert_same(evaluate("x + y"), x + y)


@pytest.mark.parametrize("name", [">f8", ">f4", ">f2", ">i2", ">u4", ">c16"])
def test_other_byte_orders(name):
    x = make_array(np.random.default_rng(4), (3, 4), np.dtype(name))
    result = evaluate("x + x")
    assert result.dtype == np.dtype(name).newbyteorder("=") and result.dtype.isnative
    np.testing.assert_array_equal(result, x + x)


def test_booleans_of_other_bytes_than_0_and_1():
    odd = np.array([2, 0, 255, 1], np.uint8).view(bool)
    ones = np.ones(4, bool)
    for text in ["odd & ones", "odd", "ones & odd", "where(odd, ones, odd)", "odd == ones", "not not odd"]:
        assert evaluate(text).view(np.uint8).tolist() == [1, 0, 1, 1], text
    assert evaluate("odd + 1").tolist() == [2, 1, 2, 2]
    assert evaluate("odd", odd=odd[::2]).view(np.uint8).tolist() == [1, 1]
    # A view can write other bytes to an array that owns its memory.
    own = np.zeros(4, bool)
    own.view(np.uint8)[:] = 2
    assert evaluate("own & ones").view(np.uint8).tolist() == [1, 1, 1, 1]


def test_large_arrays_with_any_number_of_threads():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(1500, 1100)), rng.normal(size=(1100, 1500)).T
    expected = (x - y) * x + y / 2
    for threads in (None, 1, 2, 3, 10**9):
        assert_same(evaluate("(x - y) * x + y / 2", threads=threads), expected)


def test_output_with_shared_elements():
    row = np.zeros(3)
    out = np.lib.stride_tricks.as_strided(row, (2, 3), (0, 8), writeable=True)
    assert evaluate("x + 1", x=np.arange(6.0).reshape(2, 3), out=out) is out
    assert row.tolist() == [4.0, 5.0, 6.0]
    steps = np.lib.stride_tricks.as_strided(np.zeros(4), (2, 3), (8, 8), writeable=True)
    evaluate("x + 1", x=np.ones((2, 3)), out=steps)
    assert (steps == 2).all()


def test_invalid_threads():
    x = np.ones(3)
    with pytest.raises(ValueError, match="at least 1"):
        evaluate("x + 1", threads=0)
    for threads in (-1, "two", 1.5):
        with pytest.raises((ValueError, TypeError), match="threads must be"):
            evaluate("x + 1", threads=threads)


# Names.

in_module = np.array([1.0, 2.0])
shadowed = "module variable"


def test_variables_of_the_caller():
    local = np.array([10.0, 20.0])
    shadowed = 1.0
    assert evaluate("local + in_module + shadowed").tolist() == [12.0, 23.0]
    assert (lambda other: evaluate("other * in_module"))(3).tolist() == [3.0, 6.0]

    def inner():
        mine = 100
        # A closure variable is visible only if the function uses it.
        return evaluate("mine + local + 0 * shadowed"), local, shadowed

    assert inner()[0].tolist() == [110.0, 120.0]

    def without_closure():
        return evaluate("local + 1")

    with pytest.raises(NameError, match="no value for local"):
        without_closure()


def test_names_in_comprehensions():
    x = np.array([1.0, 2.0])
    assert [evaluate("x * i").tolist() for i in range(2)] == [[0.0, 0.0], [1.0, 2.0]]
    assert {i: evaluate("x * i").tolist() for i in range(2)}[1] == [1.0, 2.0]
    assert [[float(evaluate("i * j * k")) for k in (5,)] for j in (3,) for i in (2,)] == [[30.0]]


def test_names_in_a_class_body():
    class Body:
        x = np.array([1, 2])
        result = evaluate("x + 1")

    assert Body.result.tolist() == [2, 3]


def test_variables_are_not_kept_alive():
    x = np.ones(3)
    gone = weakref.ref(x)
    evaluate("x + 1")
    [evaluate("x + i") for i in range(2)]
    del x
    assert gone() is None
    # Snapshots that are in use are not cleared.
    y = np.ones(3)
    mine = locals()
    evaluate("y + 1")
    assert mine["y"] is y

    class Body:
        z = 1
        evaluate("z + 1")
        zz = z

    assert Body.zz == Body.z == 1
    space = {"n": 3}
    exec("m = evaluate('n + 1')", {"evaluate": evaluate}, space)
    assert space["n"] == 3 and space["m"] == 4


def test_names_as_arguments():
    x = np.array([1.0])
    assert evaluate("x + y", {"x": 5, "y": 6}) == 11
    assert evaluate("x + y", {"x": 5, "unused": object()}, y=1) == 6
    assert evaluate("x + y", {"x": 5, "y": 2}, x=7) == 9
    assert evaluate("x + y", y=1).tolist() == [2.0]
    with pytest.raises(TypeError, match="no variable z; it has x"):
        evaluate("x", x=x, z=1)


def test_names_come_from_the_mapping_alone():
    x = np.ones(2)
    with pytest.raises(NameError, match="x"):
        evaluate("x + y", {"y": x})
    with pytest.raises(NameError, match="x"):
        evaluate("x + y", {}, y=x)
    with pytest.raises(NameError, match="x"):
        evaluate(["y", "x + y"], {"y": x})
    assert evaluate("x + y", None, y=1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("wrong", [np.empty(2), 3, [("a", 1)], "ab", unishape.lazy(np.ones(2)), {"a"}, dict, object()])
def test_names_must_be_a_mapping(wrong):
    a, b = 1, 2
    with pytest.raises(TypeError, match=r"names must be a mapping .*, not .*; pass arrays by name"):
        evaluate("a + b", wrong)
    with pytest.raises(TypeError, match="names must be a mapping"):
        evaluate("a + b", wrong, a=a, b=b)


def test_forgotten_constants():
    a = np.ones(2)
    for name in ("e", "pi"):
        assert evaluate(f"a * {name}").tolist() == [getattr(np, name)] * 2
        for names, more in [({"a": a}, {}), (None, {"a": a}), ({}, {"a": a})]:
            with pytest.raises(NameError, match=f"{name} is not among the given names.*pass {name}=math.{name}"):
                evaluate(f"a * {name}", names, **more)
            assert evaluate(f"a * {name}", names, **more, **{name: 5}).tolist() == [5, 5]
        with pytest.raises(NameError, match="not among the given names"):
            evaluate([name, "a"], {"a": a})
    assert evaluate("a * inf", {"a": a}).tolist() == [np.inf] * 2
    assert evaluate("where(True, a, nan)", a=a).tolist() == [1, 1]
    e = 3
    assert evaluate("a * e", a=a).tolist() == [3, 3] and e


def test_any_mapping():
    class Numbers(dict):
        def __missing__(self, key):
            raise AssertionError("missing names are not requested")

    assert evaluate("a + b", Numbers(a=1), b=2) == 3


def test_constants():
    assert evaluate("pi * 2") == 2 * np.pi and evaluate("e") == np.e
    assert np.isnan(evaluate("nan")) and evaluate("-inf") == -np.inf
    pi = 3
    assert evaluate("pi") == 3
    e = ValueError("no number: the constant is used")
    assert evaluate("e") == np.e and e
    assert evaluate("1 + 2").dtype == np.int64 and evaluate("2 ** 10") == 1024


def test_python_numbers_are_weak_and_numpy_scalars_are_not():
    x = np.ones(2, np.float32)
    strong, weak = np.float64(2), 2.0
    assert evaluate("x * strong").dtype == np.float64
    assert evaluate("x * weak").dtype == evaluate("x * 2.0").dtype == np.float32
    small = np.ones(2, np.int8)
    assert evaluate("small + 100").dtype == np.int8
    assert evaluate("small + n", n=np.int16(100)).dtype == np.int16


def test_large_integers():
    x, u = np.array([1, 2]), np.array([1], np.uint64)
    assert evaluate("u + n", n=2**64 - 2).tolist() == [2**64 - 1]
    assert evaluate("x < n", n=2**100).tolist() == [True, True]
    for n in (2**63, 2**64, -(2**63) - 1, 2**127, 2**200, -(2**300)):
        with pytest.raises(OverflowError):
            evaluate("x + n")


def test_array_likes():
    assert evaluate("x + 1", x=[1, 2]).tolist() == [2, 3]
    assert evaluate("x + 1", x=range(3)).tolist() == [1, 2, 3]
    assert evaluate("x + 1", x=memoryview(b"ab")).tolist() == [98, 99]
    assert evaluate("x * 2", x=unishape.lazy([1, 2]) + 1).tolist() == [4, 6]


# Outputs.


def test_out_is_written_and_returned():
    x = np.arange(6.0).reshape(2, 3)
    out = np.zeros((2, 3))
    assert evaluate("x + 1", out=out) is out
    assert out.tolist() == (x + 1).tolist()


@pytest.mark.parametrize("size", [(7, 5), (640, 480)])
@pytest.mark.parametrize("name", ["f8", "f4", ">f8", ">f4", "f2", "c16"])
def test_out_in_any_layout(name, size):
    rng = np.random.default_rng(2)
    x = rng.normal(size=size)
    dtype = np.dtype(name)
    for layout in LAYOUTS:
        out = layout(rng, size, dtype)
        if not out.flags.writeable:
            with pytest.raises(ValueError, match="read-only"):
                evaluate("x * 2", out=out)
            continue
        assert evaluate("x * 2", out=out) is out
        assert out.dtype == dtype
        assert_same(np.ascontiguousarray(out), (x * 2).astype(dtype))


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_out_is_an_input(size):
    x = np.arange(float(size))
    expected = x * 2 + x[0] + 1
    out = x
    assert evaluate("x * 2 + first + 1", first=float(x[0]), out=out) is x
    np.testing.assert_array_equal(x, expected)
    backwards = x[::-1]
    evaluate("backwards + 1", out=backwards)
    np.testing.assert_array_equal(x, expected + 1)


def test_out_is_an_input_that_is_converted():
    for x in [np.arange(5.0).astype(">f8"), np.frombuffer(bytearray(41), np.uint8)[1:].view(float)]:
        x[:] = range(5)
        evaluate("x * x + x", out=x)
        assert x.tolist() == [0.0, 2.0, 6.0, 12.0, 20.0]


def test_overlapping_out_is_rejected():
    x = np.arange(10.0)
    for source, out in [(x[:-1], x[1:]), (x[1:], x[:-1]), (x, x[::-1]), (x[:3, None], x[:3]), (x[4:5], x)]:
        before = x.copy()
        shape = np.broadcast_shapes(source.shape, out.shape)
        if shape != out.shape:
            continue
        with pytest.raises(ValueError, match="overlaps"):
            evaluate("source + other", other=np.zeros(shape), out=out)
        assert x.tolist() == before.tolist()
    square = np.arange(9.0).reshape(3, 3)
    with pytest.raises(ValueError, match="overlaps"):
        evaluate("square + 1", square=square.T, out=square)
    # Interleaved arrays share no element.
    evaluate("source + 1", source=x[::2], out=x[1::2])
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]


def test_invalid_out():
    x = np.arange(3.0)
    before = x.copy()
    with pytest.raises(ValueError, match="3.*2x3"):
        evaluate("x + 1", out=np.zeros((2, 3)))
    for dtype in (int, bool):
        with pytest.raises(TypeError, match=f"float64.*{np.dtype(dtype)}"):
            evaluate("x + 1", out=np.zeros(3, dtype))
    with pytest.raises(ValueError, match="read-only"):
        evaluate("x + 1", out=unishape.broadcast_to(x, (3,)))
    for no_array in ([1, 2, 3], 5, "text", unishape.lazy(x)):
        with pytest.raises(TypeError, match="NumPy array"):
            evaluate("x + 1", out=no_array)
    assert x.tolist() == before.tolist()


def test_out_of_another_dtype_of_the_same_kind():
    x = np.array([1, 300])
    assert evaluate("x + 1", out=np.zeros(2, np.int32)).tolist() == [2, 301]
    assert evaluate("x > 1", out=np.zeros(2, np.int8)).tolist() == [0, 1]
    assert evaluate("x + 1", out=np.zeros(2)).tolist() == [2.0, 301.0]


# Errors.


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("x +", SyntaxError, "unexpected end of expression"),
        ("", SyntaxError, "unexpected end"),
        ("(x", SyntaxError, "."),
        ("x y", SyntaxError, "."),
        ("x = 1", SyntaxError, "."),
        ("x; y", SyntaxError, "."),
        ("__import__('os')", NameError, "unknown function"),
        ("x.no_such_attribute", AttributeError, "no_such_attribute"),
        ("[x]", SyntaxError, "."),
        ("lambda: x", SyntaxError, "."),
        ("missing + x", NameError, "(?s)no value for missing.*\n  missing"),
        ("sqr(x)", NameError, "unknown function sqr; did you mean sqrt"),
        ("sqrt(x, x)", TypeError, "sqrt"),
        ("sqrt()", TypeError, "sqrt"),
        ("~x", TypeError, "float64"),
        ("x & x", TypeError, "float64"),
        ("x + three", ValueError, "(?s)E1.*x has 2, three has 3"),
        ("small + 300", OverflowError, "300 does not fit int8"),
        ("text + 1", TypeError, "^text: expressions do not support dtype <U1.*text"),
        ("objects + 1", TypeError, "^objects: .*Python objects"),
        ("sqrt(dates)", TypeError, "sqrt does not support datetime64"),
        ("long + 1", TypeError, "float64"),
        ("nothing + 1", TypeError, "^nothing: "),
    ],
)
def test_errors(text, error, match):
    x, three, small = np.ones(2), np.ones(3), np.ones(2, np.int8)
    names = dict(x=x, three=three, small=small, text=np.array(["a"]), objects=np.array([1, None]))
    names |= dict(dates=np.array(["2026-01-01"], "M8[D]"), long=np.longdouble([1]), nothing=None)
    with pytest.raises(error, match=match):
        evaluate(text, names)


def test_invalid_arguments():
    with pytest.raises(TypeError, match="^expression must be a str or a list of them, not NoneType$"):
        evaluate(None)
    with pytest.raises(TypeError, match="^expression must be a str or a list of them, not a list with int$"):
        evaluate(["1", 2])
    with pytest.raises(SyntaxError, match=r"^expressions have no U\+0000 ") as error:
        evaluate("1 +\0 2")
    assert (error.value.text, error.value.offset) == ("1 +\ufffd 2", 4)
    for call in [lambda: evaluate(3), lambda: evaluate(), lambda: evaluate("x", ["x"])]:
        with pytest.raises((TypeError, NameError)):
            call()


def test_long_and_deep_expressions():
    x = np.ones(2)
    assert evaluate("+".join(["x"] * 5000)).tolist() == [5000.0] * 2
    for text in ["(" * 100_000 + "x" + ")" * 100_000, "-" * 100_000 + "x", "x**" * 50_000 + "x", "not " * 50_000 + "x"]:
        try:
            assert evaluate(text).shape == (2,)
        except SyntaxError as error:
            assert len(str(error)) < 1000


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("x ** -1", "int64"),
        ("x ** n", "int8"),
        ("x ** y", "int32"),
        ("(x + 1) ** y", "int64"),
        ("2 ** y", "int64"),
        ("pow(x[::-1], -2) + 1.5", "int16"),
        ("x ** y", "bool"),
        ("x ** y", "uint8"),
    ],
)
def test_integers_to_negative_powers(text, dtype):
    x, y, n = np.array([1, 1, 0]).astype(dtype), np.array([1, -2, 0], np.int8), -3
    names = {"x": x, "y": y, "n": n}
    with pytest.raises(ValueError, match="negative integer powers"):
        evaluate(text, names)
    with pytest.raises(ValueError, match="(?i)negative integer powers"):
        eval(text, {"pow": pow}, names)
    lazy = {"x": unishape.lazy(x), "y": unishape.lazy(y), "n": n}
    with pytest.raises(ValueError, match="negative integer powers"):
        eval(text, {"pow": pow}, lazy)
    with pytest.raises(ValueError, match="negative integer powers"):
        unishape.power(x, y)
    assert evaluate("float64(x + 1) ** y", names).tolist() == ((x + 1).astype(float) ** y).tolist()
    assert evaluate("x ** 2", names).tolist() == (x**2).tolist()


def test_the_promoted_dtype_decides_about_negative_powers():
    x, small, n = np.array([2, 3], np.uint64), np.array([-1, 2], np.int8), np.array([1, -5])
    expected = x**small
    assert expected.dtype == np.float64
    for result in (
        unishape.power(x, small),
        (unishape.lazy(x) ** small).compute(),
        evaluate("x ** small"),
        unishape.power(np.tile(x, 40_000), np.tile(small, 40_000))[:2],
    ):
        assert result.dtype == np.float64 and result.tolist() == expected.tolist()
    assert evaluate("(x + n) ** -1").tolist() == ((x + n) ** -1.0).tolist()
    with pytest.raises(ValueError, match="negative integer powers"):
        evaluate("(uint8(x) + n) ** -1")
    for base, exponent in [(2, -1), (True, -1), (2, small)]:
        with pytest.raises(ValueError, match="(?i)negative integer powers"):
            np.power(base, exponent)
        with pytest.raises(ValueError, match="negative integer powers"):
            unishape.power(base, exponent)
    empty = np.array([], int)
    for result in (unishape.power(empty, -1), (unishape.lazy(empty) ** -1).compute(), evaluate("(empty + 1) ** -1")):
        assert result.dtype == np.power(empty, -1).dtype and result.shape == (0,)


def test_out_of_memory():
    huge = unishape.broadcast_to(np.ones(1), (2**40, 2**10))
    with pytest.raises(MemoryError):
        evaluate("huge + 1")


def test_reference_counts():
    x, out = np.arange(100.0), np.zeros(100)
    counts = sys.getrefcount(x), sys.getrefcount(out)
    for _ in range(200):
        evaluate("x + 1", out=out)
        evaluate("x > y", {"x": x}, y=x)
        with pytest.raises(TypeError):
            evaluate("~x")
    assert (sys.getrefcount(x), sys.getrefcount(out)) == counts


# Threads and Ctrl-C.


def test_gil_is_released():
    x = unishape.broadcast_to(np.linspace(0.1, 1, 1000), (4000, 1000))
    times, done = [], threading.Event()

    def record():
        while not done.is_set():
            times.append(time.monotonic())
            time.sleep(0.0005)

    recorder = threading.Thread(target=record)
    recorder.start()
    try:
        for _ in range(20):  # on a busy machine the thread may not have been scheduled
            start = time.monotonic()
            evaluate("sin(cos(exp(sin(cos(exp(sin(x))))))) > 2", threads=1)
            end = time.monotonic()
            # The thread can run at the ends in any case.
            inside = [at for at in times if start + 0.3 * (end - start) < at < end - 0.3 * (end - start)]
            if inside:
                return
    finally:
        done.set()
        recorder.join()
    pytest.fail("no other thread ran")


def test_concurrent_calls():
    x = np.arange(300_000.0)
    results = []

    def work(number):
        for _ in range(5):
            results.append((number, evaluate("x * number + 1", x=x, number=float(number))))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(results) == 40
    for number, result in results:
        np.testing.assert_array_equal(result, x * number + 1)


def run(script, timeout=120):
    """Runs a script in a new process; returns the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np, unishape
    # Background jobs of a shell and their children ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    x = unishape.broadcast_to(np.ones(1000), (20_000_000, 1000))
    text = "sin(cos(exp(sin(cos(exp(sin(x))))))) > 2"
    {define}
    def interrupt():
        time.sleep(0.5)
        {interrupt}
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        long()
    except KeyboardInterrupt:
        print("interrupted")
    thread.join()
    print(unishape.evaluate("a + 1", a=np.zeros(10_000_000)).sum())
"""


SIGNAL = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("define", "interrupt"),
    [
        ("long = lambda: unishape.evaluate(text)", SIGNAL),
        ("long = lambda: unishape.evaluate(text)", "import _thread; _thread.interrupt_main()"),
        ("long = lambda: unishape.evaluate(text, threads=1, out=np.zeros((20_000_000, 1000), bool))", SIGNAL),
        ("long = lambda: unishape.less(np.nan, unishape.sin(unishape.lazy(x))).compute(threads=2)", SIGNAL),
        ("long = lambda: unishape.evaluate(text, out=np.zeros((20_000_000, 1000), np.int8))", SIGNAL),
        ("long = lambda: unishape.sum_to(x, (1000,))", SIGNAL),
        ("long = lambda: unishape.sum_to(unishape.sin(unishape.lazy(x)), (1000,))", SIGNAL),
        # Large enough that splitting the remaining elements would take minutes.
        ("long = lambda: unishape.evaluate('sum(y)', y=unishape.broadcast_to(np.ones(1000), (10**10, 1000)))", SIGNAL),
    ],
    ids=["evaluate", "interrupt_main", "out", "lazy", "another dtype", "sum_to", "lazy sum_to", "one element"],
)
def test_ctrl_c_interrupts_a_long_computation(define, interrupt):
    assert run(INTERRUPTED.format(define=define, interrupt=interrupt)) == ["interrupted", "10000000.0"]


@pytest.mark.parametrize("expression", ["x - x.mean(axis=0)", "x[::-1]", "softmax(x, axis=0)", "x.T + 1"])
def test_axes_and_reductions_into_an_input(expression):
    """Large enough for several parts: each must read the elements from before the call."""
    x = np.arange(1e6).reshape(1000, 1000) % 97
    expected = unishape.evaluate(expression)
    assert unishape.evaluate(expression, out=x) is x
    np.testing.assert_array_equal(x, expected)
    y = np.empty((1000, 1000), dtype="float32")
    unishape.evaluate(expression, out=y)
    np.testing.assert_array_equal(y, unishape.evaluate(expression).astype("float32"))


def test_empty_arrays_at_unaligned_addresses():
    """As NumPy makes them from messages of other processes."""
    memory = np.zeros(64, np.uint8)
    for offset in range(8):
        for shape in [(0,), (0, 3), (2, 0)]:
            x = np.ndarray(shape, np.float64, memory.data, offset=offset)
            assert unishape.evaluate("x + 1").shape == shape and unishape.evaluate("sum(x)") == 0
            assert unishape.add(x, x).shape == shape
            assert unishape.add(x, 1, out=x) is x
