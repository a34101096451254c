"""Files of user functions: Python that the user names, which is run once for the functions that it declares.

A file is a module by itself. It imports installed packages, not files beside it: Spark's workers would not find those.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from penstock.algebra.user_functions import UserFunction
from penstock.catalog import Catalog
from penstock.errors import PenstockError
from penstock.functions import collecting, user_function

#: Modules of files have names that no other module has, so that they hide none.
_PREFIX = "penstock_functions_file_"


def catalog_of_files(paths: Iterable[str]) -> Catalog:
    """A catalog with the functions that files declare, and nothing else."""
    catalog, homes = Catalog(), dict[tuple[str, int], str]()
    for number, path in enumerate(paths):
        for function in _functions(path, number):
            key = function.name.upper(), len(function.arguments)
            if key in homes:
                where = "twice" if homes[key] == path else f"in {homes[key]}, too"
                message = f"{path}: {function.signature} is declared {where}"
                raise PenstockError(message, "functions of one name differ in the number of their arguments")
            homes[key] = path
            catalog = catalog.calling(function)
    return catalog


def is_of_file(module: str) -> bool:
    """Whether a module is a file of functions, which no other process can import."""
    return module.startswith(_PREFIX)


def _functions(path: str, number: int) -> list[UserFunction]:
    module = ModuleType(f"{_PREFIX}{number}_{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    with collecting() as declared:
        _run(path, module)
    own = [user_function(each) for each in declared if getattr(each, "__module__", None) == module.__name__]
    if not own:
        message = f"{path}: it declares no function"
        raise PenstockError(message, "write @penstock.function(arguments=[...], returns=...) above each function")
    return own


def _run(path: str, module: ModuleType) -> None:
    try:
        code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        exec(code, vars(module))
    except OSError as error:
        if error.filename != path:
            raise _failed(path, error) from error
        raise PenstockError(f"{path}: {error.strerror}", "give the path of a file of Python functions") from error
    except SyntaxError as error:
        if error.filename != path:
            raise _failed(path, error) from error
        raise PenstockError(f"{path}:{error.lineno or 1}: {error.msg}", "put the file right") from error
    except PenstockError as error:
        raise PenstockError(f"{_place(path, error)}: {error.message}", error.hint) from error
    except (Exception, SystemExit) as error:
        raise _failed(path, error) from error


def _failed(path: str, error: BaseException) -> PenstockError:
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "the file is run by itself, and imports installed packages only" if isinstance(error, ImportError) else None
    return PenstockError(f"{_place(path, error)}: {said}", hint)


def _place(path: str, error: BaseException) -> str:
    """The line of the file at which an error arose."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f"{path}:{lines[0]}" if lines else path
