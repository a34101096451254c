"""The bound algebra of a query: what a query means, before anybody asks how to run it.

| file             | idea                                                            |
| ---------------- | --------------------------------------------------------------- |
| `functions.py`   | which functions there are, and how a call is typed              |
| `expressions.py` | scalar expressions                                              |
| `relations/`     | streams, windows, relations, and the way back to streams        |
| `printing.py`    | expressions as SQL, plans as pictures and as JSON               |
| `predicates.py`  | conjuncts as equalities, bounds and differences of columns      |
| `rewrites/`      | the normal form that the theories read: one rule per file       |
"""
