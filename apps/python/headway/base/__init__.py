"""What every room stands on: files and messages, arguments and their signatures, texts, labels.

It may import nothing.
"""
