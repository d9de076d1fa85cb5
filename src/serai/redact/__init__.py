"""Masks secrets before anything is stored, indexed, logged or sent."""

from serai.redact.redactor import Redactor, StreamRedactor

__all__ = ["Redactor", "StreamRedactor"]
