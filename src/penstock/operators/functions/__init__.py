"""User functions at run time: values in and out, calls over batches, and rows on which a call failed."""
