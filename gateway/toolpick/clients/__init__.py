"""Other programs' settings files: where they are, and how toolpick is written into them.

Files are edited as text, so that comments, order and blanks stay as their owner left them; what an
edit made of the file is held against what it should mean before anything is written. Knows
nothing of our own settings.
"""
