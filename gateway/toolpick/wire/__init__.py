"""JSON-RPC over pipes and HTTP: frames, envelopes, peers. Knows nothing of MCP beyond its framing.

Layers, lowest first: a ``Wire`` carries frames (one JSON message each) and tells a ``Receiver``
what came; a ``Peer`` sits on a wire and turns frames into requests, replies and notifications.
The hot path is made of callbacks on asyncio transports: a task or a stream hop per message would
cost more than all the rest of a call (docs/decisions/001).
"""
