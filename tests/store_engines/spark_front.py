"""One session of Spark for many questions: `spark-sql` starts one for each, which takes longer than most answers.

    spark_front.py MASTER                   serves a session of this cluster on a free port of this machine, which it prints
    spark_front.py OPTION… -f FILE          is asked as `spark-sql` is: sends the statement of FILE to SPARK_FRONT_PORT, and prints its lines

The settings are those that each question brings along."""

import json
import os
import socket
import sys
from pathlib import Path


def settings_of(options):
    """The settings of the options."""
    pairs = zip(options, options[1:])
    return dict(value.split("=", 1) for name, value in pairs if name == "--conf")


def answer(session, request):
    """The lines of a statement, whose rows have one text."""
    # Those of the start of a session cannot be changed any more.
    for name, value in request["settings"].items():
        if session.conf.isModifiable(name):
            session.conf.set(name, value)
    rows = session.sql(request["statement"].strip().rstrip(";")).collect()
    return [str(row[0]) for row in rows]


def serve(master):
    """Answers one client after the other."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("store-engines")
    usual = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.catalogImplementation": "in-memory",
    }
    for name, value in usual.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rw") as stream:
                try:
                    told = {"lines": answer(session, json.loads(stream.readline()))}
                except Exception as error:  # What the engine refuses is its answer.
                    told = {"error": str(error)}
                stream.write(json.dumps(told) + "\n")


def ask(options):
    """Prints the lines, or what is wrong."""
    statement = Path(options[options.index("-f") + 1]).read_text()
    with socket.create_connection(("127.0.0.1", int(os.environ["SPARK_FRONT_PORT"]))) as connection, connection.makefile("rw") as stream:
        stream.write(json.dumps({"statement": statement, "settings": settings_of(options)}) + "\n")
        stream.flush()
        told = json.loads(stream.readline())
    if "error" in told:
        print(told["error"], file=sys.stderr)
        return 1
    for line in told["lines"]:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1]) if len(sys.argv) == 2 else ask(sys.argv[1:]))
