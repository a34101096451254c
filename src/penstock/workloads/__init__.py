"""Workloads: generators of streams like those that the papers measure on."""
