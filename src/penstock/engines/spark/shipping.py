"""User functions on their way to Spark's workers: they are pickled with the plan that calls them.

A function of the program itself, or of a file of functions, is pickled with its code; one of another module by its
name, so workers have to have that module. What cannot be pickled is refused before the query starts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from pyspark import cloudpickle

from penstock.algebra.expressions import Expr, walk
from penstock.algebra.relations import (
    Aggregate,
    AntiJoin,
    Join,
    Project,
    Relation,
    Select,
    SemiJoin,
    walk_relations,
)
from penstock.algebra.user_functions import UserCall, UserFunction
from penstock.errors import PenstockError
from penstock.functions.files import is_of_file
from penstock.plan.fragments import Plan


def refuse_unpicklable(plan: Plan) -> None:
    """Refuses a plan that calls a function that no worker can get."""
    for function in called(plan):
        python = function.handle.function
        module: str = getattr(python, "__module__", None) or ""
        if is_of_file(module):
            cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]
        try:
            cloudpickle.dumps(python)  # type: ignore[no-untyped-call]
        except Exception as error:
            said = str(error).strip().partition("\n")[0] or type(error).__name__
            message = f"{function.name} cannot be sent to Spark's workers: {said}"
            hint = "open files, locks and connections inside the function, and leave Spark's own objects out of it"
            raise PenstockError(message, hint) from error


def called(plan: Plan) -> Iterator[UserFunction]:
    """The user functions that a plan calls, each once."""
    seen: list[UserFunction] = []
    for relation in walk_relations(plan.query.relation):
        for expr in _expressions(relation):
            for part in walk(expr):
                if isinstance(part, UserCall) and part.function not in seen:
                    seen.append(part.function)
                    yield part.function


def _expressions(relation: Relation) -> Iterator[Expr]:
    """The expressions of one node of a query."""
    match relation:
        case Select(predicates=exprs) | Join(on=exprs) | SemiJoin(on=exprs) | AntiJoin(on=exprs):
            yield from exprs
        case Project(outputs=outputs):
            yield from (output.expr for output in outputs)
        case Aggregate(keys=keys, aggregations=aggregations):
            yield from (key.expr for key in keys)
            yield from (each.argument for each in aggregations if each.argument is not None)
