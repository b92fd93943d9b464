"""The Dash application of ncu-lab."""
