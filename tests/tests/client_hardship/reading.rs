//! All values of a topic, partition after partition, as our own read_committed consumer sees them up to the end at the time of asking.

use std::time::Duration;

use anyhow::{Context, Result};
use sealwax::admin::OffsetSpec;
use sealwax::{Client, IsolationLevel, StartOffset, TopicPartition};

/// A transaction that nobody ends blocks a reader: no longer than this.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) async fn committed(client: &Client, topic: &str, partitions: i32) -> Result<Vec<String>> {
    let mut values = Vec::new();
    for partition in 0..partitions {
        let partition = TopicPartition::new(topic, partition);
        let read = one(client, &partition, &mut values);
        tokio::time::timeout(LIMIT, read)
            .await
            .with_context(|| format!("{partition} could not be read to its end within {LIMIT:?}"))??;
    }
    Ok(values)
}

async fn one(client: &Client, partition: &TopicPartition, values: &mut Vec<String>) -> Result<()> {
    let ask = [(partition.clone(), OffsetSpec::Latest)];
    let ends = client
        .admin()
        .list_offsets(&ask, IsolationLevel::ReadUncommitted)
        .await?;
    let mut consumer = client
        .consumer()
        .isolation_level(IsolationLevel::ReadCommitted)
        .build()?;
    consumer.assign([(partition.clone(), StartOffset::Earliest)]);
    while ends[partition] > 0 && consumer.position(partition).is_none_or(|at| at < ends[partition]) {
        for record in consumer.next().await?.records() {
            let value = record?.value.context("a record without value")?;
            values.push(String::from_utf8(value.to_vec())?);
        }
    }
    Ok(())
}
