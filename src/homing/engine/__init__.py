"""The machines that move rows, in data order: scheduler, runner (over lanes), courier, sweeper.

Comes in: rows that wait. Goes out: rows that moved. Promises: one transaction a hand-over; killed anywhere, the next
look goes on where the last commit was.
"""
