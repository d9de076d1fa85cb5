"""The journal: redact, apply, group commit, publish, subscriptions, replay."""
