"""The host's prompt hook: finds the gateways of its conversation, hands them the prompt, answers.

A person waits for this at every prompt, so it imports nothing of ours outside of this room and as
little of Python as it can: no dataclasses, no typing, no argparse.
"""
