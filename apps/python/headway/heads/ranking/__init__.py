"""Measuring for a ranking of heads; headway.results.ranking has what comes of it."""
