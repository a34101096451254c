"""Which attributes of a Spark plan take finitely many values, whatever arrives.

What comparisons, IN and equalities leave is counted as for our own queries (`closing/finite.py`). Spark's functions are
classed here by what they return: hours of a day, remainders, truth values, branches of a CASE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.algebra.expressions import columns
from penstock.closing.finite import Count, count, tightened
from penstock.engines.spark.lint.expressions import (
    FRESH,
    canonical,
    conjuncts_of,
    expression,
    struct_field,
)
from penstock.engines.spark.lint.trees import PlanNode, object_name, outputs, tree

#: The attributes, and other expressions, with finitely many values, by their canonical texts.
FiniteAttributes = Mapping[str, Count]

_SOME = Count(None)
_TRUTH = Count(3)

#: Functions of times that repeat, and others with few results.
_PERIODIC = {
    "Hour",
    "Minute",
    "Second",
    "DayOfWeek",
    "WeekDay",
    "DayOfMonth",
    "DayOfYear",
    "WeekOfYear",
    "Month",
    "Quarter",
    "MonthName",
    "DayName",
    "Signum",
    "SparkPartitionID",
    "WidthBucket",
}
_PREDICATES = {
    "And",
    "Or",
    "Not",
    "EqualTo",
    "EqualNullSafe",
    "LessThan",
    "LessThanOrEqual",
    "GreaterThan",
    "GreaterThanOrEqual",
    "In",
    "InSet",
    "IsNull",
    "IsNotNull",
    "IsNaN",
    "Like",
    "ILike",
    "RLike",
    "StartsWith",
    "EndsWith",
    "Contains",
    "ArrayContains",
    "ArrayExists",
    "Exists",
}
#: Letters of a date pattern that repeat within a year.
_REPEATING_LETTERS = set("EeaHhKkmsSMLqQdDu")


def finite_attributes(node: PlanNode, declared: frozenset[str] = frozenset()) -> FiniteAttributes:
    """Returns the attributes of a plan, and of those below it, with finitely many values in its rows.

    `declared` are names of columns of which the user knows it.
    """
    return _finite(node, declared)


def _finite(node: PlanNode, declared: frozenset[str]) -> dict[str, Count]:
    given = [each for each in outputs(node) if "exprId" in each.fields]
    if not node.is_streaming:
        return {_number(each): _SOME for each in given}
    known: dict[str, Count] = {}
    if node.kind == "Union":
        known = _united(node, declared)
    else:
        for child in node.children[:1] if _keeps_left(node) else node.children:
            known |= _finite(child, declared)
    match node.kind:
        case "Filter":
            known = _tightened(known, node)
        case "Join":
            known = _joined(known, node)
        case "Project" | "Aggregate":
            known |= _listed(given, known, declared)
        case "Expand":
            known |= _expanded(node, known, declared)
        case "Generate":
            if all(_number(each) in known for each in _generator(node).attributes):
                known |= {_number(each): _SOME for each in node.expressions("generatorOutput")}
    known |= {_number(each): _TRUTH for each in given if each.fields.get("dataType") == "boolean"}
    return {**{_number(each): _SOME for each in given if each.name.lower() in declared}, **known}


def _number(named: PlanNode) -> str:
    return str(named.identity)


def values(expr: PlanNode, known: FiniteAttributes, declared: frozenset[str] = frozenset()) -> Count | None:
    """Returns how many values an expression takes, None where they may be infinitely many."""
    if expr.kind == "Alias":
        return values(expr.children[0], known, declared)
    if (found := known.get(canonical(expr))) is not None:
        return found
    ours = expression(expr)
    if ours is not None:
        found = count(ours, {each: known[each.name] for each in columns(ours) if each.name in known})
        if found is not None:
            return found
    return _by_kind(expr, known, declared)


def _by_kind(expr: PlanNode, known: FiniteAttributes, declared: frozenset[str]) -> Count | None:
    children = expr.children
    match expr.kind:
        case "Literal":
            return Count(1)
        case "AttributeReference":
            return None
        case "GetStructField" if (taken := struct_field(expr)) is not None and taken["type"] == "boolean":
            return _TRUTH
        case kind if kind in _PERIODIC:
            return _SOME
        case kind if kind in _PREDICATES:
            return _TRUTH
        case "Remainder" | "Pmod" | "BitwiseAnd" if children[1].kind == "Literal" and _is_whole(expr):
            return _SOME
        case "CaseWhen":
            return _branches(children, known, declared)
        case "If":
            return _branches(children, known, declared)
        case "GetMapValue" | "GetArrayItem" | "ElementAt":
            return _all(children[:1], known, declared)  # one of the elements, whichever is asked for
        case "Coalesce":
            return _all(children, known, declared)
        case "DateFormatClass" if children[1].kind == "Literal":
            letters = {letter for letter in str(children[1].fields.get("value")) if letter.isalpha()}
            return _SOME if letters <= _REPEATING_LETTERS else None
        case "Floor" | "Ceil" | "Cast" if _is_salt(expr, known):
            return _SOME
    return _SOME if _is_function_of(expr, known, declared) else None


def _is_whole(expr: PlanNode) -> bool:
    return all("double" not in str(part.fields.get("dataType")) for part in expr.walk())


def _all(expressions: Iterable[PlanNode], known: FiniteAttributes, declared: frozenset[str]) -> Count | None:
    return _SOME if all(values(each, known, declared) is not None for each in expressions) else None


def _branches(children: tuple[PlanNode, ...], known: FiniteAttributes, declared: frozenset[str]) -> Count | None:
    """Counts what a CASE gives: each result where its condition holds, and the last one, of ELSE, where none does."""
    for condition, result in zip(children[::2], children[1::2], strict=False):
        if values(result, _where(known, [condition]), declared) is None:
            return None
    return _all(children[-1:] if len(children) % 2 else (), known, declared)


def _is_salt(expr: PlanNode, known: FiniteAttributes) -> bool:
    """Whether a random number from 0 to 1 is scaled and cut to a whole one."""
    is_whole = expr.fields.get("dataType", "long") in ("long", "integer", "short", "byte")
    scaled = {"Rand", "Literal", "Multiply", "Add", "Floor", "Ceil", "Cast"}
    return is_whole and all(part.kind in scaled or _random(part) in known for part in expr.walk())


def _random(attribute: PlanNode) -> str:
    """Returns the text by which an attribute with a random number is known: Spark draws it in a step of its own."""
    return f"Rand {canonical(attribute)}"


def _is_function_of(expr: PlanNode, known: FiniteAttributes, declared: frozenset[str]) -> bool:
    """Whether an expression computes its values from finitely many, and always the same."""
    taken = struct_field(expr)
    if taken is not None and taken["name"].lower() in declared:
        return True
    if expr.kind in FRESH or expr.kind == "AggregateExpression" or expr.fields.get("udfDeterministic") is False:
        return False
    return bool(expr.children) and _all(expr.children, known, declared) is not None


def _keeps_left(node: PlanNode) -> bool:
    return node.kind == "Join" and object_name(node.fields["joinType"]) == "LeftAnti"


def _tightened(known: Mapping[str, Count], node: PlanNode) -> dict[str, Count]:
    """Returns what is finite in rows that satisfy the condition of a filter or join."""
    return _where(known, node.expressions("condition"))


def _where(known: Mapping[str, Count], given: Iterable[PlanNode]) -> dict[str, Count]:
    """Returns what is finite where conditions hold."""
    conjuncts = [part for condition in given for part in conjuncts_of(condition)]
    conditions = [found for part in conjuncts if (found := expression(part)) is not None]
    read = {each for condition in conditions for each in columns(condition)}
    after = tightened({each: known[each.name] for each in read if each.name in known}, conditions)
    listed = {canonical(part.children[0]): _SOME for part in conjuncts if part.kind == "InSet"}
    return {**listed, **known, **{each.name: number for each, number in after.items()}}


def _joined(known: dict[str, Count], node: PlanNode) -> dict[str, Count]:
    """Returns what is finite in the rows of a join: its condition holds only where rows of both sides meet."""
    kind = object_name(node.fields["joinType"])
    if kind in ("FullOuter", "LeftAnti"):
        return known
    preserved = {"LeftOuter": node.children[:1], "RightOuter": node.children[1:]}.get(kind, ())
    outer = {_number(each) for side in preserved for each in outputs(side) if "exprId" in each.fields}
    return known | {name: of for name, of in _tightened(known, node).items() if name.isdecimal() and name not in outer}


def _listed(entries: Iterable[PlanNode], known: FiniteAttributes, declared: frozenset[str]) -> dict[str, Count]:
    aliases = [entry for entry in entries if entry.kind == "Alias"]
    drawn = {f"Rand {_number(entry)}": _SOME for entry in aliases if entry.children[0].kind == "Rand"}
    found = {_number(entry): values(entry, known, declared) for entry in aliases}
    return drawn | _fields(aliases, known) | {number: of for number, of in found.items() if of is not None}


def _fields(aliases: Iterable[PlanNode], known: FiniteAttributes) -> dict[str, Count]:
    """Returns the fields of structs, such as of a parsed JSON text, that are finite under the names of these."""
    texts = {f"{canonical(entry.children[0])}.": _number(entry) for entry in aliases if entry.children[0].children}
    return {
        f"{number}.{name[len(text) :]}": of
        for text, number in texts.items()
        for name, of in known.items()
        if name.startswith(text)
    }


def _expanded(node: PlanNode, known: FiniteAttributes, declared: frozenset[str]) -> dict[str, Count]:
    rows = [[tree(each) for each in row] for row in node.fields["projections"]]
    return {
        _number(out): _SOME
        for out, *each in zip(node.expressions("output"), *rows, strict=True)
        if _all(each, known, declared) is not None
    }


def _united(node: PlanNode, declared: frozenset[str]) -> dict[str, Count]:
    sides = [_finite(child, declared) for child in node.children]
    rows = zip(*(outputs(child) for child in node.children), strict=True)
    return {
        _number(row[0]): _SOME
        for row in rows
        if all(_number(each) in side for each, side in zip(row, sides, strict=True))
    }


def _generator(node: PlanNode) -> PlanNode:
    (found,) = node.expressions("generator")
    return found
