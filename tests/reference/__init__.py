"""The reference: what a query means, read directly from the definitions, slowly and without cleverness.

Engines are tested against it, so it shares no code with them: it knows only the algebra, the catalog and the types. The
packages `punctuation/`, `kconstraints/` and `bounded_memory/` are oracles of the theories, over the theories' values.
"""
