"""The side door: the operations as MCP tools, over stdio and over HTTP.

Comes in: a tool's name and its arguments. Goes out: the same replies as at every other door. Promises: the session is
an argument, the user never is; a refusal is a result that a model can act on; no trace goes out.
"""
