"""The address that files are sent to: ``POST /open``, with the bytes as the body and the name in a header."""

from __future__ import annotations

from typing import BinaryIO, cast
from urllib.parse import unquote

from flask import Flask, Response, jsonify, request

from ncu_lab_dash.opened import MOST_BYTES, OpenedFiles

PATH = "/open"
NAME_HEADER = "X-File-Name"
"""The file's name, percent-encoded UTF-8. A page of another site cannot send it without being asked first."""


def take_files(server: Flask, files: OpenedFiles) -> None:
    """Answer ``POST /open``: read the file that arrives and return its key."""

    @server.post(PATH)
    def open_file() -> Response:
        name = request.headers.get(NAME_HEADER)
        size = request.content_length
        if name is None or size is None:
            return Response("A file needs a name and a length.\n", status=400, mimetype="text/plain")
        if size > MOST_BYTES:
            words = "Files up to 64 MB are opened here. For larger ones: ncu-lab import FILE\n"
            return Response(words, status=413, mimetype="text/plain")
        request.max_content_length = MOST_BYTES
        opened = files.open(unquote(name, errors="replace"), cast("BinaryIO", request.stream), size)
        return jsonify(key=opened.key, state=opened.state)
