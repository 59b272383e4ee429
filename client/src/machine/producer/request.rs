//! Produce: the request for the batches of one leader. In: what was drained. Out: the request, and what was asked, so that the answer
//! finds back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};

use super::response::Asked;
use crate::config::Acks;
use crate::machine::accumulator::{Drained, RecordAccumulator};
use crate::machine::transaction::Sender;
use crate::machine::{Destination, Lane, Outbound, RequestId};

/// Builds the request.
pub(super) fn build<T>(
    now: Instant,
    id: RequestId,
    drained: Drained,
    accumulator: &RecordAccumulator<T>,
    (sender, acks): (Sender, Acks),
    timeout: Duration,
) -> (Vec<Asked>, Outbound) {
    let mut asked = Vec::with_capacity(drained.batches.len());
    let mut topics: Vec<(usize, ProduceTopic)> = Vec::new();
    for batch in drained.batches {
        let Some((name, topic_id)) = accumulator.topic(batch.id) else {
            continue;
        };
        // A partition's index came from the cluster as an i32.
        let index = i32::try_from(batch.id.partition).unwrap_or(i32::MAX);
        asked.push(Asked {
            id: batch.id,
            topic: Arc::clone(name),
            topic_id,
            index,
        });
        let partition = ProducePartition {
            index,
            records: batch.bytes,
        };
        // Drained in the order of the partitions, so that a topic's stand together.
        match topics.last_mut() {
            Some((topic, entry)) if *topic == batch.id.topic => entry.partitions.push(partition),
            _ => topics.push((
                batch.id.topic,
                ProduceTopic {
                    name: Arc::clone(name),
                    id: topic_id,
                    partitions: vec![partition],
                },
            )),
        }
    }
    let request = ProduceRequest {
        transactional_id: sender.transactional_id,
        acks: acks.wire(),
        timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
        topics: topics.into_iter().map(|(_, topic)| topic).collect(),
    };
    let outbound = Outbound {
        id,
        to: Destination::Node(drained.node),
        lane: Lane::Produce,
        body: request.into(),
        versions: sender.versions,
        deadline: now + timeout,
    };
    (asked, outbound)
}
