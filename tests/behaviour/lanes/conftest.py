"""The engine in this process, on both databases."""

from support.rooms import room, room_store

__all__ = ["room", "room_store"]
