//! A process that reads: one consumer from beginning to end of the run, and one that is dropped and started again a little before the
//! place where it was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use sealwax::{Client, Consumer, FetchedRecords, StartOffset, TopicPartition};
use sealwax_tests::history::{Journal, Op, Scribe, Start};

use crate::told::Told;

/// How long the second consumer lives.
const LIFE: Duration = Duration::from_secs(8);
/// How far the next one goes back.
const BACK: i64 = 50;
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(crate) async fn read(told: &Arc<Told>) -> Result<()> {
    let journal = told.journal()?;
    let Some(client) = told.connect().await else {
        return Ok(());
    };
    tokio::try_join!(
        once(told, &client, &journal),
        again_and_again(told, &client, &journal)
    )?;
    Ok(())
}

async fn once(told: &Told, client: &Client, journal: &Journal) -> Result<()> {
    let scribe = journal.scribe("reader-steady", 1);
    let starts = told
        .keys()
        .into_keys()
        .map(|partition| (partition, StartOffset::Earliest))
        .collect();
    let mut consumer = assign(told, client, &scribe, (starts, Start::Beginning))?;
    follow(told, &mut consumer, &scribe, None).await
}

async fn again_and_again(told: &Told, client: &Client, journal: &Journal) -> Result<()> {
    let mut starts: BTreeMap<i32, StartOffset> = told
        .keys()
        .into_keys()
        .map(|partition| (partition, StartOffset::At(0)))
        .collect();
    for instance in 1.. {
        let scribe = journal.scribe("reader-restless", instance);
        let mut consumer = assign(told, client, &scribe, (starts.clone(), Start::Elsewhere))?;
        follow(told, &mut consumer, &scribe, Some(Instant::now() + LIFE)).await?;
        if told.is_over() {
            break;
        }
        for (partition, start) in &mut starts {
            let position = consumer.position(&TopicPartition::new(told.topic.as_str(), *partition));
            if let Some(position) = position {
                *start = StartOffset::At((position - BACK).max(0));
            }
        }
    }
    Ok(())
}

fn assign(
    told: &Told,
    client: &Client,
    scribe: &Scribe,
    (starts, start): (BTreeMap<i32, StartOffset>, Start),
) -> Result<Consumer> {
    let mut consumer = client.consumer().isolation_level(told.isolation).build()?;
    scribe.ok(Op::Assign {
        keys: told.keys().into_values().collect(),
        start,
    });
    consumer.assign(
        starts
            .into_iter()
            .map(|(partition, start)| (TopicPartition::new(told.topic.as_str(), partition), start)),
    );
    Ok(consumer)
}

/// Reads until the end of the run, or of this reader's life.
async fn follow(told: &Told, consumer: &mut Consumer, scribe: &Scribe, until: Option<Instant>) -> Result<()> {
    while !told.is_over() && until.is_none_or(|until| Instant::now() < until) {
        if let Ok(fetched) = tokio::time::timeout(LOOK_AGAIN, consumer.next()).await {
            write_down(&fetched?, scribe)?;
        }
    }
    Ok(())
}

/// Writes down what was read.
pub(crate) fn write_down(fetched: &FetchedRecords, scribe: &Scribe) -> Result<()> {
    let mut records = Vec::new();
    for record in fetched.records() {
        let record = record?;
        let value = String::from_utf8_lossy(record.value.unwrap_or_default());
        records.push((record.offset, value.into_owned()));
    }
    if !records.is_empty() {
        let partition = fetched.topic_partition();
        scribe.ok(Op::Poll {
            key: format!("{}/{}", partition.topic, partition.partition),
            records,
        });
    }
    Ok(())
}
