"""Pure functions from stored runs to what they mean."""
