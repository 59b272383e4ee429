"""Prints the committed offset of each group that is named on standard input, -1 for none. Run by librdkafka.rs."""

import sys

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient


def main():
    bootstrap, topic, partition = sys.argv[1:]
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for group in sys.stdin.read().split():
        wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, int(partition))])
        asked = admin.list_consumer_group_offsets([wanted], require_stable=True, request_timeout=30)
        (answer,) = asked.values()
        (found,) = answer.result().topic_partitions
        if found.error is not None:
            raise RuntimeError(str(found.error))
        print(max(found.offset, -1))


main()
