"""Rankers that choose the tools a prompt needs. A library of its own: knows nothing of MCP."""
