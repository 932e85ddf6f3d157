"""Benchmarks: every figure beside a baseline of the same run, every answer asserted."""
