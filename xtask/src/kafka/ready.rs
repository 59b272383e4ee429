//! When a cluster counts as up: not when a port is open, but when *every* running broker, asked for metadata, lists all running
//! brokers and a controller, every partition of every topic has a leader among them and its running replicas in sync,
//! and each leader acts as one (it names the end of its partitions; a broker may still hesitate after the metadata has settled).
//! A fresh cluster must moreover name its coordinators, which creates `__transaction_state` and `__consumer_offsets`.
//!
//! [`judge`] is pure; [`await_ready`] asks again until it agrees or time is up.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{
    BrokerId, FindCoordinatorRequest, ListOffsetsRequest, MetadataRequest, MetadataResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::wire::Wire;

const METADATA_VERSION: i16 = 12;
const FIND_COORDINATOR_VERSION: i16 = 4;
const LIST_OFFSETS_VERSION: i16 = 7;
const LATEST: i64 = -1;
const CALL_LIMIT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);

/// What must be true.
#[derive(Debug, Clone)]
pub(super) struct Expectation {
    /// Id and address of every broker that is meant to run.
    pub(super) brokers: Vec<(i32, String)>,
    /// Whether the coordinators must answer too.
    pub(super) coordinators: bool,
}

/// Waits until the expectation is met. `check` is called between attempts and may give up early (a dead process).
pub(super) fn await_ready(
    expectation: &Expectation,
    limit: Duration,
    mut check: impl FnMut() -> Result<()>,
) -> Result<()> {
    let end = Instant::now() + limit;
    loop {
        let Err(reason) = probe(expectation) else {
            return Ok(());
        };
        check()?;
        if Instant::now() >= end {
            bail!("not ready after {} s: {reason:#}", limit.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the expectation is met now; else why not.
pub(super) fn probe(expectation: &Expectation) -> Result<()> {
    let mut wires = Vec::with_capacity(expectation.brokers.len());
    for (_, address) in &expectation.brokers {
        wires.push(Wire::connect(address, CALL_LIMIT)?);
    }
    // Before coordinators are asked for, all brokers must be known, or the internal topics cannot get their replicas.
    judge_all(expectation, &mut wires)?;
    if expectation.coordinators {
        for wire in &mut wires {
            find_coordinator(wire, KeyType::Transaction)?;
            find_coordinator(wire, KeyType::Group)?;
        }
        judge_all(expectation, &mut wires)?;
    }
    Ok(())
}

fn judge_all(expectation: &Expectation, wires: &mut [Wire]) -> Result<()> {
    let running: Vec<i32> = expectation.brokers.iter().map(|(id, _)| *id).collect();
    let request = MetadataRequest::default()
        .with_topics(None)
        .with_allow_auto_topic_creation(false);
    for (wire, id) in wires.iter_mut().zip(&running) {
        let metadata = wire.call(METADATA_VERSION, &request)?;
        if let Err(reason) = judge(&metadata, &running) {
            bail!("broker {id} says: {reason}");
        }
        ask_leader(wire, *id, &metadata)?;
    }
    Ok(())
}

/// Asks a broker for the ends of the partitions that it leads by its own metadata.
fn ask_leader(wire: &mut Wire, id: i32, metadata: &MetadataResponse) -> Result<()> {
    let answer = wire.call(LIST_OFFSETS_VERSION, &ends_of_led(id, metadata))?;
    for topic in &answer.topics {
        if let Some(partition) = topic
            .partitions
            .iter()
            .find(|partition| partition.error_code != 0)
        {
            let (name, index) = (topic.name.as_str(), partition.partition_index);
            bail!(
                "broker {id} does not lead {name}-{index} yet (error code {})",
                partition.error_code
            );
        }
    }
    Ok(())
}

fn ends_of_led(id: i32, metadata: &MetadataResponse) -> ListOffsetsRequest {
    let topics = metadata.topics.iter().filter_map(|topic| {
        let led = topic
            .partitions
            .iter()
            .filter(|partition| partition.leader_id.0 == id);
        let asked = led.map(|partition| {
            let index = partition.partition_index;
            ListOffsetsPartition::default()
                .with_partition_index(index)
                .with_timestamp(LATEST)
        });
        Some(
            ListOffsetsTopic::default()
                .with_name(topic.name.clone()?)
                .with_partitions(asked.collect()),
        )
    });
    let topics = topics.filter(|topic| !topic.partitions.is_empty()).collect();
    ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_topics(topics)
}

/// Whether one broker's metadata shows a cluster that works; else what is missing.
fn judge(metadata: &MetadataResponse, running: &[i32]) -> Result<(), String> {
    let listed = |id: i32| metadata.brokers.iter().any(|broker| broker.node_id.0 == id);
    if let Some(id) = running.iter().find(|id| !listed(**id)) {
        return Err(format!("broker {id} is not in the metadata"));
    }
    if !running.contains(&metadata.controller_id.0) {
        return Err(format!(
            "the controller ({}) is not among the running brokers",
            metadata.controller_id.0
        ));
    }
    for topic in &metadata.topics {
        let name = topic.name.as_ref().map_or("(unnamed)", |name| name.as_str());
        for partition in &topic.partitions {
            let place = format!("{name}-{}", partition.partition_index);
            if !running.contains(&partition.leader_id.0) {
                return Err(format!("{place} has no running leader"));
            }
            let lagging = |id: &&i32| {
                let is = |nodes: &[BrokerId]| nodes.iter().any(|node| node.0 == **id);
                is(&partition.replica_nodes) && !is(&partition.isr_nodes)
            };
            if let Some(id) = running.iter().find(lagging) {
                return Err(format!("replica {id} of {place} is not in sync"));
            }
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum KeyType {
    Group = 0,
    Transaction = 1,
}

fn find_coordinator(wire: &mut Wire, key_type: KeyType) -> Result<()> {
    let request = FindCoordinatorRequest::default()
        .with_key_type(key_type as i8)
        .with_coordinator_keys(vec![StrBytes::from_static_str("xtask-ready")]);
    let answer = wire.call(FIND_COORDINATOR_VERSION, &request)?;
    match answer.coordinators.first() {
        Some(coordinator) if coordinator.error_code == 0 => Ok(()),
        Some(coordinator) => bail!(
            "no {key_type:?} coordinator yet (error code {})",
            coordinator.error_code
        ),
        None => bail!("an empty answer to FindCoordinator"),
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::TopicName;
    use kafka_protocol::messages::metadata_response::{
        MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
    };

    use super::*;

    fn metadata(brokers: &[i32], leader: i32, in_sync: &[i32]) -> MetadataResponse {
        let ids = |ids: &[i32]| ids.iter().map(|id| BrokerId(*id)).collect::<Vec<_>>();
        let partition = MetadataResponsePartition::default()
            .with_leader_id(BrokerId(leader))
            .with_replica_nodes(ids(&[1, 2, 3]))
            .with_isr_nodes(ids(in_sync));
        let topic = MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from_static_str("t"))))
            .with_partitions(vec![partition]);
        MetadataResponse::default()
            .with_controller_id(BrokerId(2))
            .with_brokers(
                brokers
                    .iter()
                    .map(|id| MetadataResponseBroker::default().with_node_id(BrokerId(*id)))
                    .collect(),
            )
            .with_topics(vec![topic])
    }

    #[test]
    fn a_whole_cluster_is_ready() {
        assert_eq!(judge(&metadata(&[1, 2, 3], 1, &[1, 2, 3]), &[1, 2, 3]), Ok(()));
    }

    #[test]
    fn a_missing_broker_leader_or_replica_is_not() {
        let reason = |metadata| judge(&metadata, &[1, 2, 3]).unwrap_err();
        assert_eq!(
            reason(metadata(&[1, 2], 1, &[1, 2, 3])),
            "broker 3 is not in the metadata"
        );
        assert_eq!(
            reason(metadata(&[1, 2, 3], -1, &[1, 2, 3])),
            "t-0 has no running leader"
        );
        assert_eq!(
            reason(metadata(&[1, 2, 3], 1, &[1, 3])),
            "replica 2 of t-0 is not in sync"
        );
    }

    #[test]
    fn a_leader_is_asked_for_what_it_leads_only() {
        let led = |id| ends_of_led(id, &metadata(&[1, 2], 1, &[1, 2])).topics;
        assert_eq!(led(1).first().map(|topic| topic.partitions.len()), Some(1));
        assert!(led(2).is_empty());
    }

    #[test]
    fn a_stopped_broker_is_not_waited_for() {
        assert_eq!(judge(&metadata(&[1, 2], 1, &[1, 2]), &[1, 2]), Ok(()));
        assert!(
            judge(&metadata(&[1, 2, 3], 1, &[1, 3]), &[1, 3])
                .unwrap_err()
                .contains("controller")
        );
    }
}
