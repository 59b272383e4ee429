"""Transactions with librdkafka, as lines of a history on standard output. Waits for a line before each. Run by late_commit.rs."""

import json
import sys
import time

from confluent_kafka import KafkaException, Producer

START = time.monotonic_ns()
PARTITIONS = 3
RECORDS = 2


class Author:
    def __init__(self, process, topic):
        self.process = process
        self.topic = topic
        self.number = 0

    def say(self, phase, op, **rest):
        event = {
            "at": (time.monotonic_ns() - START) // 1000,
            "process": self.process,
            "instance": 0,
            "transaction": self.number,
            "phase": phase,
            "op": op,
            **rest,
        }
        print(json.dumps(event), flush=True)

    def send(self, producer, partition, record):
        value = f"{self.process}|{self.number}|{partition}|{record}"
        op = {"key": f"{self.topic}/{partition}", "value": value}

        def told(error, message):
            if error is None:
                self.say("ok", "send", offset=message.offset(), **op)
            else:
                self.say("unknown", "send", why=str(error), offset=None, **op)

        self.say("invoke", "send", offset=None, **op)
        producer.produce(self.topic, value, partition=partition, on_delivery=told)

    def end(self, producer, op, call):
        self.say("invoke", op)
        while True:
            try:
                call(30)
                return self.say("ok", op)
            except KafkaException as error:
                reason = error.args[0]
                if reason.retriable():
                    continue
                if op == "commit" and reason.txn_requires_abort():
                    self.say("fail", op, why=str(reason))
                    return self.end(producer, "abort", producer.abort_transaction)
                self.say("unknown", op, why=str(reason))
                sys.exit(0)


def main():
    bootstrap, topic, transactional_id, process, count = sys.argv[1:]
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 30000,
            "message.timeout.ms": 10000,
            "socket.timeout.ms": 1000,
            "linger.ms": 0,
        }
    )
    producer.init_transactions(30)
    author = Author(process, topic)
    for author.number in range(int(count)):
        author.say("invoke", "begin")
        sys.stdin.readline()
        producer.begin_transaction()
        author.say("ok", "begin")
        for partition in range(PARTITIONS):
            for record in range(RECORDS):
                author.send(producer, partition, record)
            producer.flush(30)
        if author.number % 2 == 0:
            author.end(producer, "commit", producer.commit_transaction)
        else:
            author.end(producer, "abort", producer.abort_transaction)


main()
