"""The host's own logs, traces and metrics, as OTLP/JSON: on channels, and posted to a collector."""
