"""The memory: the only room that speaks SQL.

Comes in: nouns and verbs of the domain on one transaction. Goes out: nouns. Promises: what a transaction wrote is there
whole or not at all; rows are locked in the order job, session, turn, the rest; every state change names the state it
leaves.
"""

from homing.store.base import LookAgain, Store, Tx

__all__ = ["LookAgain", "Store", "Tx"]
