"""Runs the Star Schema Benchmark over several engines and compares them."""
