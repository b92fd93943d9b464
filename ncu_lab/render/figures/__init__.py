"""Plotly figures, built from model types alone: no reading, no clock, no page around them."""
