"""Arrays on GPUs, where there is none: the protocols, streams and errors.

Calls of the driver are recorded by a driver without a GPU, in processes of their own.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest
from fake_gpu import Exporter, Interface, OldExporter, driver, exported

import unishape

HERE = pathlib.Path(__file__).parent


def has_driver():
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("driver")


@pytest.fixture(scope="module")
def run(folder):
    """Runs statements with the recording driver, and returns what they print and the driver's calls."""
    if has_driver():
        pytest.skip("there is a driver")
    libraries = driver(folder)

    def run(statements, *, keeps_cache=False, packages=(f"{libraries}/site-packages",), version="13000"):
        log = folder / "log"
        log.write_text("")
        if not keeps_cache:
            shutil.rmtree(folder / "cache", ignore_errors=True)
        program = (
            "import ctypes, os, sys, numpy as np, unishape\n"
            "from fake_gpu import Exporter, Interface, OldExporter, exported\n"
            "x = np.arange(6.0, dtype='float32').reshape(2, 3)\n"
        )
        environment = os.environ | {
            "LD_LIBRARY_PATH": libraries,
            "UNISHAPE_FAKE_CUDA_LOG": str(log),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "UNISHAPE_FAKE_CUDA_VERSION": version,
            "PYTHONPATH": os.pathsep.join([str(HERE), *packages, *sys.path]),
        }
        process = subprocess.run(
            [sys.executable, "-c", program + statements], capture_output=True, text=True, env=environment
        )
        assert process.returncode == 0, process.stderr
        return process.stdout, log.read_text().splitlines()

    return run


X = np.arange(6.0, dtype="float32").reshape(2, 3)


@pytest.mark.skipif(has_driver(), reason="there is a driver")
def test_without_a_driver_the_error_names_it():
    for array in [Exporter(X), Interface(X)]:
        with pytest.raises(RuntimeError, match=r"libcuda.so.1 \(the NVIDIA driver\) not found"):
            unishape.evaluate("a + 1", a=array)
    with pytest.raises(RuntimeError, match="libcuda"):
        unishape.add(Exporter(X), 1)
    with pytest.raises(RuntimeError, match="libcuda"):
        unishape.sum_to(Exporter(X), (3,))
    with pytest.raises(RuntimeError, match="libcuda"):
        (unishape.lazy(Exporter(X)) + 1).compute()
    assert unishape.evaluate("a + 1", a=X).tolist() == (X + 1).tolist()


def test_errors_before_anything_runs():
    gpu = Exporter(X)
    with pytest.raises(TypeError, match="b is on the CPU and a on the GPU: copy one of them"):
        unishape.evaluate("a + b", a=gpu, b=X)
    with pytest.raises(TypeError, match="argument 1 is on the CPU and argument 2 on the GPU"):
        unishape.add(X, gpu)
    with pytest.raises(TypeError, match="out must be an array on the GPU, as the inputs are, not ndarray"):
        unishape.evaluate("a + 1", a=gpu, out=X.copy())
    with pytest.raises(TypeError, match="out must be a NumPy array, not Exporter"):
        unishape.evaluate("a + 1", a=X, out=gpu)
    with pytest.raises(ValueError, match="different devices, 0 and 1: copy them to one"):
        unishape.evaluate("a + b", a=gpu, b=Exporter(X, device=1))
    with pytest.raises(ValueError, match="out is read-only; pass a writeable array"):
        unishape.evaluate("a + 1", a=gpu, out=Exporter(X, read_only=True))
    with pytest.raises(ValueError, match="several indices for one element"):
        unishape.evaluate("a + 1", a=gpu, out=Exporter(np.broadcast_to(X[:1], (2, 3))))
    with pytest.raises(TypeError, match="do not support the dtype of this array"):
        unishape.evaluate("a + 1", a=Exporter(X, code=9))
    with pytest.raises(ValueError, match="E1: incompatible shapes"):
        unishape.evaluate("a + b", a=gpu, b=Exporter(X[:, :2]))
    with pytest.raises(TypeError, match="the output has dtype float64.*pass an array of float32"):
        unishape.evaluate("a + 1", a=gpu, out=Exporter(X.astype("float64")))
    with pytest.raises(ValueError, match=r"the output has shape \[3\]"):
        unishape.evaluate("a + 1", a=gpu, out=Exporter(X[0]))
    with pytest.raises(NameError, match="nothing"):
        unishape.evaluate("a + nothing", a=gpu)
    with pytest.raises(TypeError, match="more"):
        unishape.evaluate("a + 1", a=gpu, more=1)
    with pytest.raises(BufferError, match="DLPack 2 is not supported"):
        unishape.evaluate("a + 1", a=Exporter(X, major=2))
    integers = Exporter(np.ones(3, "int32"))
    for call in [
        lambda: unishape.evaluate("x ** -1", x=integers),
        lambda: unishape.evaluate("x ** k", x=integers, k=np.int64(-2)),
        lambda: unishape.evaluate(["x + 1", "pow(x, -1)"], x=integers),
        lambda: unishape.pow(integers, -1),
    ]:
        with pytest.raises(ValueError, match="integers to negative integer powers"):
            call()
    with pytest.raises(TypeError, match="dtype=.* not supported for arrays on a GPU: use evaluate"):
        unishape.add(gpu, 1, dtype="float64")
    with pytest.raises(TypeError, match="on a GPU: call .compute"):
        np.asarray(unishape.lazy(gpu) + 1)


def test_errors_of_the_array_interface():
    for changes, error, text in [
        ({"stream": 0}, ValueError, "the stream 0, which is ambiguous"),
        ({"mask": 1}, TypeError, "arrays with a mask are not supported: fill the masked elements"),
        ({"strides": (13, 4)}, TypeError, "not a multiple of the element size"),
        ({"typestr": "<M8[s]"}, TypeError, "do not support dtype"),
    ]:
        with pytest.raises(error, match=text):
            unishape.evaluate("a + 1", a=Interface(X, **changes))


def test_tensors_that_are_taken_are_deleted_once():
    for array in [Exporter(X), OldExporter(X), Exporter(X, versioned=False)]:
        assert unishape.lazy(array).shape == (2, 3)
        assert (array.streams, array.deleted) == ([-1], 1)
    failing = Exporter(X, code=9)
    with pytest.raises(TypeError):
        unishape.lazy(failing)
    assert failing.deleted == 1


def test_lazy_values_know_shape_and_dtype():
    value = unishape.lazy(Exporter(X.T)) * 2 + Interface(np.float64(3).reshape(1, 1))
    assert (value.shape, value.dtype) == ((3, 2), np.float64)
    assert value.sum(axis=0).shape == (2,)


def test_views():
    array = Exporter(X[:, :1])
    (view, cpu) = unishape.broadcast_arrays(array, np.zeros(4))
    assert view.shape == (2, 4) and cpu.shape == (2, 4) and isinstance(cpu, np.ndarray)
    assert view.__dlpack_device__() == (2, 0)
    capsule = view.__dlpack__(stream=-1, max_version=(1, 0))
    tensor, flags = exported(capsule)
    assert flags == 1  # read-only
    assert (list(tensor.shape[:2]), list(tensor.strides[:2])) == ([2, 4], [3, 0])
    assert tensor.data == X.ctypes.data
    interface = view.__cuda_array_interface__
    assert (interface["shape"], interface["strides"], interface["version"]) == ((2, 4), (12, 0), 3)
    assert interface["data"] == (X.ctypes.data, True)
    with pytest.raises(BufferError, match="read-only, which only DLPack 1.0 can say"):
        view.__dlpack__()
    with pytest.raises(BufferError, match="without a copy"):
        view.__dlpack__(max_version=(1, 0), copy=True)
    with pytest.raises(ValueError, match="stream=0 is not a stream"):
        view.__dlpack__(stream=0, max_version=(1, 0))
    with pytest.raises(ValueError, match="cannot be broadcast|E1|stretch"):
        unishape.broadcast_to(array, (3, 4))
    assert unishape.broadcast_to(view, (5, 2, 4)).shape == (5, 2, 4)
    with pytest.raises(TypeError, match="this array is on a GPU"):
        np.asarray(view)
    assert unishape.explain(array, (1, 4)).shape == (2, 4)


def test_kernels_run_on_the_default_stream(run):
    out, log = run("y = unishape.evaluate('x * 2 + 1', x=Exporter(x)); print(y.shape, y.dtype, type(y).__name__)")
    assert out.split() == ["(2,", "3)", "float32", "DeviceArray"]
    assert log == [
        "allocate 24 on 1",
        "compile --fmad=false",
        "load",
        "launch on 1, device 0",
        "synchronize 1",
        "free on 1",
    ]


def test_streams_of_producers(run):
    out, log = run(
        "a, b = Exporter(x), Interface(x, stream=7)\n"
        "y = unishape.evaluate('a + b', a=a, b=b)\n"
        "print(a.streams, a.deleted)\n"
    )
    assert out.split() == ["[1]", "1"]  # the default stream's number
    # The stream of b waits for the kernel, which waited for it.
    text = "\n".join(log)
    assert re.search(r"record (\d+) on 7\nwait for \1 on 1\n", text), text
    assert re.search(r"launch on 1, device 0\nrecord (\d+) on 1\nwait for \1 on 7\n", text), text


def test_streams_of_consumers(run):
    _, log = run(
        "y = unishape.evaluate('x * 2', x=Exporter(x))\n"
        "for stream in [None, -1, 1, 2, 99]:\n"
        "    y.__dlpack__(stream=stream)\n"
        "print(y.__cuda_array_interface__['stream'])\n"
    )
    waits = [line for line in log if line.startswith("wait")]
    assert [line.split()[-1] for line in waits] == ["2", "99"]


def test_outputs_and_overlap(run):
    _, log = run("y = Exporter(x.copy()); assert unishape.evaluate('x * 2', x=Exporter(x), out=y) is y")
    assert "allocate" not in "\n".join(log)
    # The sum of rows must not be written before all are read.
    _, log = run("y = Exporter(x[0]); unishape.evaluate('sum(x, axis=0)', x=Exporter(x), out=y)")
    assert len([line for line in log if line.startswith("launch")]) == 2
    assert log.index("synchronize 1") > log.index("launch on 1, device 0", log.index("launch on 1, device 0") + 1)


def test_elements_from_the_cpu(run):
    _, log = run(
        "unishape.evaluate('x * a + b', x=Exporter(x), a=np.float64(2), b=np.array(1, 'int16'))\n"
        "unishape.evaluate('x * 2.5', x=Exporter(x))\n"
    )
    assert [line for line in log if line.startswith("set")] == ["set 4 on 1"] * 2 + ["set 2 on 1"]


def test_the_second_device(run):
    _, log = run("unishape.evaluate('x * 2', x=Exporter(x, device=1))")
    assert "launch on 1, device 1" in log


@pytest.mark.parametrize("order", ["sum(e, axis=0) + x", "x + sum(e, axis=0)"])
def test_arrays_without_an_address_are_on_any_device(run, order):
    _, log = run(f"unishape.evaluate('{order}', x=Exporter(x, device=1), e=Interface(x[:0]))")
    launches = [line for line in log if line.startswith("launch")]
    assert launches and all(line.endswith("device 1") for line in launches)


def test_arrays_without_elements_are_on_the_device_that_they_name():
    with pytest.raises(ValueError, match="arrays are on different devices, 1 and 0"):
        unishape.evaluate("sum(e, axis=0) + x", x=Exporter(X), e=Exporter(X[:0], device=1))


def test_arrays_on_several_devices():
    class Sharded(Exporter):
        platform = "gpu"

        def __dlpack_device__(self):
            raise BufferError("__dlpack__ only supported for unsharded arrays.")

        def devices(self):
            return [types.SimpleNamespace(platform=self.platform, id=number) for number in range(2)]

        def __array__(self, *arguments, **options):
            return self.array

    Sharded.__module__ = "jaxlib._jax"
    with pytest.raises(ValueError, match="a JAX array is on several devices"):
        unishape.evaluate("a + 1", a=Sharded(X))
    Sharded.platform = "cpu"
    assert np.asarray(unishape.evaluate("a + 1", a=Sharded(X))).tolist() == (X + 1).tolist()


def test_kernels_are_loaded_once(run):
    _, log = run(
        "for _ in range(3):\n"
        "    unishape.evaluate('x * 2', x=Exporter(x)); unishape.multiply(Exporter(x), Exporter(x))\n"
        "    (unishape.lazy(Exporter(x)) * 3).compute()\n"
    )
    launches, loads = (len([line for line in log if line.startswith(word)]) for word in ["launch", "load"])
    assert (launches, loads) == (9, 2)  # numbers are arguments of kernels


def test_fast_math_is_another_kernel(run):
    _, log = run(
        "unishape.evaluate('exp(x)', x=Exporter(x)); unishape.evaluate('exp(x)', x=Exporter(x), fast_math=True)"
    )
    assert [line for line in log if line.startswith("compile")] == ["compile --fmad=false", "compile --use_fast_math"]


def test_explain(run):
    out, log = run("print(unishape.evaluate('sum(x)', x=Exporter(x), explain=True))")
    assert "GPU 0: float32 of shape []" in out and "kernel 1:" in out
    assert log == []


@pytest.mark.parametrize("options", ["", "major=2", "has_functions=False"])
def test_tensors_are_described_by_functions_of_dlpack(run, options):
    # PyTorch has them since 2.10; older ones are asked method by method.
    statements = (
        "from fake_gpu import fake_torch\n"
        f"Tensor = fake_torch({options})\n"
        "x, out = Tensor(x[:, ::-1]), Tensor(np.zeros((2, 3), 'float32'))\n"
        "assert unishape.evaluate('x * 2 + y', x=x, y=Tensor(x.array[0]), out=out) is out\n"
        "print(sorted(set(Tensor.asked)))\n"
        "for wrong in [np.zeros((2, 2), 'float32'), np.zeros((2, 3), 'int64')]:\n"
        "    try: unishape.evaluate('x * 2', x=x, out=Tensor(wrong))\n"
        "    except (TypeError, ValueError) as error: print(str(error).splitlines()[0])\n"
    )
    if "False" in options:
        statements = statements.replace("'int64'", "'float32'").replace("(2, 3), 'float32')]", "(3, 3), 'float32')]")
    printed, log = run(statements)
    asked, shape, other = printed.splitlines()
    assert asked == ("['get_device']" if "False" in options else "['describe']")
    assert "shape [2, 2]" in shape and ("shape [3, 3]" if "False" in options else "dtype int64") in other
    assert len([line for line in log if line.startswith("launch")]) == 1


def test_compilers_that_the_driver_supports_are_preferred(run):
    statements = "unishape.evaluate('x * 2', x=Exporter(x))"
    for version, expected in [
        ("13000", "compile --fmad=false"),
        ("12040", "compile --fmad=false by an older one"),
        ("14000", "compile --fmad=false"),
    ]:
        _, log = run(statements, version=version)
        assert [line for line in log if line.startswith("compile")] == [expected]


def test_compilers_that_are_loaded_come_first(run, folder):
    library = folder / "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    _, log = run(f"ctypes.CDLL({str(library)!r}); unishape.evaluate('x * 2', x=Exporter(x))")
    # Among those that are not loaded, 13 would come first.
    assert "compile --fmad=false by an older one" in log


def test_without_a_compiler_the_error_says_what_to_install(run):
    statements = (
        "sys.path[:] = [folder for folder in sys.path if not os.path.isdir(folder + '/nvidia')]\n"
        "try: unishape.evaluate('x * 2', x=Exporter(x))\n"
        "except RuntimeError as error: print(error)\n"
    )
    for version, package in [("13000", "nvidia-cuda-nvrtc"), ("12040", "nvidia-cuda-nvrtc-cu12")]:
        out, _ = run(statements, packages=(), version=version)
        assert "libnvrtc.so.13 or libnvrtc.so.12 not found in " in out
        assert out.strip().endswith(f"pip install {package}")
        assert "cannot open shared object file" not in out


def test_kernels_are_kept_on_disk(run, folder):
    def compiled(**options):
        _, log = run("unishape.evaluate('x * 2', x=Exporter(x))", **options)
        return len([line for line in log if line.startswith("compile")])

    assert compiled() == 1
    assert compiled(keeps_cache=True) == 0
    (file,) = (folder / "cache/unishape/cuda").glob("*.bin")
    content = file.read_bytes()
    # A damaged file is one that is not there.
    for damaged in [b"", content[:-1], content[:-1] + b"\0", content[::-1]]:
        file.write_bytes(damaged)
        assert compiled(keeps_cache=True) == 1
        assert file.read_bytes() == content


def test_equal_kernels_are_compiled_once(run):
    _, log = run(
        "a, b, c = (Exporter(np.ones((300, 40), 'float32')) for _ in 'abc')\n"
        "unishape.evaluate('sum(a, axis=0) + sum(b, axis=0) + sum(c, axis=0)', a=a, b=b, c=c)\n"
    )
    compiled, loaded, launched = (
        len([line for line in log if line.startswith(word)]) for word in ["compile", "load", "launch"]
    )
    assert (compiled, loaded) == (2, 2) and launched == 4, log


def test_the_current_context_is_restored(run):
    # A context would be the current device of other libraries.
    out, _ = run(
        "driver, context = ctypes.CDLL('libcuda.so.1'), ctypes.c_void_p()\n"
        "for current in [None, 1000, 1001]:\n"
        "    driver.cuCtxSetCurrent(ctypes.c_void_p(current))\n"
        "    unishape.evaluate('x * 2', x=Exporter(x, device=1))\n"
        "    driver.cuCtxGetCurrent(ctypes.byref(context))\n"
        "    print(context.value)\n"
    )
    assert out.split() == ["None", "1000", "1001"]


def test_outputs_of_libraries_without_streams_are_waited_for(run):
    _, log = run(
        "from fake_gpu import fake_torch\n"
        "tensor = fake_torch()(x)\n"
        "unishape.evaluate('x * 2', x=tensor)\n"
        "print(file=open(os.environ['UNISHAPE_FAKE_CUDA_LOG'], 'a'))\n"
        "unishape.evaluate('x * 2', x=tensor, out=Exporter(x.copy()))\n"
    )
    without, with_output = "\n".join(log).split("\n\n")
    assert "synchronize" not in without and with_output.endswith("synchronize 1")


def test_outputs_whose_elements_are_not_in_memory(run):
    out, log = run(
        "from fake_gpu import fake_torch\n"
        "Tensor = fake_torch()\n"
        "out = Tensor(x.copy())\n"
        "out.is_negative = True\n"
        "try: unishape.evaluate('x * 2', x=Tensor(x), out=out)\n"
        "except ValueError as error: print(error)\n"
    )
    assert "out is a conjugated or negated view" in out and log == []


def test_producers_make_consumers_of_views_wait(run):
    out, _ = run(
        "array = Exporter(x)\n"
        "view = unishape.broadcast_to(array, (4, 2, 3))\n"
        "print(array.streams, array.deleted)\n"
        "for stream in [-1, None, 7]:\n"
        "    view.__dlpack__(stream=stream, max_version=(1, 0))\n"
        "print(array.streams, view.__cuda_array_interface__['stream'], array.streams[-1])\n"
        "unishape.evaluate('view + 1', view=view)\n"
        "count = len(array.streams)\n"
        "del view\n"
        "print(count - array.deleted)\n"
        "unishape.evaluate('v', v=unishape.broadcast_to(Interface(x, stream=7), (4, 2, 3)))\n"
    )
    assert out.splitlines() == ["[-1] 0", "[-1, 1, 7, 1] 1 1", "0"]


def test_results_do_not_depend_on_streams_of_other_libraries(run):
    # The memory is that of the default stream, which waits for the kernel.
    _, log = run(
        "from fake_gpu import fake_torch\n"
        "tensor = fake_torch()(x)\n"
        "sys.modules['torch._C']._cuda_getCurrentRawStream = lambda device: 55\n"
        "unishape.evaluate('a + b', a=Exporter(x), b=tensor)\n"
    )
    text = "\n".join(log)
    assert "allocate 24 on 1" in text and "free on 1" in text
    assert re.search(r"record (\d+) on 1\nwait for \1 on 55\n", text), text
    assert re.search(r"launch on 55, device 0\nrecord (\d+) on 55\nwait for \1 on 1\n", text), text


def test_tensors_are_deleted_while_the_interpreter_ends(run):
    # As a global tensor of PyTorch that was imported from a result.
    out, _ = run(
        "from fake_gpu import Managed, ManagedVersioned, capsule_function, get_pointer\n"
        "set_name = capsule_function('PyCapsule_SetName', ctypes.c_int, ctypes.py_object, ctypes.c_char_p)\n"
        "class Consumer:\n"
        "    def __init__(self, version, name, form):\n"
        "        capsule = y.__dlpack__(max_version=version)\n"
        "        self.address = get_pointer(capsule, name)\n"
        "        self.deleter = form.from_address(self.address).deleter\n"
        "        self.name = b'used_' + name\n"
        "        set_name(capsule, self.name)\n"
        "    def __del__(self, write=os.write):\n"
        "        self.deleter(self.address)\n"
        "        write(1, b'deleted ')\n"
        "y = unishape.evaluate('x * 2', x=Exporter(x))\n"
        "consumers = [Consumer(None, b'dltensor', Managed), Consumer((1, 0), b'dltensor_versioned', ManagedVersioned)]\n"
        "unused = y.__dlpack__(), y.__dlpack__(max_version=(1, 0))\n"
        "sys.kept = consumers, unused  # until modules are cleared\n"
    )
    assert out.split() == ["deleted"] * 2


def test_addresses_of_no_gpu(run):
    out, log = run(
        "for array in [Interface(x, data=(1 << 60, False)), Interface(x[:0], data=(1 << 60, False))]:\n"
        "    try: print(unishape.evaluate('x * 2', x=array).shape)\n"
        "    except ValueError as error: print(error)\n"
    )
    error, empty = out.splitlines()
    assert "an address that is of no GPU" in error and empty == "(0, 3)"


@pytest.mark.parametrize("protocol", ["Exporter", "Interface"])
def test_a_process_that_was_forked(run, protocol):
    out, _ = run(
        f"array = {protocol}(x)\n"
        "unishape.evaluate('x * 2', x=array)\n"
        "if os.fork() == 0:\n"
        "    try: unishape.evaluate('x * 2', x=array)\n"
        "    except RuntimeError as error: print(error, flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    assert 'method "spawn" of multiprocessing' in out
