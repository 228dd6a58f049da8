"""The nouns: frozen dataclasses, their states, their legal moves.

Comes in: values and instants. Goes out: values. Promises: no I/O, no clock of its own; time is an argument.
"""
