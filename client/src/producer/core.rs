//! What both kinds of producer share: the machine's driver and the way of a record into it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::delivery::Delivery;
use crate::config::ProducerConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::machine::accumulator::{Appended, Refusal, Turn};
use crate::machine::producer::{ProducerMachine, Settings};
use crate::record::Record;
use crate::runtime::cluster::Cluster;
use crate::runtime::driver::DriverHandle;
use crate::runtime::waiters::{Completion, Deliveries};
use crate::runtime::{clock, entropy};

/// What both kinds of producer share: the machine's driver and the way of a record into it.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) handle: DriverHandle<ProducerMachine<Completion>>,
    pub(crate) max_block: Duration,
    deliveries: Arc<Deliveries>,
}

impl Core {
    pub(super) async fn start(
        cluster: Arc<Cluster>,
        config: ProducerConfig,
        transactional_id: Option<Arc<str>>,
    ) -> Result<Self> {
        match transactional_id {
            Some(_) => config.validate_transactional()?,
            None => config.validate()?,
        }
        let max_block = config.max_block;
        // Who wants no send to wait needs a producer id all the same.
        let (patience, name) = if max_block.is_zero() {
            (cluster.config().request_timeout, "request.timeout.ms")
        } else {
            (max_block, "max.block.ms")
        };
        let settings = Settings {
            config,
            transactional_id,
            request_timeout: cluster.config().request_timeout,
            backoff: cluster.retry_backoff(),
        };
        let deliveries = Arc::new(Deliveries::default());
        let told = Arc::clone(&deliveries);
        let machine = ProducerMachine::new(settings, entropy::rng());
        let core = Self {
            handle: DriverHandle::spawn(cluster, machine, move |resolved| told.deliver(resolved)),
            max_block,
            deliveries,
        };
        let initialized = core.handle.wait_for(|machine, _| machine.initialized());
        match tokio::time::timeout(patience, initialized).await {
            Ok(initialized) => initialized.map(|()| core),
            Err(_) => {
                let message = format!(
                    "no producer id was given within {name} = {}; check that the brokers can be reached",
                    patience.as_millis()
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// Puts a record into its batch.
    pub(crate) async fn send(&self, record: &Record<'_>) -> Result<Delivery> {
        let timestamp = record.timestamp.unwrap_or_else(clock::wall_clock_ms);
        let mut place = Place::nowhere(&self.handle);
        let taken = self
            .handle
            .with_quietly(|machine, now| place.append(machine, now, record, timestamp));
        match taken {
            Ok(appended) => Ok(self.accept(appended)),
            Err(Refusal::Error(error)) => Err(error),
            Err(Refusal::Metadata(_) | Refusal::Stale(_) | Refusal::Memory) => {
                self.send_later(place, record, timestamp).await
            }
        }
    }

    async fn send_later(
        &self,
        mut place: Place<'_>,
        record: &Record<'_>,
        timestamp: i64,
    ) -> Result<Delivery> {
        // The refused attempt has left wishes with the machine: for the topic, for news of it, or for room.
        self.handle.wake();
        let mut reason = None;
        let taken = self.handle.wait_for(|machine, now| {
            let stood_in_line = place.turn.is_some();
            match place.append(machine, now, record, timestamp) {
                Ok(appended) => Some(Ok(appended)),
                Err(Refusal::Error(error)) => Some(Err(error)),
                Err(refusal @ (Refusal::Metadata(_) | Refusal::Stale(_) | Refusal::Memory)) => {
                    let waits_for_news = |refusal: &Refusal| matches!(refusal, Refusal::Stale(_));
                    let wants_news = waits_for_news(&refusal) && !reason.as_ref().is_some_and(waits_for_news);
                    if (place.turn.is_some() && !stood_in_line) || wants_news {
                        // From now on batches are sent without their linger; or news of the topic are wished for.
                        self.handle.wake();
                    }
                    reason = Some(refusal);
                    None
                }
            }
        });
        match tokio::time::timeout(self.max_block, taken).await {
            Ok(taken) => taken.map(|appended| self.accept(appended)),
            Err(_) => Err(refused(record.topic, reason, self.max_block)),
        }
    }

    fn accept(&self, appended: Appended<Delivery>) -> Delivery {
        if appended.made_work {
            self.handle.wake();
        }
        appended.ticket
    }

    pub(super) async fn flush(&self) -> Result<()> {
        let ticket = self.handle.with(|machine, _| machine.flush());
        self.told(ticket).await
    }

    pub(super) async fn flush_within(&self, limit: Duration) -> Result<()> {
        match tokio::time::timeout(limit, self.flush()).await {
            Ok(flushed) => flushed,
            Err(_) => {
                let message = format!(
                    "records are without result after {} ms; they are still being sent",
                    limit.as_millis()
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    pub(super) async fn close_within(&self, limit: Duration) -> Result<()> {
        let ticket = self.handle.with(|machine, now| machine.close_within(now, limit));
        // The machine keeps to the limit by itself.
        let told = self.told(ticket).await;
        match self.handle.with_quietly(|machine, _| machine.cut_off()) {
            0 => told,
            batches => {
                let message = format!(
                    "{batches} batches had no result within {} ms and were given up; each record's Delivery tells whether it may be \
                     written",
                    limit.as_millis()
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// Waits until every batch of that ticket has its result and was told it.
    async fn told(&self, ticket: u64) -> Result<()> {
        let told = self
            .handle
            .wait_for(|machine, _| machine.is_flushed(ticket))
            .await;
        // The driver hands results out a moment after the machine has them.
        self.handle
            .wait_for(|_, _| (self.deliveries.told() >= told).then_some(()))
            .await;
        match self.deliveries.take_unseen() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// A sender's place in the line of those who wait for buffer room. It is left when the sender is done or gives up.
struct Place<'a> {
    handle: &'a DriverHandle<ProducerMachine<Completion>>,
    turn: Option<Turn>,
    /// When the first attempt was made.
    since: Option<Instant>,
}

impl<'a> Place<'a> {
    const fn nowhere(handle: &'a DriverHandle<ProducerMachine<Completion>>) -> Self {
        Self {
            handle,
            turn: None,
            since: None,
        }
    }

    /// Appends, or gets in line if there is no room.
    fn append(
        &mut self,
        machine: &mut ProducerMachine<Completion>,
        now: Instant,
        record: &Record<'_>,
        timestamp: i64,
    ) -> std::result::Result<Appended<Delivery>, Refusal> {
        let taken = |completion: &Completion, index| Delivery::new(completion.cell(), index);
        let since = *self.since.get_or_insert(now);
        let appended = machine.append_in_turn(
            (now, since),
            self.turn.as_ref(),
            (record, timestamp),
            Completion::default,
            taken,
        );
        match appended {
            Err(Refusal::Memory) => {
                self.turn.get_or_insert_with(|| machine.line_up());
            }
            Ok(_) => {
                if let Some(turn) = self.turn.take() {
                    machine.leave(turn);
                }
            }
            Err(Refusal::Metadata(_) | Refusal::Stale(_) | Refusal::Error(_)) => {}
        }
        appended
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            // The next in line may go now.
            self.handle.with(|machine, _| machine.leave(turn));
        }
    }
}

fn refused(topic: &str, reason: Option<Refusal>, waited: Duration) -> Error {
    let waited = waited.as_millis();
    match reason {
        Some(Refusal::Memory) => {
            let message = format!(
                "no room for the record within max.block.ms = {waited}: records are sent faster than the brokers take them; \
                 raise buffer.memory or send more slowly"
            );
            Error::new(ErrorKind::Timeout, message)
        }
        Some(Refusal::Metadata(code)) if code.is_error() => {
            let message = format!(
                "topic {topic} is not there after max.block.ms = {waited}; create it, or let brokers do so \
                 (auto.create.topics.enable)"
            );
            Error::broker(ErrorKind::UnknownTopic, code, message)
        }
        Some(Refusal::Stale(error)) => error,
        Some(Refusal::Metadata(_) | Refusal::Error(_)) | None => {
            let message = format!(
                "nothing was heard of topic {topic} within max.block.ms = {waited}; check that the brokers can be reached"
            );
            Error::new(ErrorKind::Timeout, message)
        }
    }
}
