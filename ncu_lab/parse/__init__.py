"""Reading reports and CSV exports into a Run."""
