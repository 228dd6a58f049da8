"""The mind: history and tools in, steps and a result out.

Comes in: an `Ask` and a `Journal`. Goes out: an `Answer`, or a typed failure. Promises: no finished step is repeated,
an unrepeatable tool is never begun twice, and nothing here knows a job, a row or a channel.
"""
