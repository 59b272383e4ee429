//! What is sent when: batches that are ready, by leader; batches that are out of time; when to look again. In: time, the current
//! producer, which partitions and nodes may be sent to. Out: the batches of one Produce request.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sealwax_protocol::ids::{NodeId, ProducerIdAndEpoch, TopicPartition};

use super::batch::{Fate, Sealed};
use super::outcome::{Failure, Loss};
use super::queue::{Next, PartitionQueue};
use super::topics::PartitionId;
use super::{Kind, RecordAccumulator};
use crate::error::{Error, ErrorKind};
use crate::machine::RequestId;

/// What a drain has to keep to.
pub(crate) struct Gate<'a> {
    /// Whose id and epoch fresh batches get.
    pub(crate) producer: ProducerIdAndEpoch,
    /// Whether a node may get one more request.
    pub(crate) has_room: &'a dyn Fn(NodeId) -> bool,
    /// Whether a partition may be written to (under TV1, whether it is part of the transaction).
    pub(crate) may_write: &'a dyn Fn(&TopicPartition) -> bool,
}

/// A batch of a Produce request.
#[derive(Debug)]
pub(crate) struct DrainedBatch {
    /// Its partition.
    pub(crate) id: PartitionId,
    /// The sealed bytes.
    pub(crate) bytes: Bytes,
}

/// The batches of one Produce request, at most one per partition, in the order of the partitions.
#[derive(Debug)]
pub(crate) struct Drained {
    /// The leader of them all.
    pub(crate) node: NodeId,
    /// The batches.
    pub(crate) batches: Vec<DrainedBatch>,
}

impl<T> RecordAccumulator<T> {
    /// Takes the batches of the next Produce request, if something is ready for a node that has room.
    pub(crate) fn drain(&mut self, now: Instant, request: RequestId, gate: &Gate<'_>) -> Option<Drained> {
        let mut drained: Option<Drained> = None;
        let mut size = 0_usize;
        for id in self.in_turn() {
            let next = self.next_of(now, id, gate);
            let (Next::Resend { bytes, .. } | Next::Fresh { bytes }) = next else {
                continue;
            };
            let Some(partition) = self.topics.partition_mut(id) else {
                continue;
            };
            let Some(leader) = partition.leader else { continue };
            match &drained {
                None if !(gate.has_room)(leader) => {
                    self.availability.stall(now, leader);
                    continue;
                }
                Some(drained) if drained.node != leader => continue,
                Some(_) if size.saturating_add(bytes) > self.settings.max_request_size => break,
                None | Some(_) => {}
            }
            let transactional = self.settings.kind == Kind::Transactional;
            let Some(bytes) = partition.queue.send(next, request, gate.producer, transactional) else {
                continue;
            };
            size = size.saturating_add(bytes.len());
            self.cursor = PartitionId {
                partition: id.partition + 1,
                ..id
            };
            drained
                .get_or_insert_with(|| Drained {
                    node: leader,
                    batches: Vec::new(),
                })
                .batches
                .push(DrainedBatch { id, bytes });
        }
        if let Some(drained) = &mut drained {
            drained.batches.sort_unstable_by_key(|batch| batch.id);
        }
        drained
    }

    /// Fails the batches whose delivery timeout has passed and that are not on the wire. A batch on the wire is left until its request has
    /// an answer or a deadline of its own. Numbers that were never given to a batch leave no gap; those of a batch that was sent do, unless
    /// what is on the wire behind it shows that it was written.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Failure> {
        if self.next_expiry.is_none_or(|at| at > now) {
            return Vec::new();
        }
        let timeout = self.settings.delivery_timeout;
        let mut failures = Vec::new();
        for id in self.active.iter().copied().collect::<Vec<_>>() {
            self.expire_partition(now, id, &mut failures);
            self.retire(id);
        }
        self.next_expiry = self
            .active
            .iter()
            .filter_map(|id| self.topics.partition(*id)?.queue.oldest_unsent())
            .map(|created| created + timeout)
            .min();
        failures
    }

    fn expire_partition(&mut self, now: Instant, id: PartitionId, failures: &mut Vec<Failure>) {
        let (timeout, kind) = (self.settings.delivery_timeout, self.settings.kind);
        let (Some(name), Some(partition)) = (self.topic_partition(id), self.topics.partition_mut(id)) else {
            return;
        };
        let is_due = |created: Instant| created + timeout <= now;
        let retrying = partition.queue.take_retrying(|batch| is_due(batch.created()));
        let waiting = partition.queue.take_waiting(|batch| is_due(batch.created()));
        let stamped = if retrying.is_empty() {
            None
        } else {
            self.lost_numbers(id)
        };
        for batch in retrying {
            let error = late(&name, "was not acknowledged", timeout, &batch, kind);
            failures.push(Failure {
                error: error.clone(),
                stamped,
            });
            self.finish(batch.fail(error));
        }
        for batch in waiting {
            let cause = overdue(&name, "could not be sent", timeout, None);
            let error = Loss {
                topic_partition: &name,
                cause,
                fate: Fate::Unwritten,
            }
            .into_error(kind);
            failures.push(Failure {
                error: error.clone(),
                stamped: None,
            });
            self.finish(batch.fail(error));
        }
    }

    /// After an epoch bump: numbers batches anew whose numbers were lost, as soon as nothing of theirs is on the wire. Those that may
    /// be in the log are given up.
    pub(crate) fn renumber(&mut self, producer: ProducerIdAndEpoch) {
        for id in std::mem::take(&mut self.broken) {
            let Some(partition) = self.topics.partition_mut(id) else {
                continue;
            };
            for batch in partition.queue.renumber(producer, false) {
                if let Some(error) = self.cannot_renumber(id, &batch) {
                    self.finish(batch.fail(error));
                }
            }
            let partition = self.topics.partition(id);
            if partition.is_some_and(|partition| partition.queue.awaits_renumbering()) {
                self.broken.insert(id);
            }
            self.retire(id);
        }
    }

    /// The next instant after `now` at which a batch becomes ready, a pause ends, or a batch expires.
    pub(crate) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let queues = self
            .active
            .iter()
            .filter_map(|id| self.topics.partition(*id))
            .map(|partition| &partition.queue);
        queues
            .flat_map(|queue| {
                let linger = queue
                    .oldest_open()
                    .map(|(batch, _)| batch.created() + self.settings.linger);
                [queue.paused_until(), linger]
            })
            .flatten()
            .chain(self.next_expiry)
            .filter(|at| *at > now)
            .min()
    }

    fn next_of(&self, now: Instant, id: PartitionId, gate: &Gate<'_>) -> Next {
        let Some(partition) = self.topics.partition(id) else {
            return Next::Nothing;
        };
        let next = partition
            .queue
            .next(now, gate.producer, |queue| self.is_ready(now, queue));
        let may_write = || {
            self.topic_partition(id)
                .is_some_and(|name| (gate.may_write)(&name))
        };
        match next {
            Next::Nothing => Next::Nothing,
            Next::Resend { .. } | Next::Fresh { .. } if may_write() => next,
            Next::Resend { .. } | Next::Fresh { .. } => Next::Nothing,
        }
    }

    fn is_ready(&self, now: Instant, queue: &PartitionQueue<T>) -> bool {
        queue.oldest_open().is_some_and(|(batch, is_closed)| {
            is_closed
                || batch.len() >= self.settings.batch_size
                || batch.created() + self.settings.linger <= now
                || batch.serial() < self.flush_below
                || self.memory.is_wanted()
        })
    }

    fn in_turn(&self) -> Vec<PartitionId> {
        let behind = self.active.range(self.cursor..);
        let before = self.active.range(..self.cursor);
        behind.chain(before).copied().collect()
    }
}

/// What the records of a batch are told that was sent and is out of time.
pub(super) fn late<T>(
    name: &TopicPartition,
    what: &str,
    timeout: Duration,
    batch: &Sealed<T>,
    kind: Kind,
) -> Error {
    let loss = Loss {
        topic_partition: name,
        cause: overdue(name, what, timeout, batch.cause()),
        fate: batch.fate(),
    };
    loss.into_error(kind)
}

fn overdue(name: &TopicPartition, what: &str, timeout: Duration, last: Option<&Error>) -> Error {
    let timeout = timeout.as_millis();
    let why = match last {
        Some(last) => format!("the last attempt failed: {last}"),
        None => "check that the partition has a leader and the broker can be reached".to_owned(),
    };
    let message = format!("{name}: a batch {what} within delivery.timeout.ms = {timeout}; {why}");
    Error::new(ErrorKind::Timeout, message)
}
