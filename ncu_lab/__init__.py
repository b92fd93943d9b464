"""ncu-lab: a laboratory for GPU kernel performance around NVIDIA Nsight Compute."""

__version__ = "0.1.0"
