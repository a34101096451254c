"""Join elimination: assertions as a theory of streams, what it implies, and which joins need not run (001)."""
