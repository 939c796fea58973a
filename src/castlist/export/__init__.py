"""A cast in the formats of other tools: one format a file."""
