"""Torture: real processes under chaos, and a checker that trusts none of them.

`python -m torture --database sqlite|postgresql [--engine restate] --seconds N --seed S`. The chaos lives in `chaos`,
the load in `people` and `automations`, the proof in `checks`, which reads rows and logs only and imports nothing of
Homing.
"""
