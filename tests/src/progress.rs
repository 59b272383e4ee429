//! How far a source has come, read with our own client: quick enough to ask often. What counts in the end is read by Java.

use std::time::Duration;

use anyhow::{Context, Result};
use sealwax::{Client, IsolationLevel, StartOffset, TopicPartition, admin::OffsetSpec};

use crate::process::Process;
use crate::wait;
use crate::worker::FileSource;

/// All values of a topic's partition 0 that are committed now; none if there is no such topic.
///
/// # Errors
/// If the broker cannot be read.
pub fn committed(bootstrap: &str, topic: &str) -> Result<Vec<Vec<u8>>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = Client::builder(bootstrap.split(',')).connect().await?;
        let partition = TopicPartition::new(topic, 0);
        if client
            .admin()
            .describe_topics(&[topic])
            .await?
            .iter()
            .any(Result::is_err)
        {
            return Ok(Vec::new());
        }
        let ask = [(partition.clone(), OffsetSpec::Latest)];
        let ends = client
            .admin()
            .list_offsets(&ask, IsolationLevel::ReadCommitted)
            .await?;
        let end = *ends.get(&partition).context("the topic has no partition 0")?;
        let mut consumer = client
            .consumer()
            .isolation_level(IsolationLevel::ReadCommitted)
            .build()?;
        consumer.assign([(partition.clone(), StartOffset::Earliest)]);
        let mut values = Vec::new();
        while end > 0 && consumer.position(&partition).is_none_or(|at| at < end) {
            for record in consumer.next().await?.records() {
                values.push(record?.value.unwrap_or_default().to_vec());
            }
        }
        Ok(values)
    })
}

/// The position that a source has committed last; 0 if none.
///
/// # Errors
/// If the broker cannot be read.
pub fn committed_position(bootstrap: &str, source: &FileSource) -> Result<u64> {
    let Some(last) = committed(bootstrap, &source.offsets_topic())?.pop() else {
        return Ok(0);
    };
    let offset: serde_json::Value = serde_json::from_slice(&last)?;
    offset["position"]
        .as_u64()
        .with_context(|| format!("{offset} has no position"))
}

/// Waits until a source has committed its whole input file as it is now.
///
/// # Errors
/// If it does not come so far within `limit`; what the worker wrote is in the error.
pub fn await_whole_file(
    bootstrap: &str,
    source: &FileSource,
    worker: &Process,
    limit: Duration,
) -> Result<()> {
    let length = std::fs::metadata(&source.input)?.len();
    wait::until("the commit of the whole file", limit, || {
        Ok((committed_position(bootstrap, source)? >= length).then_some(()))
    })
    .with_context(|| worker.output().unwrap_or_default())
}
