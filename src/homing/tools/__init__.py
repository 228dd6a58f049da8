"""The hands: what an agent may call. In: a model's arguments. Out: one operation and a reply a model can act on.

Promise: session, user and job come from the turn, never from what a model wrote, and an effect commits with its step.
"""
