"""Makes `import pyperf` the package `stillwell.pyperf_compat` for a Python with the folder above this one in its path."""
import importlib.util
import os
import sys


def _load_stillwell() -> None:
    """Loads the package around this file. Its folder is not added to the path: that may be another Python's folder of packages."""
    if "stillwell" in sys.modules:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    spec = importlib.util.spec_from_file_location("stillwell", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["stillwell"] = package
    spec.loader.exec_module(package)


_load_stillwell()
sys.modules[__name__] = importlib.import_module("stillwell.pyperf_compat")
