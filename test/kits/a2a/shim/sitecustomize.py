"""Stands in for what the kit imports for gRPC, which this server does not speak: those tests are skipped before they use it."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from unittest.mock import MagicMock

ABSENT = ("grpc", "google", "specification.generated")


class Stand(ModuleType):
    """A module of which every name is a mock, but for classes that are inherited from or caught."""

    __path__: list = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (Exception,), {}) if name.endswith("Error") else MagicMock(name=name)
        setattr(self, name, value)
        return value


class Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname, path=None, target=None):
        if not any(fullname == name or fullname.startswith(name + ".") for name in ABSENT):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        return Stand(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
