"""The notebook of the examples runs, and shows what it was saved with; `PENSTOCK_GOLDEN=rewrite` saves it anew."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook.ipynb"


def test_the_notebook_shows_what_it_was_saved_with() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    names: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        shown = outputs(run("".join(cell["source"]), names), number)
        if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
            cell["outputs"], cell["execution_count"] = shown, number
        assert cell["outputs"] == shown, f"cell {number}"
    if os.environ.get("PENSTOCK_GOLDEN") == "rewrite":
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def run(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell, and returns the value of its last expression, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def outputs(value: Any, number: int) -> list[dict[str, Any]]:
    if value is None:
        return []
    # What is shown as HTML may be as long, or have as many digits of time, as it likes in plain text.
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    data = {"text/plain": (repr(value) if html is None else f"<{type(value).__name__}>").splitlines(keepends=True)}
    if html is not None:
        data["text/html"] = html.splitlines(keepends=True)
    return [{"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}]
