"""One function per user task, wiring the layers; prints nothing."""
