"""Measurements, each `python -m benchmarks NAME [--database sqlite|postgresql] [options]`, one JSON line a result."""
