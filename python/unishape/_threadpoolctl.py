"""Number of threads, for the package threadpoolctl."""

from __future__ import annotations

from threadpoolctl import LibController, register

from unishape import _unishape


class UnishapeController(LibController):
    """Reads and sets the number of worker threads."""

    user_api = "unishape"
    internal_api = "unishape"
    filename_prefixes = ("_unishape",)
    check_symbols = ("PyInit__unishape",)

    def get_num_threads(self) -> int:
        return _unishape.get_num_threads()

    def set_num_threads(self, num_threads: int) -> None:
        _unishape.set_num_threads(num_threads)

    def get_version(self) -> str:
        return _unishape.__version__


register(UnishapeController)
