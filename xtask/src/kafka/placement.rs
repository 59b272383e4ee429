//! Who leads what, and how to have it led by another: what a nemesis asks of a cluster that is half broken.
//!
//! Brokers are asked in turn, each for a short time, since some of them may be down, frozen or cut off.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, BrokerId, ElectLeadersRequest, FindCoordinatorRequest,
    MetadataRequest, TopicName,
};
use kafka_protocol::protocol::{Request, StrBytes};

use super::wire::Wire;

const LIMIT: Duration = Duration::from_secs(3);
const METADATA_VERSION: i16 = 12;
const FIND_COORDINATOR_VERSION: i16 = 4;
const REASSIGN_VERSION: i16 = 0;
const ELECT_VERSION: i16 = 2;
const KEY_OF_TRANSACTION: i8 = 1;
const PREFERRED: i8 = 0;
const ELECTION_NOT_NEEDED: i16 = 84;
const SERVER_TIMEOUT_MS: i32 = 2_500;

/// The node that leads a partition.
///
/// # Errors
/// If no broker answers, there is no such partition, or nobody leads it.
pub fn leader_of(bootstrap: &str, topic: &str, partition: i32) -> Result<i32> {
    let leader = describe(bootstrap, topic, partition)?.leader_id.0;
    ensure!(leader >= 0, "{topic}-{partition} has no leader");
    Ok(leader)
}

/// The node that coordinates the transactions of a transactional id.
///
/// # Errors
/// If no broker answers or the coordinator is not available.
pub fn transaction_coordinator(bootstrap: &str, transactional_id: &str) -> Result<i32> {
    let request = FindCoordinatorRequest::default()
        .with_key_type(KEY_OF_TRANSACTION)
        .with_coordinator_keys(vec![StrBytes::from_string(transactional_id.to_owned())]);
    let answer = ask_any(bootstrap, FIND_COORDINATOR_VERSION, &request)?;
    let found = answer
        .coordinators
        .first()
        .context("an empty answer to FindCoordinator")?;
    ensure!(
        found.error_code == 0,
        "no coordinator of {transactional_id} (error code {})",
        found.error_code
    );
    Ok(found.node_id.0)
}

/// Puts `node` first among a partition's replicas and has the first one elected. With `__transaction_state` this moves coordinators.
///
/// # Errors
/// If no broker answers, `node` is no replica of the partition, or the controller refuses (`node` is not in sync, say).
pub fn move_leader(bootstrap: &str, topic: &str, partition: i32, node: i32) -> Result<()> {
    let mut replicas = describe(bootstrap, topic, partition)?.replica_nodes;
    ensure!(
        replicas.contains(&BrokerId(node)),
        "{topic}-{partition} has no replica on node {node}"
    );
    replicas.sort_by_key(|id| (id.0 != node, id.0));
    reorder(bootstrap, topic, partition, replicas)?;
    elect_first(bootstrap, topic, partition)
}

fn reorder(bootstrap: &str, topic: &str, partition: i32, replicas: Vec<BrokerId>) -> Result<()> {
    let partition = ReassignablePartition::default()
        .with_partition_index(partition)
        .with_replicas(Some(replicas));
    let topic = ReassignableTopic::default()
        .with_name(name(topic))
        .with_partitions(vec![partition]);
    let request = AlterPartitionReassignmentsRequest::default()
        .with_timeout_ms(SERVER_TIMEOUT_MS)
        .with_topics(vec![topic]);
    let answer = ask_any(bootstrap, REASSIGN_VERSION, &request)?;
    let each = answer
        .responses
        .iter()
        .flat_map(|topic| &topic.partitions)
        .map(|partition| partition.error_code);
    match each.chain([answer.error_code]).find(|code| *code != 0) {
        Some(code) => bail!("the replicas were not put in another order (error code {code})"),
        None => Ok(()),
    }
}

fn elect_first(bootstrap: &str, topic: &str, partition: i32) -> Result<()> {
    let partitions = TopicPartitions::default()
        .with_topic(name(topic))
        .with_partitions(vec![partition]);
    let request = ElectLeadersRequest::default()
        .with_election_type(PREFERRED)
        .with_topic_partitions(Some(vec![partitions]))
        .with_timeout_ms(SERVER_TIMEOUT_MS);
    let answer = ask_any(bootstrap, ELECT_VERSION, &request)?;
    let each = answer
        .replica_election_results
        .iter()
        .flat_map(|topic| &topic.partition_result)
        .map(|partition| partition.error_code);
    let failed = |code: &i16| *code != 0 && *code != ELECTION_NOT_NEEDED;
    match each.chain([answer.error_code]).find(failed) {
        Some(code) => bail!("the first replica was not elected (error code {code})"),
        None => Ok(()),
    }
}

fn describe(bootstrap: &str, topic: &str, partition: i32) -> Result<MetadataResponsePartition> {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default()
        .with_topics(Some(vec![asked]))
        .with_allow_auto_topic_creation(false);
    let answer = ask_any(bootstrap, METADATA_VERSION, &request)?;
    let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
    partitions
        .into_iter()
        .find(|found| found.partition_index == partition)
        .with_context(|| format!("there is no {topic}-{partition}"))
}

fn ask_any<R: Request>(bootstrap: &str, version: i16, request: &R) -> Result<R::Response> {
    let mut last = anyhow::Error::msg("the bootstrap list is empty");
    for address in bootstrap.split(',') {
        match Wire::connect(address, LIMIT).and_then(|mut wire| wire.call(version, request)) {
            Ok(answer) => return Ok(answer),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn name(topic: &str) -> TopicName {
    TopicName(StrBytes::from_string(topic.to_owned()))
}
