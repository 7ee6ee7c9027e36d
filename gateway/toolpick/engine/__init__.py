"""Where the rooms meet: a client's message comes in, an answer goes out.

A front makes a ``Session`` (``Engine.open_session``), hands each message to ``Engine.handle``,
``notified`` or ``answered``, and gives every request a ``Channel`` for what belongs to it. The
engine knows no transport: it sends frames to channels.
"""
