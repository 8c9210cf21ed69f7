"""Adapters to RL libraries; each imports its library when it is imported itself."""
