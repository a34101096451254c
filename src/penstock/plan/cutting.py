"""Cutting: a physical plan becomes fragments where rows that have to meet are in other cells.

Pieces grow from the leaves up. A piece that is partitioned as the operator above wants it goes on; any other ends as a
fragment, and what is above receives its rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.algebra.bucket_counts import WIDE, BucketCounts, CertifiedGroups, FallBack, FallenBack
from penstock.algebra.expressions import Column, Comparator, Compare, Expr, substitute
from penstock.algebra.link_monitor import LinkMonitor
from penstock.algebra.physical import Keep, Received, Scan
from penstock.algebra.pipelined_filters import MembershipFilter, PipelinedFilters
from penstock.algebra.relations import (
    Aggregate,
    Distinct,
    PartitionRows,
    Project,
    Relation,
    Repeat,
    Select,
    SetOp,
    Shared,
    Table,
)
from penstock.catalog import Catalog
from penstock.closing.group_closers import GroupEnding
from penstock.closing.groups import keys_of_join
from penstock.closing.join_variables import is_monotone, is_table, join_variables
from penstock.closing.physical_join import JoinKind, PhysicalJoin, join_below
from penstock.plan.fragments import Dimension, Fragment, Leaf, Route, Switch, leaves_of
from penstock.plan.keys import decided
from penstock.plan.panes import Panes
from penstock.plan.shares import choose_shares


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the rows of a piece are partitioned by, where all of that can be read off them."""

    #: The relation whose rows were partitioned, and under which of its names the piece has its columns.
    relation: Relation
    names: Mapping[Column, Column]
    #: Of each expression that its rows are partitioned by, the columns that hold the same value.
    by: tuple[frozenset[Column], ...]

    def decided_by(self, given: Iterable[Expr], catalog: Catalog) -> bool:
        """Whether rows that agree on all of these agree on what they are partitioned by."""
        own = frozenset(self.names[expr] for expr in given if isinstance(expr, Column) and expr in self.names)
        known = decided(self.relation, own, catalog)
        return bool(self.by) and all(same & known for same in self.by)

    def renamed(self, names: Iterable[tuple[Column, Expr]]) -> _Seen:
        """The same under other names: of each new one the expression that it stands for."""
        kept = {new: self.names[old] for new, old in names if isinstance(old, Column) and old in self.names}
        return replace(self, names=kept)


def _seen(relation: Relation, by: Iterable[frozenset[Column]]) -> _Seen:
    return _Seen(relation, {column: column for column in relation.schema}, tuple(by))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a plan that is not yet a fragment. Without shares its one leaf may still be partitioned at will."""

    relation: Relation
    routes: tuple[Route, ...] = ()
    shares: tuple[int, ...] | None = None
    seen: _Seen | None = None

    def under(self, relation: Relation) -> _Piece:
        """The piece with an operator on top that works on each row by itself."""
        seen = self.seen
        if seen is not None and isinstance(relation, Project):
            seen = seen.renamed((output.column, output.expr) for output in relation.outputs)
        return replace(self, relation=relation.with_inputs((self.relation,)), seen=seen)


def _columns(exprs: Iterable[Expr | None]) -> tuple[frozenset[Column], ...]:
    return tuple(frozenset((expr,)) if isinstance(expr, Column) else frozenset() for expr in exprs)


class Cutter:
    def __init__(self, cells: int, catalog: Catalog) -> None:
        self.cells = cells
        self.catalog = catalog
        self.fragments: list[Fragment] = []
        #: The fragments of relations that several others read.
        self._numbers: list[tuple[Relation, int]] = []
        #: Joins whose word groups above lean on: they run in one cell with these keys of theirs, which alone part rows.
        self._keys_above: dict[PhysicalJoin, frozenset[Expr]] = {}
        #: What gates the streams of an exact count that runs only if counters give way to it.
        self._switch: tuple[Received, FallBack] | None = None

    def piece(self, relation: Relation) -> _Piece:
        match relation:
            case Scan(spec=PartitionRows(by=by)):
                return _Piece(relation, (Route(relation, (by,)),), (self.cells,), _seen(relation, _columns(by)))
            case Scan() | Table():
                return _Piece(relation)
            case Shared():
                return _Piece(self._shared(relation))
            case Select() | Project() | Keep() | Repeat() | Panes():
                return self.piece(relation.inputs[0]).under(relation)
            case PhysicalJoin(JoinKind.JOIN):
                return self._join(relation)
            case PhysicalJoin(_, (left, right), on):
                return self._semi_join(relation, _equal_columns(on, left, right))
            case PipelinedFilters():
                return self._filters(relation)
            case Aggregate(PhysicalJoin(has_totals=True) as join, keys):
                placed = self._with_totals(join, [key.expr for key in keys if isinstance(key.expr, Column)])
                seen = placed.seen and placed.seen.renamed((key.column, key.expr) for key in keys)
                return _Piece(relation.with_inputs((placed.relation,)), placed.routes, placed.shares, seen)
            case Aggregate(keys=keys):
                placed = self.partitioned(self.piece(relation.input), tuple(key.expr for key in keys))
                seen = placed.seen and placed.seen.renamed((key.column, key.expr) for key in keys)
                return _Piece(relation.with_inputs((placed.relation,)), placed.routes, placed.shares, seen)
            case GroupEnding():
                return self._ending(relation)
            case BucketCounts():
                return self._bucket_counts(relation)
            case CertifiedGroups():
                return self._certified_groups(relation)
            case FallBack():
                return self._fall_back(relation)
            case LinkMonitor():
                return self._link_monitor(relation)
            case Distinct():
                placed = self.partitioned(self.piece(relation.input), relation.schema)
                return _Piece(Distinct(placed.relation), placed.routes, placed.shares, placed.seen)
            case SetOp():
                sides = [self._place(self.piece(side), side.schema) for side in relation.inputs]
                routes = tuple(route for side in sides for route in side.routes)
                inputs = tuple(side.relation for side in sides)
                seen = _seen(relation, _columns(relation.schema))
                return _Piece(relation.with_inputs(inputs), routes, sides[0].shares, seen)
        raise AssertionError(f"cannot cut {relation}")

    def _shared(self, relation: Shared) -> Relation:
        """What the fragment of a relation sends to one of its readers, who may partition it at will."""
        known = next((number for below, number in self._numbers if below is relation.input), None)
        if known is None:
            known = next((number for below, number in self._numbers if below == relation.input), None)
        if known is None:
            known = self.finish(self.piece(relation.input))
            self._numbers.append((relation.input, known))
        held = relation.input.schema
        columns = {output.expr: output.column for output in relation.outputs}
        sent = Received(known, tuple(columns.get(column, column) for column in held), is_monotone(relation.input))
        return sent if sent.schema == relation.schema else Keep(sent, relation.schema)

    def _link_monitor(self, relation: LinkMonitor) -> _Piece:
        """Rows that match meet in one cell: a sample in a single one, as more would have next to nothing to do.

        A fragment of its own reads no more of a stream than the sample.
        """
        by = relation.matched if relation.one_in == 1 else 0
        sides = [self._place(self.piece(side), side.schema[:by]) for side in relation.inputs]
        routes = tuple(route for side in sides for route in side.routes)
        return _Piece(relation.with_inputs(tuple(side.relation for side in sides)), routes, sides[0].shares)

    def _bucket_counts(self, relation: BucketCounts) -> _Piece:
        """Counters are partitioned by the keys beside the bucket; without such keys one cell has them all.

        Monitors have fragments of their own, also in one cell: they read columns of a sample that counters do not.
        """
        keys = relation.further_keys
        width = len(keys)
        streams = len(relation.counted) + 1
        sides = [self._place(self.piece(side), side.schema[:width]) for side in relation.inputs[:streams]]
        shares = sides[0].shares
        assert shares is not None
        for monitor in relation.monitors:
            sides.append(self.received(self.piece(monitor), (monitor.schema[:width] or None,), shares))
        routes = tuple(route for side in sides for route in side.routes)
        whole = relation.with_inputs(tuple(side.relation for side in sides))
        return _Piece(whole, routes, shares, _seen(whole, _columns(keys)))

    def _certified_groups(self, relation: CertifiedGroups) -> _Piece:
        """Groups and the counters that speak of them meet by their keys; both have fragments of their own."""
        shares = (self.cells,) if relation.keys else (1,)
        sides = [
            self.received(self.piece(side), (side.schema[: relation.keys] or None,), shares) for side in relation.inputs
        ]
        whole = relation.with_inputs(tuple(side.relation for side in sides))
        routes = tuple(route for side in sides for route in side.routes)
        return _Piece(whole, routes, shares, _seen(whole, _columns(whole.schema[: relation.keys])))

    def _fall_back(self, relation: FallBack) -> _Piece:
        """Counters have fragments of their own; what they say goes to all that read streams for the exact count."""
        counting = self.finish(self.piece(relation.counts))
        counts = Received(counting, relation.counts.schema)
        wide = next(column for column in counts.schema if column.name == WIDE)
        sent = Received(counting, counts.schema)
        said = Keep(Select(sent, (wide,)), (wide,))
        switch = self.finish(_Piece(said, (Route(sent, (None,)),), (1,)))
        self._switch = Received(switch, said.schema, is_monotone=True), relation
        exact = relation.exact
        placed = self._placed(self.partitioned(self.piece(exact), exact.schema[:-1]))
        if len(placed.shares or ()) != 1:
            placed = self.received(placed, (exact.schema[:-1],), (self.cells,))
        assert placed.shares is not None
        keys = None if placed.shares == (1,) else counts.schema[: len(exact.schema) - 1]
        everywhere = Received(switch, said.schema, is_monotone=True)
        whole = FallenBack(relation, counts, placed.relation, everywhere)
        routes = (*placed.routes, Route(counts, (keys,)), Route(everywhere, (None,)))
        return _Piece(whole, routes, placed.shares)

    def _ending(self, relation: GroupEnding) -> _Piece:
        """Punctuations go where the groups are that they close; to all cells, where they say too little for that."""
        join = join_below(relation.input)
        if join is not None and relation.leans_on_join:
            self._keys_above[join] = frozenset(keys_of_join(relation.input))
        groups = self.piece(relation.input)
        routes = list(groups.routes)
        for ending in (relation, *(values.groups for values in relation.values)):
            for number, scan in enumerate(ending.evidence):
                along = ending.closers.along(number, range(len(ending.keys)))
                held = {key: column for key, column in zip(ending.keys, along, strict=True) if column is not None}
                routes.append(Route(scan, _of_groups(groups, held)))
        whole = relation.with_inputs((groups.relation, *relation.inputs[1:]))
        return replace(groups, relation=whole, routes=tuple(routes))

    def received(self, piece: _Piece, dimensions: tuple[Dimension, ...], shares: tuple[int, ...]) -> _Piece:
        """The piece as a fragment of its own, and its rows received in another."""
        leaf = Received(self.finish(piece), piece.relation.schema, is_monotone(piece.relation))
        seen = _columns(expr for dimension in dimensions for expr in dimension or ())
        return _Piece(leaf, (Route(leaf, dimensions),), shares, _seen(leaf, seen))

    def partitioned(self, piece: _Piece, by: tuple[Expr, ...]) -> _Piece:
        """A piece in which rows that agree on all of these are in one cell."""
        return piece if self._keeps_together(piece, by) else self._place(piece, by)

    def _keeps_together(self, piece: _Piece, by: tuple[Expr, ...]) -> bool:
        """Whether rows that agree on all of these are in one cell already."""
        if piece.shares in ((), (1,)):
            return True
        return piece.seen is not None and piece.seen.decided_by(by, self.catalog)

    def finish(self, piece: _Piece) -> int:
        """Makes a piece a fragment and gives its number."""
        piece = self._placed(piece)
        assert piece.shares is not None
        fragment = Fragment(len(self.fragments), piece.relation, piece.routes, piece.shares)
        self.fragments.append(fragment if self._switch is None else _switched(fragment, *self._switch))
        return len(self.fragments) - 1

    def _placed(self, piece: _Piece) -> _Piece:
        """A piece that nothing partitions with its rows anywhere, by all that they hold; others as they are."""
        if piece.shares is not None:
            return piece
        (leaf,) = leaves_of(piece.relation)
        return replace(piece, routes=(Route(leaf, (_raw_schema(leaf),)),), shares=(self.cells,))

    def _place(self, piece: _Piece, by: tuple[Expr, ...]) -> _Piece:
        """A piece whose rows are partitioned by these expressions; all in one cell where there are none."""
        shares: tuple[int, ...] = (self.cells,) if by else (1,)
        dimension: Dimension = by or None
        if self._is_all_here(piece, shares):
            return piece
        if piece.shares is None:
            (leaf,) = leaves_of(piece.relation)
            own = None if dimension is None else tuple(_at_leaf(expr, piece.relation) for expr in dimension)
            return _Piece(piece.relation, (Route(leaf, (own,)),), shares, _seen(piece.relation, _columns(by)))
        return self.received(piece, (dimension,), shares)

    def _is_all_here(self, piece: _Piece, shares: tuple[int, ...]) -> bool:
        """Whether there is one cell, in which all rows of a piece are already."""
        return self.cells == 1 and piece.shares == shares == (1,)

    def _grid(self, pieces: list[_Piece], dimensions: list[list[Expr | None]], shares: tuple[int, ...]) -> list[_Piece]:
        """Pieces that meet on one grid; `dimensions[i][d]` is what piece i has along dimension d."""
        placed = []
        for piece, own in zip(pieces, dimensions, strict=True):
            route: tuple[Dimension, ...] = tuple(None if expr is None else (expr,) for expr in own)
            if self._is_all_here(piece, shares):
                placed.append(piece)
            elif piece.shares is None:
                (leaf,) = leaves_of(piece.relation)
                here = tuple(None if d is None else (_at_leaf(d[0], piece.relation),) for d in route)
                placed.append(_Piece(piece.relation, (Route(leaf, here),), shares))
            else:
                placed.append(self.received(piece, route, shares))
        return placed

    def _with_totals(self, join: PhysicalJoin, keys: list[Column]) -> _Piece:
        """A join whose partial aggregates are added up where they come out: only keys of groups may part its rows."""
        if join.kind is JoinKind.JOIN:
            variables = join_variables(join)
            by = [next((v for v in variables if key in v), _alone(key, join)) for key in keys]
            return self._join(join, list(dict.fromkeys(by)))
        pairs = [pair for pair in _equal_columns(join.on, *join.operands) if pair[0] in keys]
        alone: list[tuple[Column, Column | None]] = [(key, None) for key in keys]
        return self._semi_join(join, [*pairs, *alone])

    def _join(self, relation: PhysicalJoin, variables: list[tuple[Column | None, ...]] | None = None) -> _Piece:
        """A join on a grid of its variables, or of others that each say where a row goes."""
        variables = join_variables(relation) if variables is None else variables
        pieces = [self.piece(operand) for operand in relation.operands]
        above = self._keys_above.get(relation)
        parting = [n for n, held in enumerate(variables) if above is None or not above.isdisjoint(held)]
        along = [variables[n] for n in parting]
        found = choose_shares([[column is not None for column in own] for own in zip(*along, strict=True)], self.cells)
        of_parting = dict(zip(parting, found, strict=True))
        shares = tuple(of_parting.get(n, 1) for n in range(len(variables)))
        chosen = [(v, s) for v, s in zip(variables, shares, strict=True) if s > 1]
        grid = tuple(s for _, s in chosen) or (1,)
        own: list[list[Expr | None]] = [[*(v[i] for v, _ in chosen)] or [None] for i in range(len(pieces))]
        relation = _forgetting_here(relation, pieces)
        pieces += [_Piece(scan) for scan in relation.evidence]
        own += _evidence_along(relation, [v for v, s in enumerate(shares) if s > 1])
        placed = self._grid(pieces, own, grid)
        routes = tuple(route for piece in placed for route in piece.routes)
        seen = _seen(relation, (frozenset(column for column in v if column is not None) for v, _ in chosen))
        return _Piece(relation.with_inputs(tuple(piece.relation for piece in placed)), routes, grid, seen)

    def _semi_join(self, relation: PhysicalJoin, pairs: Sequence[tuple[Column, Column | None]]) -> _Piece:
        # A left row must be in one cell only, and right rows that match it in the same, or in all.
        own: list[list[Expr | None]] = [[pairs[0][0]], [pairs[0][1]]] if pairs else [[None], [None]]
        pieces = [self.piece(operand) for operand in relation.operands]
        variables = [v for v, same in enumerate(join_variables(relation)) if pairs and pairs[0][0] in same]
        pieces += [_Piece(scan) for scan in relation.evidence]
        own += _evidence_along(relation, variables)
        placed = self._grid(pieces, own, (self.cells,) if pairs else (1,))
        routes = tuple(route for piece in placed for route in piece.routes)
        inputs = tuple(piece.relation for piece in placed)
        return _Piece(relation.with_inputs(inputs), routes, placed[0].shares, _seen(relation, _columns(own[0])))

    def _filters(self, relation: PipelinedFilters) -> _Piece:
        """Filters that compare one column share a fragment, which is partitioned by it; others get one after another.

        Sides without that column, of which any row is a match, are copied to all cells.
        """
        piece = self.piece(relation.left)
        # Without a window each change is judged. That is so, too, where a fragment before has applied it, unless sides
        # may have changed in the meantime.
        later = None if all(map(is_table, relation.sides)) else relation.window
        for number, (column, filters) in enumerate(_by_column(relation.filters)):
            part = relation.only(filters)
            part = part if number == 0 else replace(part, window=later)
            own: list[list[Expr | None]] = [[column]]
            for side, below in enumerate(part.sides):
                asking = next(each for each in part.filters if each.side == side)
                own.append([below.schema[asking.columns.index(column)] if column in asking.columns else None])
            pieces = [piece, *(self.piece(side) for side in part.sides)]
            placed = self._grid(pieces, own, (1,) if column is None else (self.cells,))
            routes = tuple(route for each in placed for route in each.routes)
            part = part.with_inputs(tuple(each.relation for each in placed))
            piece = _Piece(part, routes, placed[0].shares, _seen(part, _columns(own[0])))
        return piece


def _switched(fragment: Fragment, gate: Received, node: FallBack) -> Fragment:
    """The fragment with the streams of its joins gated. Evidence is not: what it says holds for later rows, too."""
    scans = [id(scan) for scan in _operand_scans(fragment.root)]
    gated = tuple(number for number, route in enumerate(fragment.routes) if id(route.leaf) in scans)
    if not gated:
        return fragment
    routes = (*fragment.routes, Route(gate, (None,) * len(fragment.shares)))
    return replace(fragment, routes=routes, switch=Switch(len(fragment.routes), gated, node))


def _operand_scans(relation: Relation) -> Iterator[Scan]:
    if isinstance(relation, Scan):
        yield relation
    below = relation.operands if isinstance(relation, PhysicalJoin) else relation.inputs
    for each in below[:1] if isinstance(relation, GroupEnding) else below:
        yield from _operand_scans(each)


def _by_column(filters: Sequence[MembershipFilter]) -> list[tuple[Column | None, tuple[MembershipFilter, ...]]]:
    """The filters by a column that all of a group compare: the one that most have first.

    Those that compare none are in the first group.
    """
    groups: list[tuple[Column | None, tuple[MembershipFilter, ...]]] = []
    left = [each for each in filters if each.columns]
    anywhere = [each for each in filters if not each.columns]
    while left or anywhere:
        counts = Counter(column for each in left for column in dict.fromkeys(each.columns))
        column = max(counts, key=counts.__getitem__, default=None)
        group = [each for each in left if column in each.columns] + anywhere
        groups.append((column, tuple(each for each in filters if each in group)))
        left, anywhere = [each for each in left if each not in group], []
    return groups


def _of_groups(groups: _Piece, held: Mapping[Column, Column]) -> tuple[Dimension, ...]:
    """How rows go to the cells of groups, if they hold the values of these of their keys, in these columns."""
    nowhere: tuple[Dimension, ...] = (None,) * len(groups.shares or ())
    if groups.seen is None:
        return nowhere
    own = {groups.seen.names[key]: column for key, column in held.items() if key in groups.seen.names}
    found = [next((own[c] for c in same if c in own), None) for same in groups.seen.by]
    if len(nowhere) == 1:
        # One dimension may be by several values, and then all of them count.
        return nowhere if None in found else (tuple(c for c in found if c is not None),)
    return tuple(None if column is None else (column,) for column in found) if len(found) == len(nowhere) else nowhere


def _forgetting_here(join: PhysicalJoin, pieces: list[_Piece]) -> PhysicalJoin:
    """The join, which drops no rows of windows that are cut elsewhere: these send deletions when rows leave them."""
    here = [piece.shares is None and isinstance(leaves_of(piece.relation)[0], Scan | Table) for piece in pieces]
    forgets = tuple(number for number in join.forgets if here[number])
    return replace(join, retention=replace(join.retention, forgets=forgets) if join.retention and forgets else None)


def _evidence_along(join: PhysicalJoin, variables: Sequence[int]) -> list[list[Expr | None]]:
    """Of each evidence the columns by which it is partitioned along variables of the join."""
    if join.retention is None:
        return [along or [None] for along in _ending_evidence_along(join, variables)]
    return [join.retention.evidence_along(n, variables) or [None] for n in range(len(join.evidence))]


def _ending_evidence_along(join: PhysicalJoin, variables: Sequence[int]) -> Iterator[list[Expr | None]]:
    """The same of evidence that closes rows of inputs: it goes where these are."""
    held = join_variables(join)
    for number, closers in enumerate(join.endings):
        schema = join.operands[number].schema
        own = [held[v][number] for v in variables]
        places = [None if column is None else schema.index(column) for column in own]
        for scan in range(len(closers.evidence) if closers is not None else 0):
            assert closers is not None
            yield [*closers.along(scan, places)]


def _alone(key: Column, join: PhysicalJoin) -> tuple[Column | None, ...]:
    """A column of one input as if it were a variable of the join."""
    return tuple(key if key in operand.schema else None for operand in join.operands)


def _equal_columns(on: tuple[Expr, ...], left: Relation, right: Relation) -> list[tuple[Column, Column | None]]:
    pairs: list[tuple[Column, Column | None]] = []
    for expr in on:
        if isinstance(expr, Compare) and expr.op is Comparator.EQ:
            for a, b in ((expr.left, expr.right), (expr.right, expr.left)):
                if isinstance(a, Column) and isinstance(b, Column) and a in left.schema and b in right.schema:
                    pairs.append((a, b))
    return pairs


def _raw_schema(leaf: Leaf) -> tuple[Expr, ...]:
    return leaf.stream.schema if isinstance(leaf, Scan) else leaf.schema


def _at_leaf(expr: Expr, relation: Relation) -> Expr:
    """An expression over a relation, over the columns of the leaf that it comes from."""
    match relation:
        case Scan():
            return substitute(expr, {output.column: output.expr for output in relation.outputs})
        case Project(below, outputs):
            return _at_leaf(substitute(expr, {output.column: output.expr for output in outputs}), below)
        case Select(below) | Keep(below) | Panes(below):
            return _at_leaf(expr, below)
    return expr
