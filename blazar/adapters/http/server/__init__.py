"""Hypercorn on a socket of ours."""
