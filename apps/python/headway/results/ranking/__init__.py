"""Ranks heads by what their removal costs, and says how sure the order is."""
