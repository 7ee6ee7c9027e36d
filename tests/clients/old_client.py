"""Visits a server with the Python SDK's 1.x line, run by that line's own environment.

Takes a JSON object with `command` or `url`, and `calls`; prints what it saw as JSON.
"""

import json
import sys
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def look(session: ClientSession, calls: list[Any]) -> dict[str, Any]:
    """List the tools and make the calls."""
    started = await session.initialize()
    tools = (await session.list_tools()).tools
    answers = {}
    for name, arguments in calls:
        answer = await session.call_tool(name, arguments)
        answers[name] = answer.content[0].text
    names = [tool.name for tool in tools]
    return {"version": started.protocolVersion, "tools": names, "answers": answers}


async def visit(task: dict[str, Any]) -> dict[str, Any]:
    """Connect over the transport that the task asks for."""
    if "url" in task:
        async with streamablehttp_client(task["url"]) as (read, write, _):
            async with ClientSession(read, write) as session:
                return await look(session, task["calls"])
    command, *arguments = task["command"]
    async with stdio_client(StdioServerParameters(command=command, args=arguments)) as (
        read,
        write,
    ):
        async with ClientSession(read, write) as session:
            return await look(session, task["calls"])


print(json.dumps(anyio.run(visit, json.loads(sys.argv[1]))))
