//! How far a source has come, read with our own client: fine for waiting, never evidence.

use std::time::Duration;

use anyhow::{Context, Result};
use sealwax::{Client, IsolationLevel, StartOffset, TopicPartition, admin::OffsetSpec};

use crate::process::Process;
use crate::wait;
use crate::worker::FileSource;

/// The position that a source has committed last; 0 if none. An absent offsets topic counts as none.
///
/// # Errors
/// If the broker cannot be read.
pub fn committed_position(bootstrap: &str, source: &FileSource) -> Result<u64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let client = Client::builder(bootstrap.split(',')).connect().await?;
        let partition = TopicPartition::new(source.offsets_topic(), 0);
        if client.admin().describe_topics(&[&source.offsets_topic()]).await?.iter().any(Result::is_err) {
            return Ok(0);
        }
        let ask = [(partition.clone(), OffsetSpec::Latest)];
        let ends = client.admin().list_offsets(&ask, IsolationLevel::ReadCommitted).await?;
        let end = *ends.get(&partition).context("the offsets topic has no partition 0")?;
        let mut consumer = client.consumer().isolation_level(IsolationLevel::ReadCommitted).build()?;
        consumer.assign([(partition.clone(), StartOffset::Earliest)]);
        let mut position = 0;
        while end > 0 && consumer.position(&partition).is_none_or(|at| at < end) {
            for record in consumer.next().await?.records() {
                let value: serde_json::Value = serde_json::from_slice(record?.value.unwrap_or(b"null"))?;
                position = value["position"].as_u64().unwrap_or(0);
            }
        }
        Ok(position)
    })
}

/// Waits until a source has committed its whole input file as it is now.
///
/// # Errors
/// If it does not come so far within `limit`; what the worker wrote is in the error.
pub fn await_whole_file(bootstrap: &str, source: &FileSource, worker: &Process, limit: Duration) -> Result<()> {
    let length = std::fs::metadata(&source.input)?.len();
    wait::until("the commit of the whole file", limit, || {
        Ok((committed_position(bootstrap, source)? >= length).then_some(()))
    })
    .with_context(|| worker.output().unwrap_or_default())
}
