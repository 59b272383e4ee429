//! The cluster model from outside: how it is made, an operator's acts as a run needs them, and what stands in its logs, found the slow way.

use std::collections::BTreeMap;
use std::time::Duration;

use sealwax_devbroker::{Cluster, Origin, Settings};
use sealwax_protocol::StrBytes;
use sealwax_protocol::ids::{NodeId, TopicPartition};
use sealwax_protocol::messages::{InitProducerIdRequest, TransactionalId};
use sealwax_protocol::record::ControlType;
use sealwax_protocol::response::ResponseBody;

use super::check::Records;
use super::producer::INPUT;
use super::scenario::Scenario;
use super::world::NODES;

/// A cluster with one topic.
pub(super) fn cluster(nodes: i32, scenario: &Scenario, topic: &str, partitions: i32) -> Cluster {
    let mut settings = Settings::default();
    settings.nodes = nodes;
    settings.transaction_version = scenario.transaction_version;
    settings.marker_delay = scenario.marker_delay;
    let mut cluster = Cluster::new(settings);
    cluster.create_topic(topic, partitions);
    cluster.create_topic(INPUT, 1);
    cluster
}

/// The live node after this one.
fn after(cluster: &Cluster, node: NodeId) -> NodeId {
    let others = (0..NODES).map(|step| NodeId((node.0 + step) % NODES + 1));
    let mut live = others.filter(|node| cluster.is_up(*node));
    live.next().unwrap_or(node)
}

pub(super) fn move_leader(cluster: &mut Cluster, now: Duration, topic: &str, partition: i32) {
    let partition = TopicPartition::new(topic, partition);
    if let Some((leader, _)) = cluster.leader(&partition) {
        cluster.move_leader(now, &partition, after(cluster, leader));
    }
}

pub(super) fn move_transaction_coordinator(cluster: &mut Cluster, now: Duration, id: &str) {
    let to = cluster.transaction_coordinator(id).unwrap_or(NodeId(1));
    cluster.move_transaction_coordinator(now, id, after(cluster, to));
}

pub(super) fn move_group_coordinator(cluster: &mut Cluster, now: Duration, group: &str) {
    let to = cluster.group_coordinator(group).unwrap_or(NodeId(1));
    cluster.move_group_coordinator(now, group, after(cluster, to));
}

pub(super) fn stop_node(cluster: &mut Cluster, now: Duration, node: NodeId) {
    cluster.stop_node(now, node);
}

pub(super) fn start_node(cluster: &mut Cluster, now: Duration, node: NodeId) {
    cluster.start_node(now, node);
}

pub(super) fn set_transaction_version(cluster: &mut Cluster, now: Duration, level: i16) {
    cluster.set_transaction_version(now, level);
}

/// Initialises a transactional id again and again, until its epoch is this one.
pub(super) fn exhaust(cluster: &mut Cluster, now: Duration, id: &str, epoch: i16) {
    let node = cluster.transaction_coordinator(id).expect("a coordinator");
    let request = InitProducerIdRequest::default()
        .with_transactional_id(Some(TransactionalId(StrBytes::from_string(id.to_owned()))))
        .with_transaction_timeout_ms(60_000)
        .with_producer_id((-1).into())
        .with_producer_epoch(-1);
    for correlation in 0..=i32::from(epoch) {
        let origin = Origin {
            node,
            connection: u64::MAX,
            correlation,
        };
        cluster.handle_request(now, origin, 4, request.clone().into());
        let answer = cluster.poll_answer().expect("an answer at once");
        let ResponseBody::InitProducerId(told) = answer.body else {
            panic!("InitProducerId was answered with {answer:?}");
        };
        assert_eq!(told.error_code, 0);
        if told.producer_epoch == epoch {
            return;
        }
    }
    panic!("epoch {epoch} was not reached");
}

/// The end of a partition's log.
pub(super) fn end(cluster: &Cluster, topic: &str, partition: i32) -> i64 {
    cluster
        .high_watermark(&TopicPartition::new(topic, partition))
        .unwrap_or(0)
}

/// The committed offset of a group in a topic's first partition.
pub(super) fn group_offset(cluster: &Cluster, group: &str, topic: &str) -> Option<i64> {
    cluster.group_offset(group, &TopicPartition::new(topic, 0))
}

/// Every data record with its offset.
pub(super) fn logs(cluster: &Cluster, topic: &str, partitions: i32) -> Records {
    let of = |partition| {
        let log = cluster.log(&TopicPartition::new(topic, partition));
        let batches = log.expect("a log").batches().iter();
        let data = batches.filter(|batch| batch.control().is_none());
        data.flat_map(|batch| numbered(batch.base_offset(), &batch.values()))
            .collect()
    };
    (0..partitions)
        .map(|partition| (partition, of(partition)))
        .collect()
}

/// What a read_committed reader is to get: one pass over the log that keeps back what each producer's next marker decides about.
pub(super) fn committed(cluster: &Cluster, topic: &str, partitions: i32) -> Records {
    let mut all = Records::new();
    for partition in 0..partitions {
        let log = cluster
            .log(&TopicPartition::new(topic, partition))
            .expect("a log");
        let mut visible = Vec::new();
        let mut held: BTreeMap<i64, Vec<(i64, u64)>> = BTreeMap::new();
        for batch in log.batches() {
            let producer = batch.producer_id();
            match batch.control() {
                Some(ControlType::Commit) => visible.extend(held.remove(&producer).unwrap_or_default()),
                Some(ControlType::Abort) => drop(held.remove(&producer)),
                Some(ControlType::Other(_)) => {}
                None if batch.is_transactional() => {
                    let records = numbered(batch.base_offset(), &batch.values());
                    held.entry(producer).or_default().extend(records);
                }
                None => visible.extend(numbered(batch.base_offset(), &batch.values())),
            }
        }
        visible.sort_unstable();
        all.insert(partition, visible);
    }
    all
}

fn numbered(base: i64, values: &[bytes::Bytes]) -> Vec<(i64, u64)> {
    let values = values.iter().map(|value| {
        let bytes = value.as_ref().try_into().expect("eight bytes");
        u64::from_be_bytes(bytes)
    });
    (base..).zip(values).collect()
}
