"""One MCP server in front of many: every turn shows the model only the tools it needs."""

__version__ = "0.1.0"
