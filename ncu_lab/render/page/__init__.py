"""One self-contained HTML file that shows what the dashboard shows: figures, tables and words, without a server."""
