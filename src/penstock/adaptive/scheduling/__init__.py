"""Which operator runs next where rows wait between operators: Chain scheduling (thesis 2.3.2), FIFO and greedy."""
