//! `sealwax txns list`: transactional ids with their state, producer id and coordinator.

use std::time::Duration;

use sealwax::admin::{Admin, TransactionFilter, TransactionListing, TransactionState};
use sealwax::{Error, NodeId, ProducerId};
use serde_json::{Value, json};

use super::super::cluster::{self, ClusterArguments};
use super::super::{Failure, say};
use super::table::Table;
use super::{connect, error_json, incomplete, time};

/// Arguments of `sealwax txns list`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// Only ids in this state: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, PrepareEpochFence, Dead
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = parse_state)]
    state: Vec<TransactionState>,
    /// Only ids of this producer id
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    producer_id: Vec<i64>,
    /// Only ids whose transaction is open for longer than this, such as 90s, 15m or 2h (brokers from Kafka 3.8 on)
    #[arg(long, value_name = "DURATION", value_parser = time::parse_duration)]
    older_than: Option<Duration>,
    /// Only ids that match this regular expression as a whole, in RE2 syntax (brokers from Kafka 4.1 on)
    #[arg(long, value_name = "REGEX")]
    id_pattern: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// A broker did not list its transactions; what the others listed is printed all the same.
pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let filter = TransactionFilter {
        states: arguments.state.clone(),
        producer_ids: arguments.producer_id.iter().copied().map(ProducerId).collect(),
        older_than: arguments.older_than,
        id_pattern: arguments.id_pattern.clone(),
    };
    let admin = connect(&arguments.cluster).await?;
    let (listed, failed) = list(&admin, &filter).await?;
    if arguments.json {
        say::result(&to_json(&listed, &failed))?;
    } else if listed.is_empty() {
        say::note(
            &"no transactional ids to list (ids that you may not describe are left out by the brokers)",
        );
    } else {
        say::result(&table(&listed))?;
    }
    incomplete("the list is not complete", &failed)
}

/// What was listed, by id, and the brokers that did not list.
type Listed = (Vec<(NodeId, TransactionListing)>, Vec<(String, Error)>);

/// Asks every broker.
///
/// # Errors
/// The brokers are not known, or the filter is none.
pub(super) async fn list(admin: &Admin, filter: &TransactionFilter) -> Result<Listed, Failure> {
    let answers = admin
        .list_transactions(filter)
        .await
        .map_err(|error| cluster::failure("transactions cannot be listed", &error))?;
    let (mut listed, mut failed) = (Vec::new(), Vec::new());
    for (broker, answer) in answers {
        match answer {
            Ok(listings) => listed.extend(listings.into_iter().map(|listing| (broker, listing))),
            Err(error) => failed.push((format!("broker {broker}"), error)),
        }
    }
    listed.sort_by(|(_, one), (_, other)| one.transactional_id.cmp(&other.transactional_id));
    Ok((listed, failed))
}

fn table(listed: &[(NodeId, TransactionListing)]) -> Table<4> {
    let row = |(coordinator, listing): &(NodeId, TransactionListing)| {
        [
            listing.transactional_id.clone(),
            coordinator.to_string(),
            listing.producer_id.0.to_string(),
            listing.state.to_string(),
        ]
    };
    Table::new(
        ["TRANSACTIONAL ID", "COORDINATOR", "PRODUCER ID", "STATE"],
        listed.iter().map(row),
    )
}

fn to_json(listed: &[(NodeId, TransactionListing)], failed: &[(String, Error)]) -> Value {
    let transaction = |(coordinator, listing): &(NodeId, TransactionListing)| {
        json!({
            "transactional_id": listing.transactional_id,
            "coordinator": coordinator.0,
            "producer_id": listing.producer_id.0,
            "state": listing.state.name(),
        })
    };
    json!({
        "transactions": listed.iter().map(transaction).collect::<Value>(),
        "failed": failed.iter().map(|(of, error)| json!({ "of": of, "error": error_json(error) })).collect::<Value>(),
    })
}

fn parse_state(text: &str) -> Result<TransactionState, String> {
    let named = TransactionState::NAMED
        .iter()
        .find(|state| state.name().eq_ignore_ascii_case(text));
    named.copied().ok_or_else(|| {
        let names: Vec<&str> = TransactionState::NAMED.iter().map(|state| state.name()).collect();
        format!("the states are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> Vec<(NodeId, TransactionListing)> {
        let listing = |id: &str, state| TransactionListing {
            transactional_id: id.to_owned(),
            producer_id: ProducerId(12),
            state,
        };
        vec![
            (NodeId(1), listing("orders-1", TransactionState::Ongoing)),
            (NodeId(2), listing("b", TransactionState::CompleteCommit)),
        ]
    }

    #[test]
    fn the_table_and_the_object_say_the_same() {
        assert_eq!(
            table(&listed()).to_string(),
            "TRANSACTIONAL ID  COORDINATOR  PRODUCER ID  STATE\n\
             orders-1          1            12           Ongoing\n\
             b                 2            12           CompleteCommit"
        );
        let object = to_json(&listed(), &[]);
        assert_eq!(
            object["transactions"][0],
            json!({"transactional_id": "orders-1", "coordinator": 1, "producer_id": 12, "state": "Ongoing"})
        );
        assert_eq!(object["failed"], json!([]));
    }

    #[test]
    fn states_are_spelled_as_kafka_does_in_any_case() {
        assert_eq!(parse_state("ongoing"), Ok(TransactionState::Ongoing));
        let refused = parse_state("open").unwrap_err();
        assert!(refused.contains("PrepareEpochFence"), "{refused}");
        assert!(parse_state("Unknown").is_err());
    }
}
