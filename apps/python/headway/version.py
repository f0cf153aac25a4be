"""The version of the package; the same number as the C++ library's."""

__version__ = "0.1.0"
