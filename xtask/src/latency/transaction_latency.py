"""How long transactions of one record take with librdkafka. Run by `cargo xtask latency`; see peers.rs for the protocol."""

import sys
import time

from confluent_kafka import Producer


def round_of(producer, topic, count):
    figures = []
    for _ in range(count):
        begun = time.perf_counter_ns()
        producer.begin_transaction()
        producer.produce(topic, value=b"one", partition=0)
        producer.commit_transaction()
        figures.append(time.perf_counter_ns() - begun)
    return " ".join(map(str, figures))


def main():
    bootstrap, topic, transactional_id = sys.argv[1:]
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "acks": "all",
            "linger.ms": 0,
        }
    )
    producer.init_transactions()
    for line in sys.stdin:
        print(round_of(producer, topic, int(line)), flush=True)


main()
