"""Prints every record of a topic: partition, offset, value. Run by librdkafka.rs."""

import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition


def main():
    bootstrap, topic, isolation = sys.argv[1:]
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reads-without-a-group",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
    left = set(partitions)
    while left:
        message = consumer.poll(30)
        if message is None:
            raise RuntimeError(f"nothing came for 30 s from {left}")
        error = message.error()
        if error is None:
            print(message.partition(), message.offset(), message.value().decode(), sep="\t")
        elif error.code() == KafkaError._PARTITION_EOF:
            left.discard(message.partition())
        else:
            raise RuntimeError(str(error))
    consumer.close()


main()
