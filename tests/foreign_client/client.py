"""A connection to the broker with pika."""

import os
from collections import Counter
from itertools import takewhile

import pika
from pika.exceptions import AMQPConnectionError, ChannelClosedByBroker, ConnectionClosedByBroker

from .envelope import CONTENT

RESULTS = "edison.results"


class Allowed(Exception):
    """The broker lets somebody do what nobody may."""


def parameters(port, user, password):
    """How to connect."""
    credentials = pika.PlainCredentials(user, password)
    return pika.ConnectionParameters(
        "127.0.0.1", port, credentials=credentials, heartbeat=600, connection_attempts=1, socket_timeout=120
    )


def connect(port, user, password):
    """A connection."""
    return pika.BlockingConnection(parameters(port, user, password))


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

    def flood(self, messages):
        """Publishes `(name, body, properties)` without waiting for one before the next, until the broker has taken all of them. It may
        refuse some for a time, which it tells only clients that ask for confirms. Returns their names."""
        return Flood(self.port, self.node, messages).taken

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


class Flood:
    """Messages on a connection of their own, each confirmed in the end. One that is refused is published again."""

    # Refusals after which the broker is taken to accept nothing.
    MOST_REFUSED = 100_000

    def __init__(self, port, node, messages):
        self.messages = messages
        self.node = node
        self.channel = None
        # What is not confirmed yet, by its number on the channel, in their order.
        self.open = {}
        self.last = 0
        self.refused = 0
        self.taken = Counter()
        self.connection = pika.SelectConnection(
            parameters(port, node, os.environ["FOREIGN_PASSWORD"]),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self.begin),
            on_close_callback=lambda connection, reason: connection.ioloop.stop(),
        )
        self.connection.ioloop.start()
        if self.taken.total() != len(messages):
            raise ConnectionError(f"{self.taken.total()} of {len(messages)} messages were taken, {self.refused} times one was refused")

    def begin(self, channel):
        self.channel = channel
        channel.confirm_delivery(self.confirmed, callback=lambda _: [self.publish(message) for message in self.messages])

    def publish(self, message):
        _, body, properties = message
        self.last += 1
        self.open[self.last] = message
        self.channel.basic_publish(RESULTS, self.node, body, properties)

    def confirmed(self, frame):
        answer = frame.method
        # The oldest come first.
        first = takewhile(lambda tag: tag <= answer.delivery_tag, self.open)
        tags = list(first) if answer.multiple else [answer.delivery_tag]
        for tag in tags:
            message = self.open.pop(tag)
            if isinstance(answer, pika.spec.Basic.Ack):
                self.taken[message[0]] += 1
            else:
                self.refused += 1
                self.publish(message)
        if not self.open or self.refused > self.MOST_REFUSED:
            self.connection.close()


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
