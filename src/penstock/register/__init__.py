"""The query register: is the state of this query bounded, why not, and what would make it safe?

>>> from penstock.sql import bind_text
>>> script = bind_text('''
...     CREATE STREAM item (id BIGINT, ts TIMESTAMP, UNIQUE (id)) TIMESTAMP BY ts;
...     CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP, PUNCTUATED BY (auction)) TIMESTAMP BY ts;
...     SELECT id, SUM(price) AS total FROM item, bid WHERE id = auction GROUP BY id;
... ''')
>>> verdict = check_query(script.queries[0], script.catalog)
>>> verdict.message
'not safe: every row of bid is kept until its row of item arrives, and nothing says that one arrives, or by when'
>>> print(verdict.actions[0].steps[0].text)
ALTER STREAM item ADD PUNCTUATED BY (id);

| file                   | idea                                                                        |
| ---------------------- | --------------------------------------------------------------------------- |
| `constant_synopses.py` | rows that are alike are counted together: bounded memory                    |
| `windows.py`           | what every operator holds                                                   |
| `joins.py`             | what a join keeps of each operand                                           |
| `states.py`            | a piece of state                                                            |
| `verdict.py`           | all of it                                                                   |
| `advice.py`            | what would make a query safe                                                |
| `cheapest_sets.py`     | the smallest sets that suffice, cheapest first                              |
| `steps.py`             | what advice may ask for                                                     |
| `edits.py`             | advice as text to paste                                                     |
| `witness.py`           | input that defeats every plan                                               |
| `witness_rows.py`      | its rows, of the columns' types and inside their bounds                     |
| `witness_values.py`    | the same where a value is computed                                          |
| `report.py`            | verdicts as messages and as JSON                                            |
| `refusal.py`           | what is not safe does not run                                               |
| `memo.py`              | what is worked out once for all advice                                      |
| `arithmetic/`          | the theory of bounded memory                                                |
"""

from penstock.closing.bounds import Bound, BoundKind
from penstock.register.refusal import UnboundedState, UnsafeQuery, UnsafeStream, UnusedProof, refuse_unsafe
from penstock.register.report import verdict_json, verdict_text
from penstock.register.states import State, Theory
from penstock.register.steps import Action
from penstock.register.verdict import Verdict, check_query

__all__ = [
    "Action",
    "Bound",
    "BoundKind",
    "State",
    "Theory",
    "UnboundedState",
    "UnsafeQuery",
    "UnsafeStream",
    "UnusedProof",
    "Verdict",
    "check_query",
    "refuse_unsafe",
    "verdict_json",
    "verdict_text",
]
