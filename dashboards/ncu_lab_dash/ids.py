"""Names of the page's components, each once."""

URL = "url"
SCREEN = "screen"
"""Store: what the browser tells of itself: ``{"width": px, "dark": bool}``."""

THEME = "theme"
"""Store: the theme chosen on the page, None to follow the system's."""

VERSION = "version"
"""Store: the state of the run folder the page shows."""

WATCH = "watch"

THEME_BUTTON = "theme-button"
COPY_LINK = "copy-link"
CONTEXT = "context"
PAGE = "page"
CARDS = "cards"
HEADING = "heading"
LEAD = "lead"
EMPTY = "empty"
UNMATCHED = "unmatched"
"""What of the address of a ladder is not there."""

NOTICES = "notices"

PROBLEM = "problem"
DEVICE = "device"
STAGE = "stage"
SORT = "sort"
SCALE = "scale"
PANEL = "panel"
LEVEL = "level"
FAMILY = "family"
BESIDE = "beside"

MATRIX = "matrix"
MATRIX_TITLE = "matrix-title"
MATRIX_NOTE = "matrix-note"
MATRIX_LEGEND = "matrix-legend"
MATRIX_FOOT = "matrix-foot"
MATRIX_TABLE = "matrix-table"
MATRIX_DETAILS = "matrix-details"
MATRIX_ROWS = "matrix-rows"

SPEED = "speed"

ROOFLINE = "roofline"
ROOFLINE_TITLE = "roofline-title"
ROOFLINE_FOOT = "roofline-foot"
ROOFLINE_TABLE = "roofline-table"
ROOFLINE_DETAILS = "roofline-details"

THEORY = "theory"
THEORY_ACTIONS = "theory-actions"
STEPS = "steps"
STEPS_LEGEND = "steps-legend"
FALL = "fall"
"""The waterfall between two stages."""

FALL_ENDS = "fall-ends"
FALL_A = "fall-a"
"""Store: the stage that the waterfall begins with."""

FALL_B = "fall-b"
"""Store: the stage that it leads to."""

LATER = "later"
"""Store: set once the matrix is drawn; what waits for it leaves server and browser to the first figure."""

FOCUS = "focus"
"""Store: the family of stall reasons that is looked at."""

# The shell

ADDRESS = "address"
"""The address bar as the shell sees it: which page."""

NAV = "nav"
CONTENT = "content"

# The Kernel page

KERNEL_URL = "kernel-url"
KERNEL_PAGE = "kernel-page"
KERNEL_CONTEXT = "kernel-context"
KERNEL_EMPTY = "kernel-empty"
KERNEL_CARDS = "kernel-cards"
KERNEL_SHOWN = "kernel-shown"
KERNEL_RUN = "kernel-run"
KERNEL_LAUNCH = "kernel-launch"
KERNEL_SIGNATURE = "kernel-signature"
KERNEL_BANNER = "kernel-banner"
KERNEL_STRIP = "kernel-strip"
KERNEL_NOTICES = "kernel-notices"

UNITS = "units"
UNITS_WHICH = "units-which"
CHART = "memory-chart"
CHART_AMOUNTS = "memory-amounts"
SPOTS = "spots"
SPOTS_TABLES = "spots-tables"
SPOTS_CODE = "spots-code"
SPOTS_SORT = "spots-sort"
SPOTS_ROWS = "spots-rows"
SPOT = "spot"
"""Store: the chosen line."""

WAITS = "waits"
CURVES = "curves"
ACCESSES = "accesses"
RULES = "rules"
METRICS = "metrics"
METRICS_SEARCH = "metrics-search"


def title_of(card: str) -> str:
    """Return the id of a card's title."""
    return f"{card}-title"


def note_of(card: str) -> str:
    """Return the id of the muted line below a card's title."""
    return f"{card}-note"


def body_of(card: str) -> str:
    """Return the id of what a card holds beside its figure."""
    return f"{card}-body"


def state_of(card: str) -> str:
    """Return the id of what stands in place of a figure that has nothing to draw."""
    return f"{card}-state"


def foot_of(card: str) -> str:
    """Return the id of a card's foot."""
    return f"{card}-foot"


def table_of(card: str) -> str:
    """Return the id of the table of a figure."""
    return f"{card}-table"


def details_of(card: str) -> str:
    """Return the id of what opens that table."""
    return f"{card}-details"


# The Runs page

RUNS_URL = "runs-url"
RUNS_PAGE = "runs-page"
RUNS_CONTEXT = "runs-context"
RUNS_FILTER = "runs-filter"
RUNS_SORT = "runs-sort"
RUNS_PICKED = "runs-picked"
"""Store: ids of the ticked runs."""

RUNS_TICKED = "runs-ticked"
"""Store: the run whose tick was pressed last."""

RUNS = "runs"
RUNS_TABLES = "runs-tables"
RUNS_WANTED = "runs-wanted"
"""Store: the runs whose strips the browser lacks, some of them."""

RUNS_STRIPS = "runs-strips"
RUNS_NOTICES = "runs-notices"
COMPARABLE = "runs-comparable"
COMPARE_PICKED = "runs-compare"

DROP = "drop"
ARRIVED = "opened-arrived"
"""Store: the file that was read last: ``{"key": …}``, or why it was not sent: ``{"refused": …}``."""

DISMISSED = "opened-dismissed"
KEPT = "opened-kept"
OPENED_KEYS = "opened-keys"
"""Store of the browser's session: keys of the files that it opened."""

OPENED_CARDS = "opened-cards"

# The History page

HISTORY_URL = "history-url"
HISTORY_LEAVE = "history-leave"
"""The address as a click in the figure sets it: it leads to another page."""

HISTORY_PAGE = "history-page"
HISTORY_CONTEXT = "history-context"
HISTORY_EMPTY = "history-empty"
HISTORY_CARDS = "history-cards"
HISTORY_SHOWN = "history-shown"
HISTORY_STAGE = "history-stage"
HISTORY_METRIC = "history-metric"
HISTORY_PROBLEM = "history-problem"
HISTORY_DEVICE = "history-device"
HISTORY_BELOW = "history-below"
HISTORY_RANGE = "history-range"
"""Store: the rows shown."""

HISTORY_DRAG = "history-drag"
"""Store: the ends of what was dragged out in the figure last."""

HISTORY_RANGES = "history-ranges"
HISTORY_BANNER = "history-banner"
HISTORY_NOTICES = "history-notices"

HISTORY = "history"
CHANGES = "changes"

# The Compare page

COMPARE_URL = "compare-url"
COMPARE_PAGE = "compare-page"
COMPARE_CONTEXT = "compare-context"
COMPARE_EMPTY = "compare-empty"
COMPARE_SHOWN = "compare-shown"
"""Store: what is compared, as the address says it, and the state of the folder."""

COMPARE_A = "compare-a"
COMPARE_A_PART = "compare-a-part"
COMPARE_B = "compare-b"
COMPARE_B_PART = "compare-b-part"
COMPARE_AT = "compare-at"
COMPARE_SWAP = "compare-swap"
COMPARE_CHIPS = "compare-chips"
COMPARE_BANNER = "compare-banner"
COMPARE_LINKS = "compare-links"
COMPARE_NOTICES = "compare-notices"

PAIRS = "pairs"
PAIRS_TABLES = "pairs-tables"
PAIR = "pair"
"""Store: key of the chosen pair of kernels."""

WATERFALL = "compare-waterfall"
DUMBBELL = "compare-waits"
DUMBBELL_SCALE = "compare-waits-scale"
SHIFT = "compare-roofline"
SHIFT_LEVEL = "compare-level"
MOVED = "moved"
MOVED_TABLES = "moved-tables"
COMPARED = "compared"
COMPARED_TABLES = "compared-tables"
COMPARED_ROWS = "compared-rows"
