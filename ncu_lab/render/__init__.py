"""Turning results into text, tables and figures; nothing here reads files."""
