"""The client for an agent's MCP servers: programs in the sandbox, or servers over HTTP at judged addresses.

What a server says is data: its results and errors reach a model in a frame, its secrets are taken out of both.
"""
