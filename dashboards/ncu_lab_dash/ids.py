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
NOTICES = "notices"

PROBLEM = "problem"
DEVICE = "device"
STAGE = "stage"
SORT = "sort"
SCALE = "scale"
PANEL = "panel"
LEVEL = "level"

MATRIX = "matrix"
MATRIX_TITLE = "matrix-title"
MATRIX_NOTE = "matrix-note"
MATRIX_LEGEND = "matrix-legend"
MATRIX_FOOT = "matrix-foot"
MATRIX_TABLE = "matrix-table"
MATRIX_DETAILS = "matrix-details"
MATRIX_ROWS = "matrix-rows"

SPEED = "speed"
SPEED_TITLE = "speed-title"

ROOFLINE = "roofline"
ROOFLINE_TITLE = "roofline-title"
ROOFLINE_FOOT = "roofline-foot"
ROOFLINE_TABLE = "roofline-table"
ROOFLINE_DETAILS = "roofline-details"
