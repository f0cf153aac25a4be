"""The version of Headway, in this one place: CMake and the wheel read it here."""

__version__ = "0.1.0"
