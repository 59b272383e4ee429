//! A compacted topic as a log of state: made if it is missing, checked if it is there, read whole from the beginning.
//!
//! Reading stops at the end that was captured first, under read_uncommitted, while only committed records are returned:
//! a transaction that is still open before that end is waited for, so nothing that may yet be committed is missed.

use std::time::{Duration, Instant};

use sealwax::admin::{Admin, NewTopic, OffsetSpec, TopicDescription};
use sealwax::config::ConsumerConfig;
use sealwax::{Client, Consumer, ErrorCode, ErrorKind, IsolationLevel, StartOffset, TopicPartition};

use crate::error::StoreError;

/// How long a read may stand still before the operator is told why.
const STANDSTILL: Duration = Duration::from_secs(10);

/// How long every broker may take to learn of a topic that exists.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

const ASK_AGAIN: Duration = Duration::from_millis(50);

/// A compacted topic and how to make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactedTopic {
    /// The name.
    pub name: String,
    /// Partitions if it has to be made.
    pub partitions: i32,
    /// Replicas if it has to be made; none takes the broker's default.
    pub replication_factor: Option<i16>,
}

/// Makes the topic if it does not exist; checks that it is compacted if it does.
///
/// # Errors
/// It exists and is not compacted, or the cluster does not let it be made or looked at. If only its settings may not be
/// looked at, that is logged and passes, as in Java.
///
/// # Cancel safety
/// The topic may be made all the same.
pub async fn ensure_topic(client: &Client, topic: &CompactedTopic) -> Result<(), StoreError> {
    let admin = client.admin();
    match described(&admin, &topic.name).await? {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::UnknownTopic => create(&admin, topic).await?,
        Err(error) => return Err(failed("look at", &topic.name)(error)),
    }
    match admin.topic_configs(&topic.name).await {
        Ok(configs) => match configs.get("cleanup.policy").cloned().flatten() {
            Some(found) if found != "compact" => Err(StoreError::NotCompacted {
                topic: topic.name.clone(),
                found,
            }),
            _ => Ok(()),
        },
        Err(error) if error.kind() == ErrorKind::Authorization => {
            tracing::warn!(topic = topic.name, %error, "cannot check that the topic is compacted; make sure that it is");
            Ok(())
        }
        Err(source) => Err(failed("look at the settings of", &topic.name)(source)),
    }
}

async fn create(admin: &Admin, topic: &CompactedTopic) -> Result<(), StoreError> {
    let mut new = NewTopic::new(&topic.name)
        .partitions(topic.partitions)
        .config("cleanup.policy", "compact");
    new.replication_factor = topic.replication_factor;
    let results = admin
        .create_topics(&[new])
        .await
        .map_err(failed("create", &topic.name))?;
    match results.into_iter().next() {
        Some(Err(error)) if error.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS) => Ok(()),
        Some(Err(error)) => Err(failed("create", &topic.name)(error)),
        Some(Ok(())) | None => {
            tracing::info!(
                topic = topic.name,
                partitions = topic.partitions,
                "created the offsets topic, compacted"
            );
            Ok(())
        }
    }
}

/// What the cluster says of the topic.
async fn described(admin: &Admin, name: &str) -> Result<sealwax::Result<TopicDescription>, StoreError> {
    let topics = admin
        .describe_topics(&[name])
        .await
        .map_err(failed("look at", name))?;
    topics.into_iter().next().ok_or_else(|| StoreError::NotDescribed {
        topic: name.to_owned(),
    })
}

/// The partitions of a topic that exists. A broker may not know it yet, just after it was made or the broker was started: that
/// is waited for, and never taken for a topic without records.
async fn partitions_of(admin: &Admin, name: &str) -> Result<Vec<TopicPartition>, StoreError> {
    let deadline = Instant::now() + KNOWN_WITHIN;
    loop {
        match described(admin, name).await? {
            Ok(topic) => {
                let partitions = topic.partitions.iter();
                return Ok(partitions
                    .map(|p| TopicPartition::new(name, p.partition))
                    .collect());
            }
            Err(error) if error.kind() == ErrorKind::UnknownTopic && Instant::now() < deadline => {
                tokio::time::sleep(ASK_AGAIN).await;
            }
            Err(error) => return Err(failed("read", name)(error)),
        }
    }
}

/// Gives every committed record of the topic to `record` (key and value), up to the end as of now. Returns how many.
///
/// # Errors
/// The topic cannot be read.
///
/// # Cancel safety
/// Reads only; `record` has seen some of the records.
pub async fn read_to_end(
    client: &Client,
    topic: &str,
    config: ConsumerConfig,
    mut record: impl FnMut(Option<&[u8]>, Option<&[u8]>) + Send,
) -> Result<u64, StoreError> {
    let mut unread = unread_partitions(&client.admin(), topic).await?;
    let mut config = config;
    config.isolation_level = IsolationLevel::ReadCommitted;
    let mut consumer = client
        .consumer()
        .config(config)
        .build()
        .map_err(failed("read", topic))?;
    consumer.assign(
        unread
            .iter()
            .map(|(partition, _)| (partition.clone(), StartOffset::Earliest)),
    );
    let mut count = 0;
    while !unread.is_empty() {
        let Ok(fetched) = tokio::time::timeout(STANDSTILL, consumer.next()).await else {
            warn_of_standstill(&consumer, &unread);
            continue;
        };
        let fetched = fetched.map_err(failed("read", topic))?;
        for one in fetched.records() {
            let one = one.map_err(failed("read", topic))?;
            record(one.key, one.value);
            count += 1;
        }
        let next = fetched.next_offset();
        unread.retain(|(partition, end)| partition != fetched.topic_partition() || next < *end);
    }
    Ok(count)
}

/// The partitions that hold something, with their ends.
async fn unread_partitions(admin: &Admin, topic: &str) -> Result<Vec<(TopicPartition, i64)>, StoreError> {
    let partitions = partitions_of(admin, topic).await?;
    let ask = |spec| partitions.iter().map(|p| (p.clone(), spec)).collect::<Vec<_>>();
    let level = IsolationLevel::ReadUncommitted;
    let ends = admin
        .list_offsets(&ask(OffsetSpec::Latest), level)
        .await
        .map_err(failed("read", topic))?;
    let starts = admin
        .list_offsets(&ask(OffsetSpec::Earliest), level)
        .await
        .map_err(failed("read", topic))?;
    let holds_something =
        |(partition, end): &(TopicPartition, i64)| starts.get(partition).is_none_or(|start| start < end);
    Ok(ends.into_iter().filter(holds_something).collect())
}

fn warn_of_standstill(consumer: &Consumer, unread: &[(TopicPartition, i64)]) {
    for (partition, end) in unread {
        let position = consumer.position(partition);
        let stable = consumer.last_stable_offset(partition);
        if stable.is_some_and(|stable| stable < *end) {
            tracing::warn!(
                %partition, position, end, last_stable_offset = stable,
                "reading offsets waits for an open transaction of another producer to end \
                 (kafka-transactions find-hanging names it)"
            );
        } else {
            tracing::warn!(%partition, position, end, "reading offsets waits for the broker");
        }
    }
}

fn failed(doing: &'static str, topic: &str) -> impl Fn(sealwax::Error) -> StoreError {
    move |source| StoreError::Client {
        doing,
        topic: topic.to_owned(),
        source,
    }
}
