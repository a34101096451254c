"""The MJoin with subresult caches (thesis 5.4): `mjoin.combine`, with lookups and updates between the probes.

A cache is direct-mapped: a key has one line, which begins with the step in which it was filled and the number of its
tuples (0 0: the line is empty), then the key's words, then the tuples: slots of the members' rows, packed as int32.

    ┌──────────────┬───────┬───────────────────────────┐        ┌──────────────┬───────┬──────────┐
    │ stamp, count │  key  │ slots of count tuples     │   or   │ stamp, count │  key  │ position │──▶ ring
    └──────────────┴───────┴───────────────────────────┘        └──────────────┴───────┴──────────┘

It is exact, because before each event a line of key u has all combinations of the members with this key which that
event sees. An insertion into a member reaches, by the prefix invariant, just the combinations that are new, and drops
the lines of their keys. What went is still listed, and is passed over: a tuple counts if each of its rows was linked no
later than the line was filled (slots are used again, in a later step), is present, and is seen by the event.

A cache that is only *profiled* stores nothing: it notes keys in a Bloom filter, from which an insertion takes those it
would drop. So it says how often a cache would have missed (5.5.3), with keys that are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.bloom import bits_of
from penstock.kernels.hashing import prefix_hash
from penstock.kernels.index import following
from penstock.kernels.jit import lean
from penstock.kernels.mjoin import (
    COLUMNS,
    JOINED,
    LINKS,
    PRESENT,
    ROWS,
    VISIBILITY,
    WIDTH,
    Paths,
    Probers,
    Progress,
    StageCounts,
    first_candidate,
    give,
    is_visible,
    sees,
)
from penstock.kernels.pointers import peek, peek_int32, poke, poke_int32

Ints = NDArray[np.int64]

#: Columns of the table of stores: whether it is used or profiled, the address of lines (or of the filter's words), the
#: mask of their number, words of a line, words of the key, members, int32s of tuples that a line holds; the address of
#: the ring and its mask.
MODE, LINES, LINE_MASK, LINE_WORDS, KEY_WORDS, MEMBERS, ROOM, RING, RING_MASK = range(9)
USED, PROFILED = 1, 2

#: Columns of the table of lookups: the store, and the depth behind the segment.
STORE, END = range(2)
#: Columns of counts by lookup: lookups, and those that hit; and by store: dropped lines, and int32s put into its ring.
LOOKUPS, HITS = range(2)
DROPS, RING_END = range(2)

#: What a depth of the combination in work does: it probes, passes over the tuples of a line, or probes to fill a line.
PROBES, HIT, FILLS = range(3)


class Caches(NamedTuple):
    """The caches of a join.

    `lookups[i, d]` is the lookup before depth d of input i's path, or -1; `drops[i, d]` are the stores of which an
    insertion into i that comes to depth d drops lines. The values of a key come from `key_inputs`, `key_columns` by
    lookup, and by store from its members' `own_inputs`, `own_columns`. `born` are addresses, by input, of the steps in
    which rows were linked.
    """

    lookups: Ints
    drops: Ints
    placed: Ints
    stores: Ints
    members: Ints
    key_inputs: Ints
    key_columns: Ints
    own_inputs: Ints
    own_columns: Ints
    born: Ints
    counts: Ints
    store_counts: Ints
    #: By store the tuples that are found for a line, and how many int32s they have; -1: too many.
    found: Ints
    found_count: Ints


class Places(NamedTuple):
    """By depth of the combination in work: what it does, the depth before it, the line and key that it looks up.

    `fills[d]` is the depth at which the segment begins that ends before d and fills a line, or -1.
    """

    doing: Ints
    back: Ints
    line: Ints
    key: Ints
    fills: Ints


@lean
def combine_cached(
    probers: Probers,
    inputs: Ints,
    indexes: Ints,
    paths: Paths,
    since: Ints,
    wants_going: bool,
    tally: StageCounts,
    caches: Caches,
    step: int,
    progress: Progress,
    places: Places,
    out_slots: Ints,
    out_events: Ints,
) -> int:
    """As `mjoin.combine`; `step` is the number of this step of the join.

    Stages that a hit passes by count neither probes nor matches, so that their rates stay those of probes.
    """
    index_columns, targets, probes, key_inputs, key_columns = paths
    sources, slots, signs, numbers = probers
    registers, bound, cursor, key = progress
    probed, matched = tally
    doing, back, fills = places.doing, places.back, places.fills
    width, depths, room = len(inputs), targets.shape[1], len(out_events)
    count = 0
    i, depth = registers[0], registers[1]
    while i < len(slots):
        event, source = numbers[i], sources[i]
        entering = depth < 0
        if entering:
            if signs[i] < 0 and peek_int32(inputs[source, VISIBILITY] + 4 * slots[i]) & JOINED == 0:
                i += 1
                continue
            bound[source] = slots[i]
            depth = 0
            back[0] = -1
        while depth >= 0:
            target = targets[source, depth]
            if entering:
                if signs[i] > 0:
                    for d in range(caches.drops.shape[2]):
                        if caches.drops[source, depth, d] >= 0:
                            drop(caches, caches.drops[source, depth, d], inputs, bound, places.key, depths)
                if fills[depth] >= 0:
                    note_tuple(caches, caches.placed[caches.lookups[source, fills[depth]], STORE], bound)
                lookup = caches.lookups[source, depth]
                doing[depth] = PROBES
                if lookup >= 0:
                    doing[depth] = look_up(caches, lookup, inputs, bound, places, depth)
                    cursor[depth] = 0
                    if doing[depth] == FILLS:
                        fills[caches.placed[lookup, END]] = depth
                        caches.found_count[caches.placed[lookup, STORE]] = 0
            if doing[depth] == HIT:
                lookup = caches.lookups[source, depth]
                store, end = caches.placed[lookup, STORE], caches.placed[lookup, END]
                at = next_tuple(caches, store, places.line[depth], cursor[depth], inputs, bound, event, since)
                cursor[depth] = at + 1
                entering = at >= 0
                if not entering:
                    depth = back[depth]
                elif end < depths:
                    back[end] = depth
                    depth = end
                else:
                    entering = False
                    if count == room:
                        cursor[depth] = at
                        registers[0], registers[1] = i, depth
                        return count
                    give(bound, width, inputs, wants_going, event, out_slots, out_events, count)
                    count += 1
                continue
            index = probes[source, depth]
            columns, links = indexes[index, COLUMNS], indexes[index, LINKS]
            if entering:
                probed[source, depth] += 1
                candidate = first_candidate(
                    source, depth, inputs, indexes, index, columns, key_inputs, key_columns, bound, key
                )
            else:
                candidate = cursor[depth]
            while candidate >= 0:
                if sees(candidate, event, inputs, target, columns, index_columns, index, key, depth, since):
                    bound[target] = candidate
                    if depth < depths - 1:
                        matched[source, depth] += 1
                        break
                    if count == room:
                        cursor[depth] = candidate
                        registers[0], registers[1] = i, depth
                        return count
                    give(bound, width, inputs, wants_going, event, out_slots, out_events, count)
                    if fills[depths] >= 0:
                        note_tuple(caches, caches.placed[caches.lookups[source, fills[depths]], STORE], bound)
                    matched[source, depth] += 1
                    count += 1
                candidate = following(links, candidate)
            entering = candidate >= 0
            if entering:
                cursor[depth] = following(links, candidate)
                back[depth + 1] = depth
                depth += 1
            else:
                if doing[depth] == FILLS:
                    lookup = caches.lookups[source, depth]
                    fill(caches, caches.placed[lookup, STORE], places, depth, step)
                    fills[caches.placed[lookup, END]] = -1
                depth = back[depth]
        i += 1
    registers[0], registers[1] = i, -1
    return count


@lean
def look_up(caches: Caches, lookup: int, inputs: Ints, bound: Ints, places: Places, depth: int) -> int:
    """What a depth does after it has looked its key up; a store that is profiled notes the key."""
    store = caches.placed[lookup, STORE]
    words = caches.stores[store, KEY_WORDS]
    for c in range(words):
        origin = caches.key_inputs[lookup, c]
        word = bound[origin] * inputs[origin, WIDTH] + caches.key_columns[lookup, c]
        places.key[depth, c] = peek(inputs[origin, ROWS] + 8 * word)
    hash_ = prefix_hash(places.key, depth, words)
    at = caches.stores[store, LINES] + 8 * (hash_ & caches.stores[store, LINE_MASK]) * caches.stores[store, LINE_WORDS]
    caches.counts[lookup, LOOKUPS] += 1
    if caches.stores[store, MODE] == PROFILED:
        noted, bits = peek(at), bits_of(hash_)
        caches.counts[lookup, HITS] += noted & bits == bits
        poke(at, noted | bits)
        return PROBES
    places.line[depth] = at
    if not has_key(at, words, places.key, depth):
        return FILLS
    length = (peek(at) & 0xFFFFFFFF) * caches.stores[store, MEMBERS]
    if length > caches.stores[store, ROOM]:
        # The ring may have gone round since.
        behind = caches.store_counts[store, RING_END] - peek(at + 8 * (1 + words))
        if behind > caches.stores[store, RING_MASK] + 1:
            return FILLS
    caches.counts[lookup, HITS] += 1
    return HIT


@lean
def has_key(line: int, words: int, keys: Ints, row: int) -> bool:
    """Whether a line is filled, and has the key of these words."""
    if peek(line) == 0:
        return False
    for c in range(words):
        if peek(line + 8 * (1 + c)) != keys[row, c]:
            return False
    return True


@lean
def next_tuple(
    caches: Caches, store: int, line: int, start: int, inputs: Ints, bound: Ints, event: int, since: Ints
) -> int:
    """The number of the next tuple of a line that the event sees, whose rows are then bound; or -1."""
    head = peek(line)
    stamp, tuples = head >> 32, head & 0xFFFFFFFF
    members = caches.stores[store, MEMBERS]
    own = line + 8 * (1 + caches.stores[store, KEY_WORDS])
    at, mask = 0, 0xFFFFFFFF
    if tuples * members > caches.stores[store, ROOM]:
        at, mask, own = peek(own), caches.stores[store, RING_MASK], caches.stores[store, RING]
    for t in range(start, tuples):
        is_seen = True
        for m in range(members):
            slot = peek_int32(own + 4 * ((at + t * members + m) & mask))
            number = caches.members[store, m]
            if not is_valid(slot, number, stamp, caches.born, inputs, event, since):
                is_seen = False
                break
            bound[number] = slot
        if is_seen:
            return t
    return -1


@lean
def is_valid(slot: int, number: int, stamp: int, born: Ints, inputs: Ints, event: int, since: Ints) -> bool:
    """Whether the row that a line of this stamp lists is still in its slot, is present, and is seen by the event."""
    if peek_int32(born[number] + 4 * slot) > stamp:
        return False
    visibility = peek_int32(inputs[number, VISIBILITY] + 4 * slot)
    return visibility & PRESENT != 0 and is_visible(visibility, event, since)


@lean
def note_tuple(caches: Caches, store: int, bound: Ints) -> None:
    """Takes down a combination of the members for the line that is being filled."""
    count, members = caches.found_count[store], caches.stores[store, MEMBERS]
    if count < 0 or count + members > caches.found.shape[1]:
        caches.found_count[store] = -1
        return
    for m in range(members):
        caches.found[store, count + m] = bound[caches.members[store, m]]
    caches.found_count[store] = count + members


@lean
def fill(caches: Caches, store: int, places: Places, depth: int, step: int) -> None:
    """Fills the line of a key with what was found, unless that is too much."""
    count, words, line = caches.found_count[store], caches.stores[store, KEY_WORDS], places.line[depth]
    ring_words = caches.stores[store, RING_MASK] + 1
    is_long = count > caches.stores[store, ROOM]
    if count < 0 or (is_long and count > ring_words // 4):
        return
    at, mask, own = 0, 0xFFFFFFFF, line + 8 * (1 + words)
    if is_long:
        at, mask = caches.store_counts[store, RING_END], caches.stores[store, RING_MASK]
        poke(own, at)
        own = caches.stores[store, RING]
        caches.store_counts[store, RING_END] = at + count
    for n in range(count):
        poke_int32(own + 4 * ((at + n) & mask), caches.found[store, n])
    for c in range(words):
        poke(line + 8 * (1 + c), places.key[depth, c])
    poke(line, step << 32 | count // caches.stores[store, MEMBERS])


@lean
def drop(caches: Caches, store: int, inputs: Ints, bound: Ints, keys: Ints, row: int) -> None:
    """Drops the line of the key that the bound rows of the members have. `row` of `keys` is used for it."""
    words = caches.stores[store, KEY_WORDS]
    for c in range(words):
        origin = caches.own_inputs[store, c]
        word = bound[origin] * inputs[origin, WIDTH] + caches.own_columns[store, c]
        keys[row, c] = peek(inputs[origin, ROWS] + 8 * word)
    hash_ = prefix_hash(keys, row, words)
    at = caches.stores[store, LINES] + 8 * (hash_ & caches.stores[store, LINE_MASK]) * caches.stores[store, LINE_WORDS]
    caches.store_counts[store, DROPS] += 1
    if caches.stores[store, MODE] == PROFILED:
        noted, bits = peek(at), bits_of(hash_)
        if noted & bits == bits:
            poke(at, noted & ~bits)
    elif has_key(at, words, keys, row):
        poke(at, 0)
