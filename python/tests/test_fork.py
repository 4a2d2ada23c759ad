"""Forked children compute after large work in the parent, within a time limit."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Time limit of a forked child, in seconds. A child that waits for its parent's workers would never end.
LIMIT = 5

PRELUDE = f"""
import os, signal, sys, threading, time
import numpy as np, unishape
# Before any fork: NumPy imports it lazily, and an import lock that another thread holds stays locked in the child.
import numpy.testing

LIMIT = {LIMIT}
""" + """
x = np.arange(3_000_000.0)
expected = x * 2 + 1

def in_child(function):
    \"\"\"Calls a function in a forked child; kills the child and fails after LIMIT seconds.\"\"\"
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, status
            return
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError(f"the child did not end within {LIMIT} s")

def evaluate():
    np.testing.assert_array_equal(unishape.evaluate("x * 2 + 1"), expected)

def evaluate_into_out():
    out = np.empty_like(x)
    np.testing.assert_array_equal(unishape.evaluate("x * 2 + 1", out=out), expected)

def lazy_compute():
    np.testing.assert_array_equal((unishape.lazy(x) * 2 + 1).compute(), expected)

early = unishape.lazy(x) * 2 + 1

def lazy_from_parent():
    np.testing.assert_array_equal(early.compute(), expected)

def sum_to():
    assert unishape.sum_to(x, (1,)).tolist() == [x.sum()]

def reduction():
    # All sums are integers below 2**53: exact in any order.
    assert unishape.evaluate("sum(x * 2 + 1)") == 3_000_000.0**2
    assert unishape.evaluate("max(x)") == x[-1]

def expressions():
    total, other = unishape.evaluate(["sum(x)", "x * 2 + 1"], x=x)
    assert total == x.sum()
    np.testing.assert_array_equal(other, expected)

def two_threads():
    np.testing.assert_array_equal(unishape.add(x, x, threads=2), x + x)

def set_num_threads():
    unishape.set_num_threads(3)
    evaluate()

FUNCTIONS = [evaluate, evaluate_into_out, lazy_compute, lazy_from_parent, sum_to, reduction, expressions, two_threads]
FUNCTIONS.append(set_num_threads)
"""


def run(script, timeout=100, **environment):
    """Runs a script in a new process group, which is killed after the timeout; returns the words that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | environment,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"no result within {timeout} s\n{out}{err}")
    assert process.returncode == 0, out + err
    return out.split()


NAMES = (
    "evaluate evaluate_into_out lazy_compute lazy_from_parent sum_to reduction expressions two_threads set_num_threads"
).split()


def test_all_functions_are_tested():
    assert run("print(*(function.__name__ for function in FUNCTIONS))") == NAMES


@pytest.mark.parametrize("threads", ["2", "4"])
@pytest.mark.parametrize("name", NAMES)
def test_fork_after_work_in_the_parent(name, threads):
    script = f"""
        for function in FUNCTIONS:
            function()
        in_child({name})
        {name}()
    """
    run(script, UNISHAPE_NUM_THREADS=threads)


def test_fork_before_work_in_the_parent():
    script = """
        for function in FUNCTIONS:
            in_child(function)
        for function in FUNCTIONS:
            function()
    """
    run(script, UNISHAPE_NUM_THREADS="2")


def test_fork_in_a_forked_child():
    script = """
        evaluate()
        def child():
            in_child(evaluate)
            evaluate()
        in_child(child)
        evaluate()
    """
    run(script, UNISHAPE_NUM_THREADS="2")


def test_fork_while_workers_spin():
    run("evaluate(); in_child(evaluate); evaluate()", UNISHAPE_NUM_THREADS="2", UNISHAPE_SPIN="100000")


def test_fork_while_another_thread_computes():
    script = """
        stop = threading.Event()
        def work():
            while not stop.is_set():
                evaluate()
        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(10):
                for function in (evaluate, lazy_from_parent, sum_to, two_threads):
                    in_child(function)
        finally:
            stop.set()
            thread.join()
    """
    run(script, timeout=200, UNISHAPE_NUM_THREADS="2")


def test_fork_after_an_onnx_model_in_the_parent():
    pytest.importorskip("onnx")
    script = """
        import onnx.parser, unishape.onnx
        model = onnx.parser.parse_model(
            '<ir_version: 10, opset_import: ["" : 21]>'
            "sums (float[N, M] x) => (float[N, M] y, float[1, 1] z)"
            "{ y = Add(x, x) z = ReduceSum <keepdims = 1> (x) }"
        )
        table = np.ones((1000, 3000), "float32")

        def compute(program):
            outputs = program(x=table)
            assert (outputs["y"] == 2).all() and (outputs["z"] == table.size).all()

        program = unishape.onnx.load(model)
        compute(program)
        in_child(lambda: compute(program))
        in_child(lambda: compute(unishape.onnx.load(model)))
        compute(program)
    """
    run(script, UNISHAPE_NUM_THREADS="2")


def test_fork_while_another_thread_runs_an_onnx_model():
    pytest.importorskip("onnx")
    # Of many outputs, so that a fork often meets the thread that looks for memory to reuse.
    script = """
        import onnx.helper, unishape.onnx
        names = [f"y{number}" for number in range(1000)]
        info = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N"])
        nodes = [onnx.helper.make_node("Neg", ["x"], [name]) for name in names]
        graph = onnx.helper.make_graph(nodes, "many", [info("x")], [info(name) for name in names])
        opset = [onnx.helper.make_opsetid("", 21)]
        program = unishape.onnx.load(onnx.helper.make_model(graph, ir_version=10, opset_imports=opset))
        one = np.ones(1, "float32")

        def negate():
            assert all(y == -1 for y in program(x=one).values())

        stop = threading.Event()
        def work():
            while not stop.is_set():
                negate()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(100):
                in_child(negate)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    """
    run(script, timeout=200, UNISHAPE_NUM_THREADS="2")


@pytest.mark.parametrize("name", NAMES)
def test_multiprocessing(name):
    script = f"""
        import multiprocessing
        for function in FUNCTIONS:
            function()
        context = multiprocessing.get_context("fork")
        processes = [context.Process(target={name}) for _ in range(2)]
        for process in processes:
            process.start()
        end = time.monotonic() + LIMIT
        for process in processes:
            process.join(max(0, end - time.monotonic()))
        codes = [process.exitcode for process in processes]
        for process in processes:
            if process.exitcode is None:
                process.kill()
        assert codes == [0, 0], codes
    """
    run(script, UNISHAPE_NUM_THREADS="2")


def test_multiprocessing_pool():
    script = """
        import multiprocessing
        def work(number):
            return float(unishape.evaluate("x + number", threads=2)[-1])
        assert work(1) == 3_000_000
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(*pool.map_async(work, range(4)).get(timeout=LIMIT))
    """
    assert run(script) == ["2999999.0", "3000000.0", "3000001.0", "3000002.0"]


def test_hanging_children_are_reported():
    start = time.monotonic()
    script = """
        try:
            in_child(lambda: time.sleep(60))
        except AssertionError as error:
            print(error)
    """
    assert " ".join(run(script)) == f"the child did not end within {LIMIT} s"
    assert time.monotonic() - start < 60
