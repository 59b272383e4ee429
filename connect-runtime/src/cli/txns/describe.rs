//! `sealwax txns describe`: transactional ids as their coordinators know them, or the producers that partitions remember.

use sealwax::admin::{Admin, ProducerState, TransactionDescription};
use sealwax::{Error, TopicPartition};
use serde_json::{Value, json};

use super::super::cluster::ClusterArguments;
use super::super::{Failure, say};
use super::scope::PartitionArgument;
use super::table::{Table, cell};
use super::{connect, error_json, incomplete, time};

/// Arguments of `sealwax txns describe`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The transactional ids
    #[arg(
        value_name = "ID",
        required_unless_present = "partition",
        conflicts_with = "partition"
    )]
    ids: Vec<String>,
    /// Instead of ids: describe the producers that this partition remembers; may be given several times
    #[arg(long, value_name = "TOPIC:N")]
    partition: Vec<PartitionArgument>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// An id or partition could not be described; what the others told is printed all the same.
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let admin = connect(&arguments.cluster).await?;
    if arguments.partition.is_empty() {
        transactions(&admin, &arguments.ids, arguments.json).await
    } else {
        let partitions: Vec<_> = arguments
            .partition
            .into_iter()
            .map(|argument| argument.0)
            .collect();
        producers(&admin, &partitions, arguments.json).await
    }
}

async fn transactions(admin: &Admin, ids: &[String], json: bool) -> Result<(), Failure> {
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let results = admin.describe_transactions(&names).await;
    let of = |id: &String| format!("transactional id \"{id}\"");
    let (found, failed) = split(ids.iter().map(of), results);
    let described: Vec<TransactionDescription> = found.into_iter().map(|(_, found)| found).collect();
    if json {
        let objects: Value = described.iter().map(transaction_json).collect();
        say::result(&json!({ "transactions": objects, "failed": failed_json(&failed) }))?;
    } else if !described.is_empty() {
        say::result(&transaction_table(&described, time::now_ms()))?;
    }
    incomplete("not everything could be described", &failed)
}

async fn producers(admin: &Admin, partitions: &[TopicPartition], json: bool) -> Result<(), Failure> {
    let results = admin.describe_producers(partitions).await;
    let named = partitions
        .iter()
        .map(|partition| format!("partition {partition}"));
    let numbered = results
        .into_iter()
        .zip(partitions)
        .map(|(result, partition)| result.map(|states| (partition.clone(), states)));
    let (found, failed) = split(named, numbered);
    let found: Vec<(TopicPartition, Vec<ProducerState>)> =
        found.into_iter().map(|(_, found)| found).collect();
    if json {
        let objects: Value = found.iter().map(partition_json).collect();
        say::result(&json!({ "partitions": objects, "failed": failed_json(&failed) }))?;
    } else if found.iter().any(|(_, states)| !states.is_empty()) {
        say::result(&producer_table(&found))?;
    } else if !found.is_empty() {
        say::note(&"no idempotent or transactional producer has written there recently");
    }
    incomplete("not everything could be described", &failed)
}

type Split<T> = (Vec<(String, T)>, Vec<(String, Error)>);

fn split<T>(
    names: impl IntoIterator<Item = String>,
    results: impl IntoIterator<Item = Result<T, Error>>,
) -> Split<T> {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for (name, result) in names.into_iter().zip(results) {
        match result {
            Ok(value) => found.push((name, value)),
            Err(error) => failed.push((name, error)),
        }
    }
    (found, failed)
}

fn failed_json(failed: &[(String, Error)]) -> Value {
    failed
        .iter()
        .map(|(of, error)| json!({ "of": of, "error": error_json(error) }))
        .collect()
}

fn transaction_table(described: &[TransactionDescription], now_ms: i64) -> Table<9> {
    let row = |of: &TransactionDescription| {
        let partitions: Vec<String> = of.partitions.iter().map(ToString::to_string).collect();
        [
            of.transactional_id.clone(),
            of.coordinator.to_string(),
            of.state.to_string(),
            of.producer_id.0.to_string(),
            of.producer_epoch.0.to_string(),
            time::duration(of.timeout),
            cell(of.start_time_ms.map(time::utc)),
            cell(
                of.start_time_ms
                    .map(|start| time::duration(time::since(start, now_ms))),
            ),
            if partitions.is_empty() {
                cell(None::<i32>)
            } else {
                partitions.join(", ")
            },
        ]
    };
    Table::new(
        [
            "TRANSACTIONAL ID",
            "COORDINATOR",
            "STATE",
            "PRODUCER ID",
            "EPOCH",
            "TIMEOUT",
            "OPEN SINCE",
            "FOR",
            "PARTITIONS",
        ],
        described.iter().map(row),
    )
}

/// A transaction in a JSON document.
pub(super) fn transaction_json(of: &TransactionDescription) -> Value {
    let partition =
        |partition: &TopicPartition| json!({ "topic": &*partition.topic, "partition": partition.partition });
    json!({
        "transactional_id": of.transactional_id,
        "coordinator": of.coordinator.0,
        "state": of.state.name(),
        "producer_id": of.producer_id.0,
        "producer_epoch": of.producer_epoch.0,
        "timeout_ms": u64::try_from(of.timeout.as_millis()).unwrap_or(u64::MAX),
        "start_time_ms": of.start_time_ms,
        "partitions": of.partitions.iter().map(partition).collect::<Value>(),
    })
}

fn producer_table(found: &[(TopicPartition, Vec<ProducerState>)]) -> Table<7> {
    let row = |partition: &TopicPartition, of: &ProducerState| {
        [
            partition.to_string(),
            of.producer_id.0.to_string(),
            of.producer_epoch.0.to_string(),
            cell(of.coordinator_epoch),
            cell(of.last_sequence),
            cell(of.last_timestamp_ms.map(time::utc)),
            cell(of.current_txn_start_offset),
        ]
    };
    Table::new(
        [
            "PARTITION",
            "PRODUCER ID",
            "EPOCH",
            "COORDINATOR EPOCH",
            "LAST SEQUENCE",
            "LAST WRITE",
            "OPEN FROM OFFSET",
        ],
        found
            .iter()
            .flat_map(|(partition, states)| states.iter().map(move |of| row(partition, of))),
    )
}

fn partition_json((partition, states): &(TopicPartition, Vec<ProducerState>)) -> Value {
    json!({
        "topic": &*partition.topic,
        "partition": partition.partition,
        "producers": states.iter().map(producer_json).collect::<Value>(),
    })
}

fn producer_json(of: &ProducerState) -> Value {
    json!({
        "producer_id": of.producer_id.0,
        "producer_epoch": of.producer_epoch.0,
        "coordinator_epoch": of.coordinator_epoch,
        "last_sequence": of.last_sequence,
        "last_timestamp_ms": of.last_timestamp_ms,
        "current_txn_start_offset": of.current_txn_start_offset,
    })
}

#[cfg(test)]
mod tests {
    use sealwax::admin::TransactionState;

    use super::super::judge::tests::{described, open};
    use super::*;

    #[test]
    fn the_tables_say_what_the_objects_say() {
        let described = [described(7, TransactionState::Ongoing, &[0, 2])];
        assert_eq!(
            transaction_table(&described, 61_005).to_string(),
            "TRANSACTIONAL ID  COORDINATOR  STATE    PRODUCER ID  EPOCH  TIMEOUT    OPEN SINCE            FOR        PARTITIONS\n\
             orders-1          2            Ongoing  7            3      1 min 0 s  1970-01-01T00:00:00Z  1 min 1 s  t-0, t-2"
        );
        assert_eq!(
            transaction_json(&described[0]),
            json!({
                "transactional_id": "orders-1", "coordinator": 2, "state": "Ongoing", "producer_id": 7, "producer_epoch": 3,
                "timeout_ms": 60_000, "start_time_ms": 5,
                "partitions": [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 2}],
            })
        );
        let found = [(TopicPartition::new("t", 0), vec![open().producer])];
        assert_eq!(
            producer_table(&found).to_string(),
            "PARTITION  PRODUCER ID  EPOCH  COORDINATOR EPOCH  LAST SEQUENCE  LAST WRITE            OPEN FROM OFFSET\n\
             t-0        7            3      -                  0              1970-01-01T00:00:01Z  40"
        );
        assert_eq!(
            partition_json(&found[0])["producers"][0],
            json!({
                "producer_id": 7, "producer_epoch": 3, "coordinator_epoch": null, "last_sequence": 0,
                "last_timestamp_ms": 1000, "current_txn_start_offset": 40,
            })
        );
    }
}
