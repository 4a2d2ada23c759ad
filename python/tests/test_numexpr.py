"""unishape.numexpr beside numexpr: its own tests, dtypes and values of both, names, and pandas."""

import importlib.util
import inspect
import itertools
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numexpr
import numpy as np
import pandas as pd
import pytest

import unishape
import unishape.numexpr as ne
from unishape.numexpr.expressions import KINDS, REDUCTIONS, functions

HERE = Path(__file__).parent
SUITE = Path(numexpr.__file__).parent / "tests" / "test_numexpr.py"

# Found before numexpr itself, also in the processes that its tests start.
SHIM = "import unishape.numexpr\n\nunishape.numexpr.install()\n"


@pytest.fixture
def installed():
    ne.install()
    yield
    ne.uninstall()


def run_suite(folder, *options):
    (folder / "suite").mkdir()
    (folder / "numexpr.py").write_text(SHIM)
    (folder / "suite" / SUITE.name).write_text(SUITE.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "numexpr_suite_plugin", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(folder), "-c", os.devnull, str(folder / "suite" / SUITE.name), *options]
    paths = [str(folder), str(HERE), *map(os.path.abspath, filter(None, sys.path))]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    environment.pop("OMP_NUM_THREADS", None)  # Dask's workers set it; numexpr's tests expect one thread on each core
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    return done.stdout + done.stderr, done.returncode


def test_numexprs_own_tests(tmp_path):
    text, code = run_suite(tmp_path)
    assert code == 0, text
    passed, failed = (int(re.search(rf"(\d+) {what}", text)[1]) for what in ("passed", "xfailed"))
    assert passed > 6000 and failed == 5, text


def test_the_suite_runs_with_this_module(tmp_path):
    script = "import numexpr, numexpr.expressions as e; print(numexpr.__name__, e.__name__, numexpr.evaluate('2').dtype)"
    (tmp_path / "numexpr.py").write_text(SHIM)
    paths = [str(tmp_path), *map(os.path.abspath, filter(None, sys.path))]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    text = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert text.stdout.split() == ["unishape.numexpr", "unishape.numexpr.expressions", "int32"], text.stderr


def test_reductions_of_the_suite(installed):
    """All of numexpr's test_reductions but the comparisons of disassembled programs."""
    spec = importlib.util.spec_from_file_location("numexpr_suite", SUITE)
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    assert suite.evaluate is ne.evaluate
    source = inspect.getsource(suite.test_numexpr.test_reductions)
    assert source.count("assert_equal") == source.count("disassemble") == 3
    suite.disassemble = lambda compiled: compiled
    suite.assert_equal = lambda compiled, program: None
    suite.test_numexpr("test_reductions").test_reductions()


# Dtypes and values beside numexpr.

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def arrays():
    rng = np.random.default_rng(0)
    for name in DTYPES:
        numbers = rng.integers(1, 9, 20) - (5 if name[0] in "ifc" else 0)
        if name[0] in "fc":
            numbers = numbers + 0.5
        if name[0] == "c":
            numbers = numbers + 1j
        yield name, (numbers > 3 if name == "bool" else numbers).astype(name)


ARRAYS = dict(arrays())
TWO = "fmod arctan2 hypot nextafter copysign maximum minimum".split()
ONE = sorted(set(functions) - {*TWO, *REDUCTIONS, "where", "contains", "complex"})
UNARY = """
    -a; ~a; a + 1; a * 2.5; a + True; a ** 2; a ** 0.5; a ** 2.0; a ** -1.0; a ** 3.3; a ** 51.0; a / 2; a // 2; a % 3
    a << 1; a > 2; a <= 2.5; a == 1j; a & 1; a | True; a + 2j; a * 3000000000; sum(a); prod(a, axis=0)
    where(a > 2, a, 1); where(a, a, 1); a.real; a.imag; a == True; -(a > 1); (a > 1) + (a < 3); (a > 1) * 2
    (a > 1) - (a < 3); where(a != 1, a > 1, False); 1 + 1; cos(1); 2 ** 40; sum(a * a)
"""
UNARY = [text.strip() for text in re.split("[;\n]", UNARY) if text.strip()]
UNARY += [f"{name}(a)" for name in ONE] + [f"{name}(a, 2)" for name in TWO]
BINARY = ["a + b", "a / b", "a // b", "a % b", "a < b", "a == b", "a & b", "where(a > b, a, b)", "a + b * 2.0"]
BINARY += [f"{name}(a, b)" for name in TWO]

# Where numexpr computes nothing, or nothing that NumPy has.
DIFFERENT = {("a ** 0.5", "bool"), *(("sign(a)", name) for name in DTYPES if name.startswith("complex"))}


def outcome(module, text, names):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module.evaluate(text, names)
    except Exception as error:
        return error


def check_same(text, names):
    expected, result = outcome(numexpr, text, names), outcome(ne, text, names)
    label = f"{text} of {[array.dtype for array in names.values()]}: {expected!r}, {result!r}"
    if isinstance(expected, Exception):
        assert type(result) is type(expected), label
        return 0
    assert isinstance(result, np.ndarray) and (result.dtype, result.shape) == (expected.dtype, expected.shape), label
    tolerance = 1e-5 if expected.dtype == np.float32 else 1e-12
    assert np.allclose(result, expected, rtol=tolerance, atol=tolerance, equal_nan=True), label
    return 1


def test_dtypes_and_values_of_one_input():
    computed = sum(
        check_same(text, {"a": array})
        for text in UNARY
        for name, array in ARRAYS.items()
        if (text, name) not in DIFFERENT
    )
    assert computed > 600


def test_dtypes_and_values_of_two_inputs():
    pairs = itertools.product(ARRAYS.values(), ARRAYS.values())
    # Quotients of complex numbers and 0 are those of NumPy.
    pairs = [(a, np.where(b == 0, b.dtype.type(1), b)[::-1]) for a, b in pairs]
    assert sum(check_same(text, {"a": a, "b": b}) for a, b in pairs for text in BINARY) > 1500


@pytest.mark.parametrize("optimization", ["none", "moderate", "aggressive"])
def test_kinds_of_powers(optimization):
    for kind in ["int32", "int64", "float32", "float64", "complex128"]:
        a = np.arange(1, 5).astype(kind)
        for exponent in ["-1.0", "0", "0.5", "1", "2", "2.0", "2.5", "3", "50.0", "50.5", "0.3"]:
            if optimization == "moderate" and exponent == "-1.0" and kind[0] == "i":
                continue  # numexpr: 2 ** -1.0 is 0
            expected = numexpr.evaluate(f"a ** {exponent}", optimization=optimization)
            result = ne.evaluate(f"a ** {exponent}", optimization=optimization)
            assert result.dtype == expected.dtype, (kind, exponent)
            if kind[0] != "i" or float(exponent) < 10:
                assert np.allclose(result, expected, rtol=1e-5), (kind, exponent)


def test_what_numexpr_does_not_compute():
    a = np.array([3, 1, 2], "int32")
    assert ne.evaluate("min(a)") == 1 and ne.evaluate("max(a)") == 3
    assert ne.evaluate("a / sum(a)").tolist() == (a / a.sum()).tolist()
    flags = np.array([True, False])
    assert ne.evaluate("flags ** 0").tolist() == [1, 1]


def test_complex_of_special_values():
    values = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5]
    a, b = (np.array(each) for each in zip(*itertools.product(values, values)))
    result = ne.evaluate("complex(a, b)")
    expected = np.empty(len(a), complex)
    expected.real, expected.imag = a, b
    assert result.tobytes() == expected.tobytes()
    x = np.arange(3)[:, None]
    y = np.arange(4.0)
    assert np.array_equal(ne.evaluate("2 * complex(x, y + 1)"), 2 * (x + 1j * (y + 1)))


def test_comments_and_lines():
    a = np.arange(3)
    assert ne.evaluate("a + 1  # one more; [not: code]").tolist() == [1, 2, 3]
    assert ne.evaluate("""(a  # first
        + 1)""").tolist() == [1, 2, 3]


def test_text_is_never_executed():
    a = np.arange(3)
    for text in ["exit()", "().__class__", "a.tolist()", "[a]", "(lambda: a)()", "f'{a}'", "a if a else a", "open('x')"]:
        for sanitize in (True, False):
            with pytest.raises((ValueError, TypeError)):
                ne.evaluate(text, sanitize=sanitize)
    for text in ["9**9**9", "1 << 10**10", "10**200"]:
        with pytest.raises(OverflowError):
            ne.evaluate(text)


# Names.

GLOBAL = np.array([100])


def test_names():
    a = np.array([1])
    assert ne.evaluate("a + GLOBAL") == 101
    assert ne.evaluate("a + GLOBAL", {"a": 2}) == 102
    assert ne.evaluate("a + GLOBAL", {"a": 2}, {"GLOBAL": 3}) == 5
    assert ne.evaluate("a + GLOBAL", global_dict={"GLOBAL": 3}) == 4
    with pytest.raises(KeyError, match="a"):
        ne.evaluate("a + GLOBAL", {})
    with pytest.raises(KeyError, match="pi"):
        ne.evaluate("a * pi")
    for name in ("e", "pi", "inf", "nan", "sum", "int32"):
        assert ne.evaluate(f"{name} + 1.5", {name: 2}) == 3.5
    # Names of generated inputs are not those of variables.
    _0 = np.array([b"x"])
    assert ne.evaluate("(_0 == b'x') & (a == 1)").tolist() == [True]


def test_frames_are_those_of_the_caller():
    assert [ne.evaluate("x * 2", local_dict={"x": x}).item() for x in range(3)] == [0, 2, 4]

    def inner(x):
        ne.evaluate("x + 1")
        return ne.re_evaluate(), ne.validate("x + y")

    again, error = inner(5)
    assert again == 6 and isinstance(error, KeyError)


# Outputs.


def test_out_and_casting():
    a = np.arange(6.0).reshape(2, 3)
    out = np.zeros((2, 3), "float32")
    assert ne.evaluate("a + 1", out=out) is out and out.tolist() == (a + 1).tolist()
    integers = np.zeros((2, 3), int)
    with pytest.raises(TypeError, match="same_kind"):
        ne.evaluate("a + 0.5", out=integers)
    assert ne.evaluate("a + 0.5", out=integers, casting="unsafe").tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError, match="'safe'"):
        ne.evaluate("a + 0.5", out=out, casting="safe")
    with pytest.raises(ValueError, match="shape"):
        ne.evaluate("a + 0.5", out=np.zeros(3))
    large = np.zeros((4, 2, 3))
    assert ne.evaluate("a * 2", out=large) is large and (large == a * 2).all()
    square = np.arange(9.0).reshape(3, 3)
    expected = square.T + square
    assert (ne.evaluate("t + square", {"t": square.T, "square": square}, out=square) == expected).all()


def test_order():
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert ne.evaluate("a + 1", order="C").flags.c_contiguous
    assert ne.evaluate("a + 1", order="F").flags.f_contiguous
    assert ne.evaluate("a + 1", order="A").flags.f_contiguous
    with pytest.raises(ValueError, match="order"):
        ne.evaluate("a + 1", order="X")


def test_compiled_expressions():
    compiled = ne.NumExpr("2*a + b*3.5", [("b", np.float64), ("a", np.int32)])
    assert compiled.input_names == ("b", "a") and compiled.signature == b"di"
    assert compiled.constants == numexpr.NumExpr("2*a + b*3.5", [("b", np.float64), ("a", np.int32)]).constants
    assert compiled(1.0, np.arange(2, dtype="int32")).tolist() == [3.5, 5.5]
    with pytest.raises(TypeError, match="a, an array of float64"):
        compiled(1.0, 2.0)
    with pytest.raises(ValueError, match="2 inputs, but 1"):
        compiled(1.0)
    with pytest.raises(ValueError, match="signature"):
        ne.NumExpr("a + b", [("a", np.float64)])
    with pytest.raises(NotImplementedError, match="explain"):
        ne.disassemble(compiled)
    E = ne.E
    assert ne.NumExpr((E.x > 1) & (E.y < 2))(np.array([0.0, 2.0]), 1).tolist() == [False, True]


def test_threads():
    before = ne.get_num_threads()
    try:
        assert ne.set_num_threads(1) == before and unishape.get_num_threads() == 1
        for wrong in (0, -1, ne.MAX_THREADS + 1):
            with pytest.raises(ValueError, match="between 1 and"):
                ne.set_num_threads(wrong)
    finally:
        unishape.set_num_threads(None)
    assert ne.detect_number_of_cores() == os.cpu_count()


def test_every_kind_has_a_dtype():
    assert {ne.evaluate("copy(a)", {"a": array}).dtype.name for array in ARRAYS.values()} == {
        ne.expressions.DTYPES[kind] for kind in KINDS
    }


# pandas.


def test_pandas_eval(installed, monkeypatch):
    calls = []
    evaluate = ne.evaluate

    def recorded(*arguments, **options):
        calls.append(arguments[0])
        return evaluate(*arguments, **options)

    monkeypatch.setattr(ne, "evaluate", recorded)
    frame = pd.DataFrame({"a": np.arange(5), "b": np.linspace(0, 1, 5)}, index=list("vwxyz"))
    limit = 2
    result = frame.eval("a ** 2 + b * 3 > @limit", engine="numexpr")
    pd.testing.assert_series_equal(result, frame["a"] ** 2 + frame["b"] * 3 > limit)
    assert frame.query("a > 1 and b < 0.9", engine="numexpr").index.tolist() == ["x", "y"]
    pd.testing.assert_frame_equal(pd.eval("frame + frame", engine="numexpr"), frame + frame, check_dtype=False)
    assert pd.eval("sin(frame.b)", engine="numexpr").tolist() == np.sin(frame.b).tolist()
    assert len(calls) >= 4
    # The default engine.
    del calls[:]
    frame.eval("c = a + b")
    assert calls


def test_pandas_arithmetic_of_large_arrays(installed, monkeypatch):
    calls = []
    evaluate = ne.evaluate
    monkeypatch.setattr(ne, "evaluate", lambda *args, **options: calls.append(args[0]) or evaluate(*args, **options))
    large = pd.Series(np.arange(2_000_000.0))
    assert ((large * large) == np.arange(2_000_000.0) ** 2).all() and calls


def test_uninstall_restores():
    real, own = sys.modules["numexpr"], pd.core.computation.expressions.ne
    ne.install()
    ne.install()
    assert sys.modules["numexpr"] is ne and sys.modules["numexpr.utils"] is ne.utils
    ne.uninstall()
    assert sys.modules["numexpr"] is real and pd.core.computation.expressions.ne is own


def test_pandas_without_numexpr():
    script = """
import sys
sys.modules["numexpr"] = None
import pandas as pd
assert not pd.core.computation.check.NUMEXPR_INSTALLED
import unishape.numexpr
unishape.numexpr.install()
frame = pd.DataFrame({"a": [1, 2, 3]})
assert frame.eval("a * 2", engine="numexpr").tolist() == [2, 4, 6]
unishape.numexpr.uninstall()
try:
    frame.eval("a * 2", engine="numexpr")
except ImportError:
    print("restored")
"""
    paths = [*map(os.path.abspath, filter(None, sys.path))]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout == "restored\n", done.stderr
