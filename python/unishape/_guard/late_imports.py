"""Calls functions when modules are imported while a guard is on."""

import importlib.abc
import importlib.machinery
import sys


class _Loader(importlib.abc.Loader):
    """Loads a module as another loader does, then calls a function."""

    def __init__(self, loader, after):
        self._loader, self._after = loader, after

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module keeps its own loader: others read files of a package through it.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._after(module)


class ImportHook(importlib.abc.MetaPathFinder):
    """Calls a function after each first import of some modules, while it is installed."""

    def __init__(self, names, after):
        self._names, self._after = frozenset(names), after

    def find_spec(self, name, path=None, target=None):
        if name not in self._names:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._after)
                return spec
        return None

    def install(self):
        """Starts to call the function."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self):
        """Stops to call the function."""
        while self in sys.meta_path:
            sys.meta_path.remove(self)
