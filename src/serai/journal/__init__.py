"""The journal: apply, group commit, publish, subscriptions, replay."""
