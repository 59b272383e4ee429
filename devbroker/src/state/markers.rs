//! From the decided end of a transaction to its last marker, and what begins and ends with time.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::record::ControlType;

use super::{Event, State};
use crate::coordinator::{Added, Level, Outcome, Phase, TransactionMetadata};
use crate::log::{Marker, MarkerRule};
use crate::names::milliseconds;
use crate::settings::Release;

impl State {
    /// By whose rules the brokers themselves end a transaction.
    pub(crate) const fn own_level(&self) -> Level {
        if self.features.transaction_version >= 2 {
            Level::V2
        } else {
            Level::V1
        }
    }

    /// Puts partitions into a transaction, for its producer or for a leader that asks (`ask` has checked the coordinator).
    pub(crate) fn add_partitions(
        &mut self,
        now: Duration,
        transactional_id: &str,
        producer: ProducerIdAndEpoch,
        partitions: impl IntoIterator<Item = TopicPartition>,
    ) -> Result<(), ErrorCode> {
        let metadata = self.transactions.ask(now, transactional_id)?;
        if metadata.add_partitions(now, producer, partitions)? == Added::Begun {
            let expires_at = metadata.expires_at();
            if let Some(at) = expires_at {
                self.timers.plan(at, Event::Expire(transactional_id.into()));
            }
        }
        Ok(())
    }

    /// The end of this id's transaction is decided (its phase is `Prepare`): markers are sent out from `now` on.
    pub(crate) fn send_markers(&mut self, now: Duration, transactional_id: &str) {
        let Some(coordinator_epoch) = self.coordinator_epoch(transactional_id) else {
            return;
        };
        let Some((id, _)) = self.transactions.ids.get_key_value(transactional_id) else {
            return;
        };
        let id = Arc::clone(id);
        let Some(coordinated) = self.transactions.ids.get_mut(transactional_id) else {
            return;
        };
        let Phase::Prepare { open, .. } = coordinated.metadata.phase() else {
            return;
        };
        coordinated.unmarked.clone_from(&open.partitions);
        let count = u32::try_from(coordinated.unmarked.len()).unwrap_or(u32::MAX);
        if count == 0 {
            let event = Event::Complete {
                transactional_id: id,
                coordinator_epoch,
            };
            self.timers.plan(now + self.settings.marker_delay, event);
            return;
        }
        for (partition, nth) in coordinated.unmarked.iter().zip(1_u32..) {
            let event = Event::WriteMarker {
                transactional_id: Arc::clone(&id),
                coordinator_epoch,
                partition: partition.clone(),
            };
            self.timers
                .plan(now + self.settings.marker_delay * nth / count, event);
        }
    }

    fn coordinator_epoch(&self, transactional_id: &str) -> Option<i32> {
        let home = self.transactions.home(transactional_id)?;
        home.leadership.leader.map(|_| home.leadership.epoch)
    }

    /// A marker is due at a partition's leader.
    pub(crate) fn write_marker(
        &mut self,
        now: Duration,
        transactional_id: Arc<str>,
        coordinator_epoch: i32,
        partition: TopicPartition,
    ) {
        if self.coordinator_epoch(&transactional_id) != Some(coordinator_epoch) {
            return;
        }
        let Some(coordinated) = self.transactions.ids.get(&transactional_id) else {
            return;
        };
        if !coordinated.unmarked.contains(&partition) {
            return;
        }
        let Some(marker) = marker_of(now, &coordinated.metadata, coordinator_epoch) else {
            return;
        };
        if self.leader_of(&partition).is_none() {
            let event = Event::WriteMarker {
                transactional_id,
                coordinator_epoch,
                partition,
            };
            let pause = self.settings.marker_delay.max(Duration::from_millis(1));
            self.timers.plan(now + pause, event);
            return;
        }
        let refused = self.mark(&partition, &marker).is_err();
        if refused && !self.is_at_least(Release::V4_4) {
            // Kafka 3.9 gives up here, and the transaction stays as it is.
            return;
        }
        // Later releases take it that a later marker is there already, and this one is not needed any more.
        if let Some(coordinated) = self.transactions.ids.get_mut(&transactional_id) {
            coordinated.unmarked.remove(&partition);
            if coordinated.unmarked.is_empty() {
                coordinated.metadata.complete();
            }
        }
    }

    /// Writes a marker into a partition, also into one of committed offsets.
    pub(crate) fn mark(&mut self, partition: &TopicPartition, marker: &Marker) -> Result<(), ErrorCode> {
        if let Some(home) = self.groups.home_mut(partition) {
            home.log.mark(marker, home.coordinator.leadership.epoch)?;
            self.groups.end_transaction(partition, marker);
            return Ok(());
        }
        let found = self
            .topics
            .partition_mut(partition)
            .ok_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
        found.log.mark(marker, found.leadership.epoch)?;
        self.changes += 1;
        Ok(())
    }

    /// A transaction without partitions is at its end.
    pub(crate) fn complete_transaction(&mut self, transactional_id: &str, coordinator_epoch: i32) {
        if self.coordinator_epoch(transactional_id) == Some(coordinator_epoch)
            && let Some(coordinated) = self.transactions.ids.get_mut(transactional_id)
            && coordinated.unmarked.is_empty()
        {
            coordinated.metadata.complete();
        }
    }

    /// The transaction of this id may be too old.
    pub(crate) fn expire_transaction(&mut self, now: Duration, transactional_id: &Arc<str>) {
        let level = self.own_level();
        // Drawn before it is known whether it is needed; ids are plenty.
        let fresh = self.new_producer_id();
        let home = self.transactions.home(transactional_id);
        let is_coordinated = home.is_some_and(|home| home.check_any(now).is_ok());
        let Some(metadata) = self.transactions.metadata_mut(transactional_id) else {
            return;
        };
        let Some(due) = metadata.expires_at() else {
            return;
        };
        if due > now {
            // Another transaction, whose own event is planned.
            return;
        }
        if !is_coordinated {
            let event = Event::Expire(Arc::clone(transactional_id));
            self.timers.plan(now + Duration::from_millis(10), event);
            return;
        }
        if metadata.expire(now, level, || fresh) {
            self.send_markers(now, transactional_id);
        }
    }
}

/// The marker of a transaction whose end is decided.
fn marker_of(now: Duration, metadata: &TransactionMetadata, coordinator_epoch: i32) -> Option<Marker> {
    let Phase::Prepare { outcome, level, .. } = metadata.phase() else {
        return None;
    };
    Some(Marker {
        control: match outcome {
            Outcome::Commit => ControlType::Commit,
            Outcome::Abort => ControlType::Abort,
        },
        producer: metadata.producer(),
        coordinator_epoch,
        timestamp: milliseconds(now),
        rule: match level {
            Level::V1 => MarkerRule::SameEpoch,
            Level::V2 => MarkerRule::RaisedEpoch,
        },
    })
}
