"""The API reference, from the signatures and docstrings of the public names.

Docstrings are Markdown. Their `>>>` examples become blocks that are run with the page; their fenced blocks of Python
are run with Spark.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

import penstock

#: What the page shows, in this order; of a class which members. Other names than those of `penstock` stand with their
#: modules: they are the types of what is returned.
PAGE: dict[str, dict[str, str]] = {
    "Is the state bounded?": {
        "check": "",
        "check_sql": "",
        "guard": "",
        "Verdict": "name safe message hint actions bound unbounded warnings explanation",
        "implies": "",
        "Implication": "",
    },
    "Sessions": {
        "Session": "sql stream table push function query ui spark time_zone",
        "spark_session": "",
        "function": "",
    },
    "Queries": {
        "Query": "name schema verdict explain run to_arrow open dataframe start metrics decisions controls set",
        "OpenQuery": "streams push changes finish close",
        "penstock.engines.spark.query.RunningQuery": "is_running await_done stop progress metrics",
        "Metrics": "",
        "latest_changes": "",
    },
    "How a query runs": {"Adaptive": "", "Forgetting": ""},
    "Texts": {"bind_text": "", "Script": "checked", "format_text": "", "plan_text": ""},
    "Errors and warnings": {
        "PenstockError": "",
        "SqlError": "line column",
        "SqlErrors": "",
        "UnsafeQuery": "",
        "UnsafeStream": "",
        "UnusedProof": "",
        "UnboundedState": "",
        "DoubtfulUnit": "",
    },
}

TITLE = """# API

What `import penstock` gives. [Python](python.md) is the guide to it; this page is made from the docstrings.
"""

WIDTH = 100


def api_page() -> str:
    parts = [TITLE]
    for section, names in PAGE.items():
        parts.append(f"## {section}\n")
        for name, members in names.items():
            parts += entry(name, members.split())
    return "\n".join(parts)


def named(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(import_module(module) if module else penstock, own)


def entry(name: str, members: list[str]) -> Iterator[str]:
    found, own = named(name), name.rpartition(".")[2]
    yield f"### {own}\n"
    shown = own if "." in name else f"penstock.{own}"
    if is_dataclass(found) and "." not in name and _is_made_by_users(found):
        yield _block(_signature(shown, found.__init__))
        yield markdown(found)
        yield from _fields(found)
    elif isinstance(found, type):
        makes = found.__init__ if own == "Session" else None
        bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
        yield _block(_signature(shown, makes) if makes else f"class {shown}({bases})".replace("()", ""))
        yield markdown(found)
    else:
        yield _block(_signature(shown, found))
        yield markdown(found)
    for member in members:
        yield from _member(own, found, member)


def _member(owner: str, of: type, name: str) -> Iterator[str]:
    found = inspect.getattr_static(of, name)
    yield f"#### {owner}.{name}\n"
    if callable(found):
        yield _block(_signature(f"{_instance(owner)}.{name}", found))
        yield markdown(found)
        return
    getter = found.func if hasattr(found, "func") else found.fget
    returns = inspect.signature(getter).return_annotation
    yield _block(f"{_instance(owner)}.{name}: {returns}")
    yield markdown(getter)


def _is_made_by_users(found: type) -> bool:
    return found.__name__ in ("Adaptive", "Forgetting")


def _instance(owner: str) -> str:
    """The name of a variable that holds one."""
    return {"OpenQuery": "opened", "RunningQuery": "running", "SqlError": "error"}.get(owner, owner.lower())


def _fields(found: Any) -> Iterator[str]:
    """The fields of a dataclass, with the comments that stand above them."""
    yield "| setting | default | meaning |\n| --- | --- | --- |"
    said = _field_comments(found)
    for each in fields(found):
        assert each.default is not MISSING
        yield f"| `{each.name}` | `{_shown(each.default)}` | {said[each.name]} |"
    yield ""


def _field_comments(found: type) -> dict[str, str]:
    text = textwrap.dedent(inspect.getsource(found))
    lines = text.splitlines()
    comments = {}
    (made,) = ast.parse(text).body
    assert isinstance(made, ast.ClassDef)
    for node in made.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            above = list[str]()
            for line in reversed(lines[: node.lineno - 1]):
                if not line.strip().startswith("#:"):
                    break
                above.insert(0, line.strip().removeprefix("#:").strip())
            comments[node.target.id] = " ".join(above)
    return comments


def _block(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _signature(name: str, found: Callable[..., Any]) -> str:
    """A call as it is declared: on one line, or with a parameter on each."""
    signature = inspect.signature(found)
    parts, is_named = list[str](), False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_named:
            is_named = True
            parts.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
        parts.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    returns = signature.return_annotation
    end = "" if returns in (None, "None", signature.empty) else f" -> {returns}"
    line = f"{name}({', '.join(parts)}){end}"
    return line if len(line) <= WIDTH else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _shown(default: object) -> str:
    if is_dataclass(default):
        return f"{type(default).__name__}()"
    return "..." if callable(default) else f'"{default}"' if isinstance(default, str) else repr(default)


def markdown(found: Any) -> str:
    """A docstring, with its examples as blocks: those with `>>>` run anywhere, the others on Spark."""
    text = inspect.getdoc(found)
    assert text, f"{found} has no docstring"
    parts = list[str]()
    for part in re.split(r"(^```python\n.*?^```$)", text, flags=re.DOTALL | re.MULTILINE):
        parts.append(f"<!-- on Spark -->\n{part}" if part.startswith("```") else _with_examples(part))
    return "".join(parts).rstrip() + "\n"


def _with_examples(text: str) -> str:
    paragraphs, example = list[str](), False
    for line in text.splitlines(keepends=True):
        if line.startswith(">>> ") and not example:
            example = True
            paragraphs.append("```python\n")
        if not line.strip() and example:
            example = False
            paragraphs.append("```\n")
        paragraphs.append(line)
    if example:
        paragraphs.append("" if paragraphs[-1].endswith("\n") else "\n")
        paragraphs.append("```\n")
    return "".join(paragraphs)
