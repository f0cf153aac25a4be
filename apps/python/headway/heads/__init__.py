"""The heads of networks of PyTorch: what they contribute, what they are worth, and a model without them.

It may import base, results and api.
"""
