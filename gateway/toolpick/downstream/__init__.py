"""Downstream servers: each supervised by one task of its own, and the pools that hold them together."""
