"""The metric catalogue: the only place that knows Nsight Compute's metric names.

A key names a quantity once and for all (``global_load_sectors_per_request``); the catalogue says from which
counters it is read, under which of their names, in which unit, which sections collect them, which direction is
better and whether two runs of the same build must agree on it exactly.
"""

from ncu_lab.metrics.accesses import ACCESS_SECTIONS, Space
from ncu_lab.metrics.catalogue import (
    ATTRIBUTION_METRICS,
    CATALOGUE,
    METRICS,
    OVER_IDEAL,
    SECTOR_BYTES,
    TARGETED_SECTIONS,
    WAVEFRONT_BYTES,
    read,
    read_all,
)
from ncu_lab.metrics.identity import IDENTITY_DURATION, IDENTITY_FORMS, IDENTITY_SELECTED, IdentityForm, Needed
from ncu_lab.metrics.labels import DETAILS_LABELS
from ncu_lab.metrics.names import DEVICE_PREFIX, GRAPH_METRIC, LAUNCH_IDENTITY, fixed_unit, is_time_line
from ncu_lab.metrics.quantity import Better, Counter, Kind, Lookup, Metric, Reading, Way
from ncu_lab.metrics.source_columns import SOURCE_WORDS, source_metric
from ncu_lab.metrics.stalls import (
    STALL_FAMILIES,
    STALL_ORDER,
    in_stacking_order,
    sampled_stall,
    stall_cycles,
    stall_metric,
    stall_reason,
    stall_samples,
)

__all__ = [
    "ACCESS_SECTIONS",
    "ATTRIBUTION_METRICS",
    "CATALOGUE",
    "DETAILS_LABELS",
    "DEVICE_PREFIX",
    "GRAPH_METRIC",
    "IDENTITY_DURATION",
    "IDENTITY_FORMS",
    "IDENTITY_SELECTED",
    "LAUNCH_IDENTITY",
    "METRICS",
    "OVER_IDEAL",
    "SECTOR_BYTES",
    "SOURCE_WORDS",
    "STALL_FAMILIES",
    "STALL_ORDER",
    "TARGETED_SECTIONS",
    "WAVEFRONT_BYTES",
    "Better",
    "Counter",
    "IdentityForm",
    "Kind",
    "Lookup",
    "Metric",
    "Needed",
    "Reading",
    "Space",
    "Way",
    "fixed_unit",
    "in_stacking_order",
    "is_time_line",
    "read",
    "read_all",
    "sampled_stall",
    "source_metric",
    "stall_cycles",
    "stall_metric",
    "stall_reason",
    "stall_samples",
]
