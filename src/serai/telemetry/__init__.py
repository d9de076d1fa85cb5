"""The host's own logs, traces and metrics: as OTLP/JSON for those who follow, and to an OTLP endpoint."""
