"""Downstream servers, each supervised by one task of its own."""
