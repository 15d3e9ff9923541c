"""What importing the package costs and shows."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import requires, version
from operator import attrgetter
from pathlib import Path

import rampmeter
from rampmeter import _core

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "python" / "rampmeter"


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_imports_no_client_no_event_loop_and_no_logging() -> None:
    loaded = python("import rampmeter, sys; print(*sys.modules)").split()
    assert not {"httpx", "httpx2", "asyncio", "logging", "threading", "typing"} & set(loaded)


def test_the_wheel_requires_nothing_at_run_time() -> None:
    assert all("extra ==" in requirement for requirement in requires("rampmeter") or [])


def test_the_version_is_that_of_the_native_module() -> None:
    assert rampmeter.__version__ == _core.__version__ == version("rampmeter")


def test_every_public_name_exists() -> None:
    for name in rampmeter.__all__:
        assert getattr(rampmeter, name) is not None


def test_the_types_are_those_of_the_core() -> None:
    generator = HERE.parent / "generate_types.py"
    check = subprocess.run([sys.executable, generator, "--check"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr


def stub_docs() -> Iterator[tuple[str, str]]:
    """What the stub documents: dotted name and text."""
    for node in ast.parse((SOURCES / "_core.pyi").read_text()).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            for inner in [node, *(node.body if isinstance(node, ast.ClassDef) else [])]:
                if isinstance(inner, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(inner):
                    yield node.name + (f".{inner.name}" if inner is not node else ""), ast.get_docstring(inner) or ""


def test_the_stub_documents_what_the_native_module_documents() -> None:
    # What is seen by type checkers alone has no counterpart.
    in_stub = {name: text for name, text in stub_docs() if name != "Config.__getattr__"}
    assert in_stub == {name: inspect.getdoc(attrgetter(name)(_core)) for name in in_stub}


def test_the_examples_in_the_documentation_hold() -> None:
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for public in (getattr(rampmeter, name) for name in rampmeter.__all__):
        if inspect.isclass(public) or inspect.isroutine(public):
            for example in finder.find(public, public.__name__, globs=vars(rampmeter).copy()):
                runner.run(example)
    # Native functions are not found by the finder.
    parser = doctest.DocTestParser()
    for name, text in stub_docs():
        runner.run(parser.get_doctest(text, {}, name, "_core.pyi", 0))
    assert runner.tries > 5
    assert runner.failures == 0


def test_every_error_of_the_core_has_a_class_of_that_name() -> None:
    for name in _core.names("error"):
        assert issubclass(getattr(rampmeter, name), Exception)


def test_importing_does_not_switch_the_interpreter_lock_on() -> None:
    # Only free-threaded interpreters have the question.
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        assert python("import sys, rampmeter; print(sys._is_gil_enabled())").strip() == "False"
