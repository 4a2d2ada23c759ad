"""Device times of expressions on a GPU, beside torch.compile and JAX, and the times of first and later calls.

`cargo xtask gpu` packs it. Arguments: parts of names of workloads; without, all. `--no-rivals` measures unishape only.
"""

import itertools
import os
import subprocess
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import torch

import unishape

# Name, expression, shapes of its arrays in the order of names, the same in PyTorch and JAX.
N = 24000
WORKLOADS = [
    ("same shape", "a + b", [(N, N), (N, N)], lambda a, b: a + b),
    ("row", "a + b", [(N, N), (N,)], lambda a, b: a + b),
    ("column", "a + b", [(N, N), (N, 1)], lambda a, b: a + b),
    ("outer product", "a * b", [(N, 1), (1, N)], lambda a, b: a * b),
    ("rows of 3", "a + b", [(150_000_000, 3), (3,)], lambda a, b: a + b),
    ("middle dimension", "a + b", [(512, 1, 1000), (1, 1100, 1000)], lambda a, b: a + b),
    ("rank 4", "a + b", [(160, 1, 120, 1), (140, 1, 200)], lambda a, b: a + b),
    ("a*b+c", "a * b + c", [(N, N), (N,), (N, 1)], lambda a, b, c: a * b + c),
    (
        "normalise",
        "(a - b) / c * d + e",
        [(400_000, 1024), (400_000, 1), (400_000, 1), (1024,), (1024,)],
        lambda a, b, c, d, e: (a - b) / c * d + e,
    ),
    ("transposed", "a + b.T", [(N, N), (N, N)], lambda a, b: a + b.T),
    (
        "distances",
        "sqrt((a-b)*(a-b)+(c-d)*(c-d))",
        [(N, 1), (1, N), (N, 1), (1, N)],
        lambda a, b, c, d: ((a - b) * (a - b) + (c - d) * (c - d)) ** 0.5,
    ),
    ("rank 8", "a + b", [(14, 1) * 4, (1, 14) * 4], lambda a, b: a + b),
    ("sum(a*b,0)", "sum(a * b, 0)", [(N, N), (N, N)], lambda a, b: (a * b).sum(0)),
    ("sum(a*b,1)", "sum(a * b, 1)", [(N, N), (N, N)], lambda a, b: (a * b).sum(1)),
    ("sum((a-b)^2)", "sum((a - b)**2)", [(N, N), (N, N)], lambda a, b: ((a - b) ** 2).sum()),
    ("max rows 1024", "max(a, 1)", [(400_000, 1024)], lambda a: a.amax(1) if hasattr(a, "amax") else a.max(1)),
    ("sum rows of 3", "sum(a * 1.5, 0)", [(150_000_000, 3)], lambda a: (a * 1.5).sum(0)),
    ("var channels", "var(a, (0, 2, 3))", [(64, 64, 320, 320)], None),
    ("softmax", "softmax(a, -1)", [(400_000, 1024)], None),
    ("layer norm", "layer_norm(a)", [(400_000, 1024)], None),
    (
        "n-body",
        "sum(c / sqrt(sum((a[:, None] - b) ** 2, -1) + 0.01), 1)",
        [(100_000, 3), (100_000, 3), (100_000,)],
        lambda a, b, c: (c / (((a[:, None] - b) ** 2).sum(-1) + 0.01) ** 0.5).sum(1),
    ),
    (
        "RBF",
        "sum(exp(-sum((a[:, None] - b) ** 2, -1)), 1)",
        [(100_000, 3), (100_000, 3)],
        None,
    ),
    (
        "nearest",
        "argmin(sum((a[:, None] - b) ** 2, -1), 1)",
        [(100_000, 3), (100_000, 3)],
        lambda a, b: ((a[:, None] - b) ** 2).sum(-1).argmin(1),
    ),
    (
        "pairwise",
        "sum((a[:, None] - b) ** 2, -1)",
        [(20_000, 64), (20_000, 64)],
        lambda a, b: ((a[:, None] - b) ** 2).sum(-1),
    ),
]
# Limited by arithmetic rather than by memory.
COMPUTED = ["n-body", "RBF", "nearest", "pairwise"]


def torch_function(name, function):
    return {
        "var channels": lambda a: a.var((0, 2, 3), unbiased=False),
        "softmax": lambda a: torch.softmax(a, -1),
        "layer norm": lambda a: torch.nn.functional.layer_norm(a, a.shape[-1:]),
        "RBF": lambda a, b: torch.exp(-((a[:, None] - b) ** 2).sum(-1)).sum(1),
    }.get(name, function)


def jax_function(name, function):
    import jax

    def layer_norm(a):
        mean = a.mean(-1, keepdims=True)
        return (a - mean) * jax.lax.rsqrt(a.var(-1, keepdims=True) + 1e-5)

    return jax.jit(
        {
            "var channels": lambda a: a.var((0, 2, 3)),
            "softmax": lambda a: jax.nn.softmax(a, -1),
            "layer norm": layer_norm,
            "RBF": lambda a, b: jax.numpy.exp(-((a[:, None] - b) ** 2).sum(-1)).sum(1),
        }.get(name, function)
    )


def device_time(run, rounds=10):
    """Median milliseconds of a run, by events."""
    for _ in range(3):
        run()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(rounds)]
    for start, end in events:
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return sorted(start.elapsed_time(end) for start, end in events)[rounds // 2]


def jax_time(run, rounds=10):
    """Milliseconds of a run, of several that are started at once. Results are dropped: their memory is used again."""
    for _ in range(3):
        result = run()
    result.block_until_ready()
    start = time.perf_counter()
    for _ in range(rounds):
        del result
        result = run()
    result.block_until_ready()
    return (time.perf_counter() - start) / rounds * 1e3


def difference(ours, theirs):
    """The largest difference of two results, relative to the largest element; of positions, the share that differs.

    NaN if a result has a NaN.
    """
    ours, theirs = ours.reshape(-1), theirs.reshape(-1)
    if not ours.is_floating_point():
        return float((ours != theirs).double().mean())
    largest = torch.zeros(2, dtype=torch.float64, device=ours.device)
    for a, b in zip(ours.split(1 << 28), theirs.split(1 << 28)):
        a, b = a.double(), b.double()
        largest = torch.maximum(largest, torch.stack([(a - b).abs().max(), b.abs().max()]))
    found, scale = largest.tolist()
    return found / (scale or 1.0)


def attempt(function):
    try:
        return function()
    except Exception as error:
        torch.cuda.empty_cache()
        return f"({type(error).__name__})"


def measure(name, text, shapes, function, copy, rivals):
    """Prints the line of a workload. Returns whether its result is that of PyTorch, where that was computed."""
    arrays = {letter: torch.rand(shape, device="cuda") + 0.5 for letter, shape in zip("abcde", shapes)}
    out = unishape.evaluate(text, arrays)
    ours = device_time(lambda: unishape.evaluate(text, arrays, out=out))
    fast = device_time(lambda: unishape.evaluate(text, arrays, out=out, fast_math=True)) if name in COMPUTED else None
    moved = 4 * sum(array.numel() for array in arrays.values()) + out.numel() * out.element_size()
    found = {}
    if rivals:
        torch._dynamo.reset()
        compiled = torch.compile(torch_function(name, function), dynamic=False)
        values = list(arrays.values())
        found["torch.compile"] = attempt(lambda: device_time(lambda: compiled(*values)))
        expected = attempt(lambda: compiled(*values))
        if isinstance(expected, torch.Tensor):
            found["difference"] = difference(out, expected)
        del expected
        torch.cuda.empty_cache()
        try:
            import jax

            inputs = [jax.dlpack.from_dlpack(value) for value in values]
            jitted = jax_function(name, function)
            found["JAX"] = attempt(lambda: jax_time(lambda: jitted(*inputs)))
            del inputs
        except ImportError:
            pass

    def percent(milliseconds):
        if not isinstance(milliseconds, float):
            return f"{milliseconds or '':>16}"
        share = "" if name in COMPUTED else f"{moved / milliseconds / 1e6 / copy * 100:5.1f} %"
        return f"{milliseconds:8.3f} {share:>7}"

    line = f"{name:17} {percent(ours)} | torch.compile {percent(found.get('torch.compile'))} | JAX {percent(found.get('JAX'))}"
    if fast is not None:
        line += f" | fast_math {fast:.3f}"
    is_right = True
    if found.get("difference") is not None:
        what = "difference" if out.is_floating_point() else "share that differs"
        is_right = found["difference"] < 1e-4
        line += f" | {what} {found['difference']:.1e}{'' if is_right else ' WRONG'}"
    print(line, flush=True)
    return is_right


FIRST = """
import time, torch, unishape
x, y = torch.rand(1000, 1000, device="cuda"), torch.rand(1000, device="cuda")
unishape.evaluate("x - y * 3", x=x, y=y)  # loads the driver and the compiler
torch.cuda.synchronize()
start = time.perf_counter()
unishape.evaluate("TEXT", {"x": x, "y": y})
torch.cuda.synchronize()
print((time.perf_counter() - start) * 1e3)
"""


def call_times():
    """First call, first call of another process, and overhead of later calls."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"XDG_CACHE_HOME": folder}
        for text in ["x * 2 + y", "exp(-x) * y / 3 + sqrt(y)", "softmax(x * y, -1)", "var(x, 0)", "argmin(x, 1)"]:
            times = []
            for _ in range(2):
                process = [sys.executable, "-c", FIRST.replace("TEXT", text)]
                times.append(float(subprocess.run(process, env=environment, capture_output=True, text=True, check=True).stdout))
            print(f"{text:28} first call {times[0]:6.1f} ms, from the disk cache {times[1]:5.2f} ms", flush=True)
    x, y = torch.rand(100, 100, device="cuda"), torch.rand(100, device="cuda")
    out = torch.empty_like(x)
    compiled = torch.compile(lambda x, y: x * 2 + y)
    names, number, numbers = {"x": x, "y": y}, np.float32(2), (k * 0.1 for k in itertools.count())
    for label, run in [
        ("evaluate with out=", lambda: unishape.evaluate("x * 2 + y", names, out=out)),
        ("evaluate", lambda: unishape.evaluate("x * 2 + y", names)),
        ("evaluate with a NumPy number", lambda: unishape.evaluate("x * k + y", x=x, y=y, k=number, out=out)),
        ("evaluate with new numbers", lambda: unishape.evaluate("x * k + y", x=x, y=y, k=next(numbers), out=out)),
        ("multiply", lambda: unishape.multiply(x, y)),
        ("lazy", lambda: (unishape.lazy(x) * 2 + y).compute()),
        ("torch.compile", lambda: compiled(x, y)),
        ("torch multiply", lambda: x * y),
    ]:
        def burst():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(300):
                run()
            return (time.perf_counter() - start) / 300 * 1e6

        attempt(burst)
        times = sorted(attempt(burst) for _ in range(9))
        print(f"overhead of {label:28} {times[4]:6.2f} µs (best {times[0]:.2f})", flush=True)


def main(arguments):
    rivals = "--no-rivals" not in arguments
    only = [argument for argument in arguments if not argument.startswith("--")]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    if not only:
        call_times()
    source = torch.empty(1 << 29, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * 4 * source.numel() / device_time(lambda: target.copy_(source)) / 1e6
    del source, target
    print(f"copy: {copy:.0f} GB/s; milliseconds, % of the copy's bandwidth")
    failed = []
    for name, text, shapes, function in WORKLOADS:
        if not only or any(part in name for part in only):
            found = attempt(lambda: measure(name, text, shapes, function, copy, rivals))
            if found is not True:
                failed.append(name)
            if isinstance(found, str):
                print(f"{name:17} {found}", flush=True)
            torch.cuda.empty_cache()
    if failed:
        sys.exit(f"wrong or not computed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
