"""Number of threads: set_num_threads, environment variables, affinity masks."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import unishape

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc and affinity masks")


@pytest.fixture(autouse=True)
def restored():
    yield
    unishape.set_num_threads(None)


def run(script, **environment):
    """Runs a script in a new process; returns the words that it prints."""
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env=inherited | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_set_returns_the_previous_number():
    default = unishape.get_num_threads()
    assert default >= 1
    assert unishape.set_num_threads(3) == default and unishape.get_num_threads() == 3
    assert unishape.set_num_threads(np.int64(1)) == 3 and unishape.get_num_threads() == 1
    for restore in (None, 0):
        unishape.set_num_threads(5)
        assert unishape.set_num_threads(restore) == 5 and unishape.get_num_threads() == default


@pytest.mark.parametrize("number", [257, 10**9, 2**64, 10**40])
def test_large_numbers_are_limited(number):
    unishape.set_num_threads(number)
    assert unishape.get_num_threads() == 256


@pytest.mark.parametrize(
    ("number", "error", "match"),
    [
        (-1, ValueError, "the number of threads must be at least 1, not -1; 0 or None restores the default"),
        (-(10**40), ValueError, "must be at least 1, not -1000"),
        (1.5, TypeError, "the number of threads must be an int, not float"),
        ("2", TypeError, "must be an int, not str"),
        ([2], TypeError, "must be an int, not list"),
    ],
)
def test_invalid_numbers(number, error, match):
    unishape.set_num_threads(2)
    with pytest.raises(error, match=match):
        unishape.set_num_threads(number)
    assert unishape.get_num_threads() == 2


def test_threads_argument_overrides_the_default():
    x = np.arange(1_000_000.0)
    for default in (1, 2):
        unishape.set_num_threads(default)
        for threads in (None, 1, 3):
            np.testing.assert_array_equal(unishape.evaluate("x * 2 + 1", threads=threads), x * 2 + 1)
            assert (unishape.lazy(x) + 1).compute(threads=threads)[-1] == 1_000_000
            assert unishape.sum_to(x, (1,), threads=threads) == x.sum()
        assert unishape.get_num_threads() == default
    for call in (unishape.exp, unishape.lazy(x).compute, lambda *x, **options: unishape.evaluate("1", **options)):
        arguments = () if call is not unishape.exp else (x,)
        with pytest.raises(ValueError, match="threads must be at least 1, not 0; omit it for one per core"):
            call(*arguments, threads=0)


COUNT_WORKERS = """
    import os, sys, time
    import numpy as np, unishape
    def named():
        tasks = os.listdir("/proc/self/task")
        return sum(open(f"/proc/self/task/{task}/comm").read().startswith("unishape") for task in tasks)
    def workers():
        # A thread sets its name when it first runs, which may be after the call that started it.
        count = named()
        for _ in range(20):
            time.sleep(0.2)
            before, count = count, named()
            if before == count:
                break
        return count
    x = np.ones(5_000_000)
"""


@LINUX
def test_number_of_workers():
    script = COUNT_WORKERS + """
    unishape.set_num_threads(1)
    unishape.evaluate("x + 1")
    print(workers())
    unishape.set_num_threads(3)
    unishape.evaluate("x + 1")
    print(workers())
    """
    # The calling thread is one of three.
    assert run(script) == ["0", "2"]


@LINUX
def test_threads_argument_of_lazy_functions_with_out():
    script = COUNT_WORKERS + """
    unishape.add(unishape.lazy(x), 1, out=np.empty_like(x), threads=3)
    print(workers())
    """
    assert run(script, UNISHAPE_NUM_THREADS="1") == ["2"]


@LINUX
def test_compiled_models_follow_the_default():
    pytest.importorskip("onnx")
    script = COUNT_WORKERS + """
    import onnx.helper, unishape.onnx
    info = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, ["N"])
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    opset = onnx.helper.make_opsetid("", 21)
    graph = onnx.helper.make_graph([node], "negate", [info("x")], [info("y")])
    model = onnx.helper.make_model(graph, ir_version=10, opset_imports=[opset])
    if sys.argv[-1] == "node":
        program = unishape.onnx._onnx.OnnxCompiledModel.from_node(node.SerializeToString(), 21)
    else:
        program = unishape.onnx._load(model).compile(threads={"default": None, "two": 2}[sys.argv[-1]])
    unishape.set_num_threads(4)
    program.run({"x": x})
    print(workers())
    """
    for kind, workers in (("default", "3"), ("node", "3"), ("two", "1")):
        selected = f"import sys; sys.argv = [{kind!r}]\n" + textwrap.dedent(script)
        assert run(selected, UNISHAPE_NUM_THREADS="1") == [workers], kind


def test_environment_variable():
    script = """
        import unishape
        print(unishape.get_num_threads(), unishape.set_num_threads(2), unishape.set_num_threads(0))
    """
    assert run(script, UNISHAPE_NUM_THREADS="7") == ["7", "7", "2"]
    assert run(script, UNISHAPE_NUM_THREADS="7", RAYON_NUM_THREADS="5")[0] == "7"
    assert run(script, RAYON_NUM_THREADS="5")[0] == "5"
    assert run(script, UNISHAPE_NUM_THREADS="none") == run(script)


@LINUX
def test_affinity_mask():
    script = """
        import os, unishape
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        print(unishape.get_num_threads())
    """
    assert run(script) == ["1"]


@LINUX
@pytest.mark.parametrize("spin", ["0", "200000"])
def test_spinning_workers_compute_correctly(spin):
    script = COUNT_WORKERS + """
    unishape.set_num_threads(3)
    for _ in range(5):
        assert unishape.evaluate("x + 1").sum() == 2 * x.size
    print(workers())
    """
    assert run(script, UNISHAPE_SPIN=spin) == ["2"]
