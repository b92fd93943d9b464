"""The types that cross between layers, and the columns of every table.

Everything here is frozen data: collecting, parsing, storing, analysing and rendering meet only through these types.
"""

from ncu_lab.model.progress import (
    ProgressEvent,
    Reporter,
    Step,
    silent,
)
from ncu_lab.model.runs import (
    LOSSES,
    SCHEMA,
    Device,
    Environment,
    GitState,
    Notice,
    ParsedReport,
    Run,
    RunMeta,
    Session,
    Status,
)
from ncu_lab.model.stages import (
    DTYPE_BYTES,
    MAX_ELEMENTS,
    CheckCase,
    Dtype,
    Operation,
    Problem,
    Stage,
    StageBuild,
    TimingSample,
    Variant,
)
from ncu_lab.model.tables import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    Json,
    table,
)
from ncu_lab.model.views import (
    Ladder,
    LadderRow,
    LaunchSummary,
    Roof,
    RooflinePoint,
    RunView,
)

__all__ = [
    "DTYPE_BYTES",
    "INSTANCE_COLUMNS",
    "LAUNCH_COLUMNS",
    "LOSSES",
    "MAX_ELEMENTS",
    "METRIC_COLUMNS",
    "RULE_COLUMNS",
    "SCHEMA",
    "TIMING_COLUMNS",
    "CheckCase",
    "Device",
    "Dtype",
    "Environment",
    "GitState",
    "Json",
    "Ladder",
    "LadderRow",
    "LaunchSummary",
    "Notice",
    "Operation",
    "ParsedReport",
    "Problem",
    "ProgressEvent",
    "Reporter",
    "Roof",
    "RooflinePoint",
    "Run",
    "RunMeta",
    "RunView",
    "Session",
    "Stage",
    "StageBuild",
    "Status",
    "Step",
    "TimingSample",
    "Variant",
    "silent",
    "table",
]
