"""Builds a stage and writes the request for one launch of it: ``write_request.py STAGE M N K REQUEST.json``.

The request is what ``python -m ncu_lab.gpu.target`` runs, under a sanitizer for instance.
"""

import sys
from pathlib import Path

from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of, write
from ncu_lab.model import Problem
from ncu_lab.workflows.building import build_stages

id, m, n, k, file = sys.argv[1:]
stages = load_stages()
subjects = subjects_of([find_stage(stages, id)], build_stages([id]), stages)
problem, path = Problem(int(m), int(n), int(k), 1.5, -0.5), Path(file).resolve()
write(TargetRequest("profile", problem, subjects, warmup=1, result=f"{path}.result"), path)
