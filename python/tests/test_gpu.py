"""Arrays of PyTorch, CuPy and JAX on a GPU: results, streams, outputs, graphs and errors.

Skipped where there is no GPU. Without pytest: `python test_gpu.py`. With `UNISHAPE_GPU_ALL=1` it fails where PyTorch, CuPy or
JAX is missing.
"""

import concurrent.futures
import contextlib
import ctypes
import importlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import traceback

# The libraries share the device's memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np

import unishape


def load(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def has_gpu():
    torch, cupy = load("torch"), load("cupy")
    with contextlib.suppress(Exception):
        return (torch is not None and torch.cuda.is_available()) or (cupy is not None and cupy.cuda.is_available())
    return False


if "pytest" in sys.modules:
    import pytest

    pytestmark = pytest.mark.skipif(not has_gpu(), reason="there is no GPU")

DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


class Torch:
    name = "torch"

    def __init__(self):
        self.torch = importlib.import_module("torch")
        assert self.torch.cuda.is_available()

    def put(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape).cuda()

    def get(self, array):
        assert isinstance(array, self.torch.Tensor) and array.is_cuda, type(array)
        return array.cpu().numpy()


class CuPy:
    name = "cupy"

    def __init__(self):
        self.cupy = importlib.import_module("cupy")

    def put(self, array):
        return self.cupy.asarray(array)

    def get(self, array):
        assert isinstance(array, self.cupy.ndarray), type(array)
        return self.cupy.asnumpy(array)


class Jax:
    name = "jax"

    def __init__(self):
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        assert jax.devices()[0].platform == "gpu"
        self.jax = jax

    def put(self, array):
        return self.jax.numpy.asarray(array)

    def get(self, array):
        assert isinstance(array, self.jax.Array), type(array)
        return np.asarray(array)


def libraries():
    for library in [Torch, CuPy, Jax]:
        try:
            yield library()
        except (ImportError, AssertionError, RuntimeError) as error:
            if "UNISHAPE_GPU_ALL" in os.environ:
                raise
            print(f"  without {library.name}: {error}")


def torch_library():
    """PyTorch, if it is installed, in a list."""
    return [library for library in libraries() if library.name == "torch"]


def make(rng, shape, dtype="float32"):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "complex" in dtype:
        return (rng.random(shape) + 1j * rng.random(shape)).astype(dtype)
    if "float" in dtype:
        return (rng.random(shape) + 0.5).astype(dtype)
    return rng.integers(1, 7, shape).astype(dtype)


@contextlib.contextmanager
def raises(error, text):
    try:
        yield
    except error as raised:
        assert re.search(text, str(raised)), str(raised)
    else:
        raise AssertionError(f"no {error.__name__}")


def check(found, expected, what, rtol=2e-5):
    assert found.shape == expected.shape and found.dtype == expected.dtype, (what, found.shape, found.dtype)
    if expected.dtype == np.float16:
        rtol = 2e-2
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol, err_msg=what)
    else:
        assert (found == expected).all(), what


EXPRESSIONS = [
    ("a * 2 + b", [(40, 33), (33,)]),
    ("(a - b) / c * 0.5", [(64, 128), (64, 1), (128,)]),
    ("where(a > b, a, b)", [(7, 1, 5), (3, 1)]),
    ("sum(a * b, axis=0)", [(300, 40), (300, 40)]),
    ("softmax(a, -1)", [(50, 200)]),
    ("argmax(a, axis=1)", [(30, 70)]),
    ("var(a, axis=(0, 2))", [(8, 6, 50)]),
    ("sum((a[:, None] - b)**2, -1)", [(70, 3), (80, 3)]),
    ("argmin(sum((a[:, None] - b)**2, -1), 1)", [(70, 3), (80, 3)]),
    ("sum(exp(-sum((a[:, None] - b)**2, -1)), 1)", [(1500, 3), (300, 3)]),
    ("a + b.T", [(64, 96), (96, 64)]),
    ("sum(a)", [(0, 4)]),
    ("a + 1", [(0, 4)]),
]


def test_results_are_those_of_the_cpu():
    rng = np.random.default_rng(0)
    for library in libraries():
        for text, shapes in EXPRESSIONS:
            arrays = dict(zip("abc", [make(rng, shape) for shape in shapes]))
            expected = np.asarray(unishape.evaluate(text, arrays))
            found = unishape.evaluate(text, {name: library.put(array) for name, array in arrays.items()})
            check(library.get(found), expected, f"{library.name}: {text}")


def test_dtypes():
    rng = np.random.default_rng(1)
    for library in libraries():
        for dtype in DTYPES:
            a, b = make(rng, (9, 30), dtype), make(rng, (30,), dtype)
            for text in ["a + b", "a * a", "a == b", "max(a, axis=0)", "sum(a)"]:
                with np.errstate(all="ignore"):
                    try:
                        expected = np.asarray(unishape.evaluate(text, {"a": a, "b": b}))
                    except TypeError:
                        continue
                try:
                    arrays = {"a": library.put(a), "b": library.put(b)}
                except (TypeError, RuntimeError):
                    continue  # the library does not have the dtype
                check(library.get(unishape.evaluate(text, arrays)), expected, f"{library.name}: {text} of {dtype}")
    for library in libraries():
        if library.name == "torch":
            torch = library.torch
            a = torch.rand(50, 20, device="cuda").to(torch.bfloat16)
            result = unishape.evaluate("a * 2 + a", a=a)
            assert result.dtype == torch.bfloat16 and torch.equal(result, a * 2 + a)


def test_functions_lazy_values_and_sum_to():
    rng = np.random.default_rng(2)
    x, y = make(rng, (20, 30)), make(rng, (30,))
    for library in libraries():
        a, b = library.put(x), library.put(y)
        check(library.get(unishape.hypot(a, b)), unishape.hypot(x, y), library.name)
        check(library.get(unishape.add(a, 1.5)), x + np.float32(1.5), library.name)
        lazy = (unishape.lazy(a) * b + 1).sum(axis=0)
        check(library.get(lazy.compute()), (x * y + 1).sum(0), library.name)
        check(library.get(unishape.sum_to(a, (30,))), unishape.sum_to(x, (30,)), library.name)
        check(library.get(unishape.sum_to(a, (20, 1))), unishape.sum_to(x, (20, 1)), library.name)
        check(library.get(unishape.sum_to(a, ())), unishape.sum_to(x, ()), library.name)
        results = unishape.evaluate(["min(a, axis=1)", "max(a, axis=1)"], a=a)
        check(library.get(results[0]), x.min(1), library.name)
        check(library.get(results[1]), x.max(1), library.name)
        fast = unishape.evaluate("exp(a) / b", a=a, b=b, fast_math=True)
        check(library.get(fast), np.exp(x) / y, library.name, rtol=1e-4)
        assert "kernel 1" in unishape.evaluate("a + b", a=a, b=b, explain=True)


def test_fast_math_stays_apart():
    """A compiler that keeps compiled code must not return that of a fast kernel for an exact one, or the reverse."""
    x = np.linspace(-80, -60, 3000, dtype="float32").reshape(30, 100)
    for library in libraries():
        a = library.put(x)
        for text in ["sum(exp(a), axis=1)", "exp(a)"]:
            fast = library.get(unishape.evaluate(text, a=a, fast_math=True))
            exact = library.get(unishape.evaluate(text, a=a))
            expected = unishape.evaluate(text, a=x)
            check(exact, expected, f"{library.name}: {text}", rtol=1e-6)
            check(fast, expected, f"{library.name}: {text}", rtol=1e-4)
            assert (fast != exact).any(), f"{library.name}: {text} was compiled without fast_math"


def test_strided_arrays_and_outputs():
    rng = random.Random(3)
    for library in libraries():
        if library.name == "jax":
            with raises(TypeError, "JAX array, which cannot change"):
                unishape.evaluate("a + 1", a=library.put(np.ones(3)), out=library.put(np.ones(3)))
            continue
        for _ in range(30):
            base = np.arange(40 * 60, dtype="float32").reshape(40, 60)
            start, step = rng.choice([(0, 1), (1, 1), (3, 2), (2, 3)])
            transpose = rng.random() < 0.5

            def view(array):
                array = array[start::step, start::step]
                return array.T if transpose else array

            a, out = library.put(base), library.put(np.zeros_like(base))
            target = view(out)
            returned = unishape.evaluate("a * 2 + 1", a=view(a), out=target)
            assert returned is target
            expected = np.zeros_like(base)
            view(expected)[...] = view(base) * 2 + 1
            check(library.get(out), expected, library.name)
        # In place, and with an overlap.
        x = library.put(base)
        unishape.evaluate("x * 2", x=x, out=x)
        check(library.get(x), base * 2, library.name)
        x = library.put(base)
        unishape.evaluate("x[::-1] + 1", x=x, out=x)
        check(library.get(x), base[::-1] + 1, library.name)


def test_views():
    x = np.arange(6.0, dtype="float32").reshape(2, 1, 3)
    for library in libraries():
        a = library.put(x)
        if library.name == "jax":
            with raises(TypeError, "JAX arrays have no strides"):
                unishape.broadcast_to(a, (2, 4, 3))
            continue
        view = unishape.broadcast_to(a, (2, 4, 3))
        check(library.get(view), np.broadcast_to(x, (2, 4, 3)), library.name)
        b = unishape.broadcast_arrays(a, library.put(np.zeros((5, 1), "float32")))[0]
        assert tuple(b.shape) == (2, 5, 3)
        check(library.get(unishape.evaluate("v + 1", v=view)), np.broadcast_to(x, (2, 4, 3)) + 1, library.name)


def test_errors():
    for library in libraries():
        a = library.put(np.ones((3, 4), "float32"))
        with raises(TypeError, "b is on the CPU and a on the GPU"):
            unishape.evaluate("a + b", a=a, b=np.ones(4))
        with raises(ValueError, "E1: incompatible shapes"):
            unishape.evaluate("a + b", a=a, b=library.put(np.ones(3, "float32")))
        check(library.get(unishape.evaluate("a * b", a=a, b=np.float64(2))), np.full((3, 4), 2.0), library.name)
        check(library.get(unishape.evaluate("a * b", a=a, b=np.array(2, "int8"))), np.full((3, 4), 2, "f4"), library.name)
        check(library.get(unishape.evaluate("a * pi")), np.full((3, 4), np.pi, "f4"), library.name)
        if library.name == "torch":
            torch = library.torch
            tracked = torch.ones(3, device="cuda", requires_grad=True)
            with raises(TypeError, "requires grad, but unishape computes no gradients"):
                unishape.evaluate("x + 1", x=tracked)
            with torch.no_grad():
                assert unishape.evaluate("x + 1", x=tracked).tolist() == [2.0] * 3
            assert not unishape.evaluate("x + 1", x=tracked.detach()).requires_grad
            assert unishape.evaluate("x + y", x=tracked.detach(), y=torch.tensor(2.0)).tolist() == [3.0] * 3
            with raises(TypeError, "float8"):
                unishape.evaluate("x + 1", x=torch.ones(3, device="cuda").to(torch.float8_e4m3fn))
            conjugate = torch.tensor([1 + 2j, 3 - 1j], device="cuda").conj()
            assert torch.equal(unishape.evaluate("x * 1", x=conjugate), conjugate.resolve_conj())
            with raises(TypeError, "the output has dtype float64"):
                unishape.evaluate("x + 1", x=a, out=a.double())


def test_current_streams():
    """Work on a side stream is ordered after what is slow there, and before what follows."""
    for library in libraries():
        if library.name == "torch":
            torch = library.torch
            stream = torch.cuda.Stream()
            unishape.evaluate("x + 1", x=torch.zeros(1 << 20, device="cuda"))
            for _ in range(20):
                x = torch.zeros(1 << 20, device="cuda")
                torch.cuda.synchronize()
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(20_000_000)
                    x += 1
                    y = unishape.evaluate("x + 1", x=x)
                    x.zero_()
                    z = y * 2
                stream.synchronize()
                assert z.min().item() == z.max().item() == 4
        if library.name == "cupy":
            cupy = library.cupy
            for _ in range(5):
                with cupy.cuda.Stream(non_blocking=True) as stream:
                    x = cupy.zeros(1 << 22, "float32")
                    for _ in range(200):
                        x += 1
                    y = unishape.evaluate("x + 1", x=x)
                    x.fill(0)
                    z = y * 2
                    stream.synchronize()
                assert float(z.min()) == float(z.max()) == 402


def test_libraries_together():
    found = {library.name: library for library in libraries()}
    x = np.arange(1 << 20, dtype="float32")
    if {"torch", "cupy"} <= found.keys():
        torch, cupy = found["torch"].torch, found["cupy"].cupy
        for _ in range(10):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream), cupy.cuda.Stream(non_blocking=True):
                a = torch.zeros(1 << 20, device="cuda")
                torch.cuda._sleep(10_000_000)
                a += 2
                b = cupy.asarray(x) * 3
                result = unishape.evaluate("a + b", a=a, b=b)
                assert isinstance(result, torch.Tensor)
                other = unishape.evaluate("b + a", a=a, b=b)
                assert isinstance(other, cupy.ndarray)
                assert float(abs(other - (b + 2)).max()) == 0
                assert torch.equal(result.cpu(), torch.from_numpy(x * 3 + 2))
    if {"torch", "jax"} <= found.keys():
        jax, torch = found["jax"].jax, found["torch"].torch
        result = unishape.evaluate("a + b", a=jax.numpy.ones(5, "float32"), b=torch.ones(5, device="cuda"))
        assert isinstance(result, jax.Array) and np.asarray(result).tolist() == [2.0] * 5


def test_jax_memory_is_not_reused_too_early():
    for library in libraries():
        if library.name != "jax":
            continue
        jax = library.jax
        make_ones = jax.jit(lambda k: jax.numpy.full((1 << 22,), k, "float32"))
        for k in range(30):
            result = unishape.evaluate("x * 2 + 1", x=make_ones(float(k)))
            make_ones(-1.0)
            assert float(result.min()) == float(result.max()) == 2 * k + 1


def test_graph_capture():
    """Nothing is allocated or waited for while PyTorch captures a graph, if out= is given."""
    for library in libraries():
        if library.name != "torch":
            continue
        torch = library.torch
        x, y = torch.rand(500, 300, device="cuda"), torch.rand(300, device="cuda")
        for text in ["x * y + 1", "sum(x * y, axis=1)", "softmax(x, -1)", "sum(x)", "var(x, 0)", "x * k"]:
            k = np.float32(3)
            names = {name: value for name, value in {"x": x, "y": y, "k": k}.items() if re.search(rf"\b{name}\b", text)}
            warm = unishape.evaluate(text, names)
            out = torch.zeros_like(warm)
            unishape.evaluate(text, names, out=out)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                before = torch.cuda.memory_allocated()
                unishape.evaluate(text, names, out=out)
                assert torch.cuda.memory_allocated() == before
            for _ in range(3):
                x.copy_(torch.rand_like(x))
                out.zero_()
                graph.replay()
                expected = unishape.evaluate(text, names)
                assert torch.equal(out, expected), text


def test_array_interface():
    for library in libraries():
        if library.name != "torch":
            continue
        torch = library.torch
        tensor = torch.arange(12.0, device="cuda").reshape(3, 4)

        class Interface:
            __cuda_array_interface__ = tensor.T.__cuda_array_interface__

        result = unishape.evaluate("x * 2", x=Interface())
        found = torch.from_dlpack(result)
        assert torch.equal(found, tensor.T * 2)
        assert torch.equal(torch.as_tensor(result, device="cuda"), tensor.T * 2)
        view = unishape.broadcast_to(Interface(), (2, 4, 3))
        found = torch.from_dlpack(unishape.evaluate("v + 0", v=view))
        assert torch.equal(found, tensor.T.expand(2, 4, 3))


def test_powers_of_two_of_complex_numbers():
    """Those that overflow, and whose imaginary part is 0 or large."""
    parts = [0.0, 1.0, -3000.0, 1023.5, 2047.0, 2048.0, 3000.0, 1e300, np.inf, -np.inf]
    x = np.array([complex(re, im) for re in parts for im in [0.0, -0.0, 1.0, -2.5, 1e9, 3e15]])
    with np.errstate(all="ignore"):
        expected = np.asarray(unishape.evaluate("exp2(x)", x=x))
    for library in libraries():
        found = library.get(unishape.evaluate("exp2(x)", x=library.put(x)))
        for part in ["real", "imag"]:
            a, b = getattr(found, part), getattr(expected, part)
            np.testing.assert_allclose(a, b, rtol=1e-14, err_msg=f"{library.name}: {part}")
            assert (np.signbit(a) == np.signbit(b))[~np.isnan(b)].all(), (library.name, part)


def test_arrays_beyond_32_bits():
    for library in torch_library():
        torch = library.torch
        if torch.cuda.mem_get_info()[0] < 40e9:
            print("  without 40 GB of free memory")
            continue
        rows = 2**31 + 7
        a = torch.randint(0, 200, (rows, 3), dtype=torch.uint8, device="cuda")
        a[-1, 1] = 255
        found = unishape.evaluate("sum(a, 0)", a=a)
        assert torch.equal(found.to(torch.int64), a.sum(0, dtype=torch.int64))
        assert torch.equal(unishape.evaluate("max(a, 0)", a=a), a.amax(0))
        assert unishape.evaluate("argmax(a, 0)", a=a)[1].item() == rows - 1
        assert torch.equal(unishape.evaluate("max(a, 1)", a=a), a.amax(1))
        found = unishape.evaluate("a + 1", a=a)
        a += 1
        assert torch.equal(found, a)
        del found
        a = a.reshape(-1)[: 2 * rows].reshape(2, rows)
        assert torch.equal(unishape.evaluate("max(a, 0)", a=a), a.amax(0))
        assert torch.equal(unishape.evaluate("a[:, ::-1] + a", a=a)[1, :9], a[1, :9] + a[1, -9:].flip(0))
        del a
        torch.cuda.empty_cache()


class Interface:
    """A tensor by __cuda_array_interface__ alone, which may name a stream."""

    def __init__(self, tensor, stream=None):
        self.tensor = tensor
        self.__cuda_array_interface__ = dict(tensor.__cuda_array_interface__, version=3, stream=stream)


class ByDLPack:
    """A tensor by DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_streams_of_the_array_interface():
    """What is written slowly on the stream that the interface names is read afterwards."""
    for library in torch_library():
        torch = library.torch
        side = torch.cuda.Stream()
        for _ in range(5):
            x = torch.zeros(1 << 20, device="cuda")
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                x.fill_(2)
            found = torch.from_dlpack(unishape.evaluate("x + 1", x=Interface(x, side.cuda_stream)))
            assert found.min().item() == found.max().item() == 3


def test_streams_of_results():
    """Consumers on other streams wait for results and for views, and producers are waited for."""
    for library in torch_library():
        torch = library.torch
        for _ in range(5):
            x, other = torch.zeros(1 << 22, device="cuda"), torch.cuda.Stream()
            torch.cuda.synchronize()
            torch.cuda._sleep(20_000_000)
            x.fill_(2)
            result = unishape.evaluate("x + 1", x=ByDLPack(x))
            view = unishape.broadcast_to(ByDLPack(x), (2, 1 << 22))
            with torch.cuda.stream(other):
                doubled = torch.from_dlpack(result) * 2
                viewed = torch.from_dlpack(view) * 2
            again = torch.from_dlpack(unishape.evaluate("r + x", r=result, x=ByDLPack(x)))
            other.synchronize()
            assert doubled.min().item() == doubled.max().item() == 6
            assert viewed.min().item() == viewed.max().item() == 4
            assert again.min().item() == again.max().item() == 5
        # The tensor's stream computes, and what the interface says is waited for.
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            y = torch.full((1 << 22,), 7.0, device="cuda")
        mixed = torch.from_dlpack(unishape.evaluate("x + y", x=Interface(x, 1), y=Interface(y, side.cuda_stream)))
        assert mixed.min().item() == mixed.max().item() == 9


def test_threads():
    for library in torch_library():
        torch = library.torch
        x = torch.rand(1000, 30, device="cuda")
        driver, contexts, results = ctypes.CDLL("libcuda.so.1"), [], []

        def context():
            current = ctypes.c_void_p()
            driver.cuCtxGetCurrent(ctypes.byref(current))
            contexts.append(current.value)

        def without_context():
            context()
            results.append(unishape.evaluate("x * 2", x=Interface(x, 1)))
            context()

        thread = threading.Thread(target=without_context)
        thread.start()
        thread.join()
        assert contexts == [None, None] and torch.equal(torch.from_dlpack(results[0]), x * 2)
        texts = [f"sum(x * {number} + {number}, axis={number % 2}) - sqrt({number + 1})" for number in range(8)]
        expected = [unishape.evaluate(text, x=x.cpu().numpy()) for text in texts]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in range(3):
                found = list(pool.map(lambda text: unishape.evaluate(text, x=x).cpu().numpy(), texts))
                for text, a, b in zip(texts, found, expected):
                    check(a, b, text)


def run_python(program, **variables):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | variables
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
    assert process.returncode == 0, process.stderr
    return process


def test_arrays_are_freed_at_exit():
    imports = {
        "torch": "import torch; x = torch.ones(9, device='cuda')",
        "cupy": "import cupy; x = cupy.ones(9, 'float32')",
        "jax": "import jax; x = jax.numpy.ones(9)",
    }
    for library in libraries():
        program = (
            f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
            f"import unishape\n{imports[library.name]}\n"
            "from test_gpu import ByDLPack\n"
            "y = unishape.evaluate('x + 1', x=x)\n"
            "z = unishape.evaluate('x + 1', x=ByDLPack(x))\n"
            "unused, again = z.__dlpack__(), unishape.evaluate('z * 2', z=z)\n"
        )
        if library.name == "torch":
            program += "kept = torch.from_dlpack(z)\n"
        if library.name != "jax":  # which does not know -1, for no stream
            program += "view = unishape.broadcast_to(ByDLPack(x), (3, 9))\n"
        process = run_python(program)
        assert process.stderr == "", (library.name, process.stderr)


def test_a_process_that_was_forked():
    for _ in torch_library():
        run_python(
            "import os, torch, unishape\n"
            "class Interface: pass\n"
            "x = torch.ones(9, device='cuda')\n"
            "array = Interface()\n"
            "array.__cuda_array_interface__ = x.__cuda_array_interface__\n"
            "unishape.evaluate('x + 1', x=array)\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    try: unishape.evaluate('x + 1', x=array)\n"
            "    except RuntimeError as error: os._exit(0 if 'spawn' in str(error) else 3)\n"
            "    os._exit(4)\n"
            "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
            "assert unishape.evaluate('x + 1', x=x).tolist() == [2.0] * 9\n"
        )


def test_processes_share_compiled_kernels():
    for _ in torch_library():
        program = (
            "import torch, unishape\n"
            "x = torch.arange(3000.0, device='cuda').reshape(30, 100)\n"
            "for axis in range(2):\n"
            "    print(unishape.evaluate(f'sum(x * 3 - 1, axis={axis})', x=x).sum().item())\n"
        )
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
            outputs = list(pool.map(lambda _: run_python(program, XDG_CACHE_HOME=folder).stdout, range(4)))
            assert len(set(outputs)) == 1, outputs
            kernels = sorted(pathlib.Path(folder).glob("unishape/cuda/*"))
            assert kernels
            times = [kernel.stat().st_mtime_ns for kernel in kernels]
            assert run_python(program, XDG_CACHE_HOME=folder).stdout == outputs[0]
            assert [kernel.stat().st_mtime_ns for kernel in kernels] == times
            assert sorted(pathlib.Path(folder).glob("unishape/cuda/*")) == kernels


def test_nothing_is_allocated_for_outputs():
    """Expressions of one kernel; others have temporaries, from the memory that PyTorch keeps for a graph."""
    for library in torch_library():
        torch = library.torch
        x, y = torch.rand(500, 300, device="cuda"), torch.rand(300, device="cuda")

        def count():
            return torch.cuda.memory_stats()["allocation.all.allocated"]

        for text in ["x * y + 1", "sum(x * y, axis=1)", "softmax(x, -1)", "where(x > y, x, 2.5)"]:
            names = {name: value for name, value in {"x": x, "y": y}.items() if re.search(rf"\b{name}\b", text)}
            out = torch.zeros_like(unishape.evaluate(text, names))
            before = count()
            unishape.evaluate(text, names, out=out)
            assert count() == before, text
        # An expression that is compiled while the graph is captured.
        out, graph = torch.zeros_like(x), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            unishape.evaluate("x * 1.25 - y * x", x=x, y=y, out=out)
        graph.replay()
        assert torch.allclose(out, x * 1.25 - y * x)


def main():
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
                print(f"ok      {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {name}", flush=True)
                traceback.print_exc(file=sys.stdout)
    print("Python tests failed" if failed else "all Python tests passed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
