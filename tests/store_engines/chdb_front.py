"""chDB behind an HTTP front: ClickHouse's engine in a process, asked as ClickHouse's HTTP interface is. It is for tests, and no ClickHouse server."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

import chdb

# Parameters of the interface that are settings of the query.
SETTINGS = ("output_format_json_quote_64bit_integers", "max_query_size", "max_execution_time")


class Front(BaseHTTPRequestHandler):
    """Answers one statement after the other."""

    def do_POST(self):
        """The answer of the statement in the body."""
        parameters = dict(parse_qsl(urlsplit(self.path).query))
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        settings = ", ".join(f"{name} = {int(parameters[name])}" for name in SETTINGS if name in parameters)
        # The statement may have settings of its own.
        joined = f"{statement}, {settings}" if "\nSETTINGS " in statement else f"{statement} SETTINGS {settings}"
        try:
            status, body = 200, chdb.query(joined, parameters["default_format"]).bytes()
        except Exception as error:  # What the engine refuses is its answer.
            status, body = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing is logged."""


def main():
    """Serves on a free port of this machine, which it prints."""
    server = HTTPServer(("127.0.0.1", 0), Front)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
