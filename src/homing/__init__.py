"""Homing gives AI agents a sense of time: scheduled turns that come home to their own conversation."""

__version__ = "0.1.0"
