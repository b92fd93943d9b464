"""Everything that needs or describes the GPU side: stages, compiling, checking, timing, the profiled process."""
