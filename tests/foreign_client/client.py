"""A connection to the broker with pika."""

import os
from collections import Counter

import pika
from pika.exceptions import AMQPConnectionError, ChannelClosedByBroker, ConnectionClosedByBroker

from .envelope import CONTENT

RESULTS = "edison.results"


class Allowed(Exception):
    """The broker lets somebody do what nobody may."""


def connect(port, user, password):
    """A connection."""
    credentials = pika.PlainCredentials(user, password)
    parameters = pika.ConnectionParameters(
        "127.0.0.1", port, credentials=credentials, heartbeat=600, connection_attempts=1, socket_timeout=120
    )
    return pika.BlockingConnection(parameters)


class Rogue:
    """A client with the rights of a node's probe."""

    def __init__(self, port, node):
        self.port = port
        self.node = node
        self.connection = connect(port, node, os.environ["FOREIGN_PASSWORD"])
        self.refused = Counter()
        self.channel = None

    def properties(self, **more):
        """Those of a message of its own."""
        return pika.BasicProperties(**{**CONTENT, "user_id": self.node, **more})

    def publish(self, body, properties=None, key=None):
        """Publishes, and waits until the broker has it. Returns whether it takes it."""
        if self.channel is None or self.channel.is_closed:
            self.channel = self.connection.channel()
            self.channel.confirm_delivery()
        try:
            self.channel.basic_publish(RESULTS, key or self.node, body, properties or self.properties(), mandatory=True)
            return True
        except ChannelClosedByBroker as error:
            self.refused[name(error)] += 1
            return False

    def may_not(self, what, ask):
        """Asks for something on a channel of its own, which the broker has to refuse."""
        channel = self.connection.channel()
        channel.confirm_delivery()
        try:
            ask(channel)
        except ChannelClosedByBroker as error:
            self.refused[name(error)] += 1
            return
        raise Allowed(f"{what} is allowed")


def name(error):
    """The broker's own name of a refusal."""
    return error.reply_text.split(" ")[0]


def nobody(port, user, password):
    """Connects as somebody whom the broker does not know. Returns the name of its refusal."""
    try:
        connect(port, user, password).close()
    except ConnectionClosedByBroker as error:
        return name(error)
    except AMQPConnectionError as error:
        return type(error).__name__
    raise Allowed(f"{user!r} may connect")
