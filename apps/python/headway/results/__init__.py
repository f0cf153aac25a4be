"""Results: reading them, their parts as Python objects, tables, and arrays with named dimensions.

It may import base.
"""

from headway.results.result import (Alignment, AttentionMinimum, Corrected, GaussianProcessPoint, Measures, Point, Predictor, Pruning,
                                    Result, Samples, SetMeasures, TemperatureChoice)

__all__ = ["Alignment", "AttentionMinimum", "Corrected", "GaussianProcessPoint", "Measures", "Point", "Predictor", "Pruning",
           "Result", "Samples", "SetMeasures", "TemperatureChoice"]
