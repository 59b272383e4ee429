//! A group's offset as part of a transaction, by group id alone.

use sealwax::{ConsumerGroupMetadata, Error, OffsetAndMetadata, TopicPartition, Transaction};

pub(crate) async fn send_offsets(
    transaction: &mut Transaction<'_>,
    group: &str,
    (topic, partition): (&str, i32),
    offset: i64,
) -> Result<(), Error> {
    let place = TopicPartition {
        topic: topic.into(),
        partition,
    };
    let group = ConsumerGroupMetadata::new(group);
    transaction
        .send_offsets([(place, OffsetAndMetadata::new(offset))], &group)
        .await
}
