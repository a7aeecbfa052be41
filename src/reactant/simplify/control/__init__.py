"""Loops and branches."""
