"""Running Nsight Compute: building its command line, watching it, reading its log."""
