"""Measure speed, memory and accuracy."""
