"""Running Nsight Compute: its command line, its process, its log, and what its failures mean."""
