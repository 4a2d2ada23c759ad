"""The package threadpoolctl knows the worker threads."""

import numpy as np
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

import unishape


def test_info():
    (info,) = [each for each in threadpool_info() if each["user_api"] == "unishape"]
    assert info["num_threads"] == unishape.get_num_threads()
    assert info["version"] == unishape.__version__ and "_unishape" in info["filepath"]


def test_limits():
    previous = unishape.set_num_threads(4)
    try:
        for limits in (1, {"unishape": 1}):
            with threadpool_limits(limits):
                assert unishape.get_num_threads() == 1
                assert unishape.evaluate("x + 1", x=np.zeros(10)).sum() == 10
            assert unishape.get_num_threads() == 4
        with threadpool_limits(1, user_api="blas"):
            assert unishape.get_num_threads() == 4
        with ThreadpoolController().limit(limits=3, user_api="unishape"):
            assert unishape.get_num_threads() == 3
        assert unishape.get_num_threads() == 4
    finally:
        unishape.set_num_threads(previous)
