"""Hostile clients beside normal load on a real `homing up`: `python -m soak --seconds 180 --database sqlite`.

Torture asks whether anything is lost when processes die; soak asks whether anybody notices those who misbehave.
"""
