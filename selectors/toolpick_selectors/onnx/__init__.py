"""Models that onnxruntime runs, through fastembed: how they are had, kept and loaded.

Importing any module here imports neither fastembed nor onnxruntime.
"""
