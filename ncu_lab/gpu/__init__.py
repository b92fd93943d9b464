"""Everything that needs or describes the GPU side.

========================  =============================================================================================
what a stage is
``registry``              reads ``kernels/stages.toml``
``launch_plan``           which cubin and which kernels a problem takes; pure
``plans``                 the kernels, grids and workspaces of stages that launch otherwise than a block a tile; pure
``kernel_launch``         one launch as a value: geometry, arguments, tensor maps; pure
``layout``                where the matrices lie
how it is built
``compile``               source to cubin, cached by content
``toolkit``               finds nvcc and the disassemblers
``ptxas``                 registers, spills and warnings, from the compiler's words
``sass``                  machine code as text, and its instruction mix
``child``                 child processes that leave nothing behind
what it must compute
``criteria``              cases to pass, how large an error is and may be; pure
``inputs``                random matrices
``operands``              them on the device, guarded against stray writes
``oracle``                the float64 result to compare with
``verify``                runs the cases on the GPU
``bare``                  launches alone, for compute-sanitizer to watch
``sanitizer``             one of its tools on one stage, and what its log says
how it runs
``supervisor``            the parent: starts the target process, relays its progress, explains its end
``request``               what the parent asks of it
``target``                the process itself, which ncu profiles
``runner``                launches stages in it
``driver``                libcuda: loads cubins, encodes tensor maps, launches kernels
``cublas``                the library's calls, each with its precision pinned
``cublaslt``              the algorithms that its heuristic ranks first
``references``            the fastest of all these ways
``timing``                CUDA events, caches flushed, in turns with the reference
``telemetry``             clock, power and temperature
``attached``              whether a profiler watches: then nothing is timed
``devices``               which GPU is here, and its peaks
========================  =============================================================================================
"""
