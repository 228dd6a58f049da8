"""The desk: everything one may ask, one function each; rules and permissions are checked here, and nowhere else.

Comes in: a desk (one transaction, one caller) and an ask. Goes out: an answer in the public shape, or a refusal that
says what to do. Promises: the same name at every door; nobody touches another user's things.
"""

from homing.operations.binding import BoundOperation, bind
from homing.operations.context import Context, Instance
from homing.operations.shapes.base import read

__all__ = ["BoundOperation", "Context", "Instance", "bind", "read"]
