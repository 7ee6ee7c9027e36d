"""A stdio server on the Python SDK's 1.x line, run by that line's own environment."""

from mcp.server.fastmcp import Context, FastMCP

server = FastMCP("old")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Report progress up to a number."""
    for step in range(to):
        await ctx.report_progress(step + 1, to)
    return f"counted to {to}"


@server.resource("old://greeting")
def greeting() -> str:
    """A text."""
    return "hello from the 1.x line"


@server.prompt()
def summarise(topic: str) -> str:
    """Ask for a summary."""
    return f"Summarise {topic}"


if __name__ == "__main__":
    server.run()
