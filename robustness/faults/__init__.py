"""Disks, permissions, kills and load."""
