"""What any metric of Nsight Compute means, from the parts of its name.

Names are ``unit__counter.rollup.submetric`` (NVIDIA's Nsight Compute documentation, Profiling Guide, "Metrics
Structure" and "Metrics Decoder"): the unit of the GPU that counts, what it counts, how the instances of that unit are
put together, and what is made of the result. The sentence says as much as the name does, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ncu_lab.metrics.catalogue import CATALOGUE
from ncu_lab.metrics.quantity import same

_UNITS: Mapping[str, str] = {
    "breakdown": "the metrics that a throughput is the largest of",
    "c2clink": "NVLink-C2C",
    "ctc": "NVLink-C2C",
    "derived": "made of other metrics",
    "device": "property of the GPU",
    "dram": "device memory",
    "fbpa": "device memory's controller",
    "fe": "front end",
    "gpc": "graphics processing cluster",
    "gpu": "whole GPU",
    "gr": "front end of compute and graphics",
    "group": "group of metrics",
    "idc": "constant cache (indexed)",
    "l1tex": "L1 / texture cache and shared memory",
    "launch": "property of the launch",
    "lrc": "L2 request coalescer",
    "lts": "slice of the L2 cache",
    "ltc": "L2 cache",
    "memory": "counter per instruction, of memory",
    "mcc": "memory controller",
    "nvlrx": "NVLink, receiving",
    "nvltx": "NVLink, sending",
    "nvlink": "NVLink",
    "numa": "NUMA node",
    "pcie": "PCIe",
    "pmsampling": "samples over time",
    "profiler": "the profiler itself",
    "sass": "counted by patched instructions",
    "sm": "streaming multiprocessor",
    "smsp": "sub-partition of an SM",
    "sys": "system",
    "tpc": "texture processing cluster",
    "thread": "counter per instruction, of threads",
    "inst": "counter per instruction",
}
_ROLLUPS: Mapping[str, str] = {
    "sum": "sum over all instances",
    "avg": "average of the instances",
    "min": "smallest of the instances",
    "max": "largest of the instances",
    "ratio": "ratio",
    "pct": "percentage",
    "max_rate": "largest possible ratio",
}
_SUBMETRICS: Mapping[str, str] = {
    "per_second": "per second",
    "per_cycle_active": "per cycle in which the unit was active",
    "per_cycle_elapsed": "per elapsed cycle",
    "peak_sustained": "the most a cycle that can be sustained",
    "pct_of_peak_sustained_active": "of what can be sustained in active cycles",
    "pct_of_peak_sustained_elapsed": "of what can be sustained in elapsed cycles",
    "pct_of_peak_burst_active": "of the burst peak in active cycles",
    "pct_of_peak_burst_elapsed": "of the burst peak in elapsed cycles",
}
_WORDS: Mapping[str, str] = {
    "op": "", "t": "tag stage", "d": "data stage", "m": "to and from L2", "ld": "loads", "st": "stores",
    "red": "reductions", "atom": "atomics", "inst": "instructions", "mem": "of", "lsu": "load/store unit",
    "tex": "texture", "pcsamp": "sampled", "srcunit": "asked for by", "lookup": "", "hit": "found",
    "miss": "not found", "pred": "predicated", "dshared": "another SM's shared memory", "ldgsts": "cp.async",
    "lg": "local and global", "xbar2l1tex": "L2 to L1", "pct": "percent", "l1tex2xbar": "L1 to L2",
    "xbar2lts": "SMs to L2", "lts2xbar": "L2 to SMs", "ltcfabric": "the other L2 partition", "f": "filter",
    "avg": "average", "num": "number of", "sass": "in SASS",
}  # fmt: skip

_EXACT: Mapping[str, str] = {
    metric.counters[0].names[0]: metric.meaning
    for metric in CATALOGUE
    if len(metric.counters) == 1 and metric.formula is same
}
"""Metrics that are a quantity of the catalogue as they are."""


@lru_cache(maxsize=16384)
def meaning(metric: str) -> str:
    """Say what a metric is: its catalogue's sentence where it has one, else what its name tells.

    ``l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`` is "L1 / texture cache and shared memory: tag stage requests
    pipe load/store unit of global loads; sum over all instances".
    """
    if metric in _EXACT:
        return _EXACT[metric]
    body = metric.removeprefix("breakdown:")
    if body != metric:
        return f"Names the units that {body.partition('.')[0]} is the largest of."
    head, *tail = body.split(".")
    unit, found, counted = head.partition("__")
    if not found:
        unit, _, counted = head.partition("_")
    where = _UNITS.get(re.sub(r"\d+$", "", unit))
    if where is None:
        where, counted = "", head
    what = " ".join(word for part in counted.split("_") if (word := _WORDS.get(part, part)))
    made = [_ROLLUPS.get(part) or _SUBMETRICS.get(part) or part.replace("_", " ") for part in tail]
    subject = f"{where}: {what}" if where and what else where or what
    return "; ".join([subject[:1].upper() + subject[1:], *(["; ".join(made)] if made else [])])
