"""What computes: data sets and arguments go to the extension module, and results come back.

It may import base and results.
"""
