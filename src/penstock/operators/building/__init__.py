"""From the nodes of a fragment to operators."""
