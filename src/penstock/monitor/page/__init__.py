"""The page: a running query as a graph, with what flows, what is kept beside what was proved, and what was decided.

plan_document.py   what does not change: operators, queues, bounds with their proofs, the text of the query
history.py         what each operator did, as frames that become coarser as a run gets longer
findings.py        what is worth a look: which operator is the cause of a lag, which state grows, what was lost
recorder.py        the three together, as one JSON document and as what is new in it
server.py          the same over HTTP, for one browser on this machine; serving.py runs it beside the query
report.py          the same as a file that opens from disk
static/            the page itself: plain modules without a build step
"""
