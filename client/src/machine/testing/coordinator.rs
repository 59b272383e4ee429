//! The transaction coordinator of one transactional id, by the transition rules of Kafka 3.6 (V1) and 4.1 (V2).

use std::collections::BTreeSet;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::TopicPartition;

/// Where the transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Empty,
    Ongoing,
    CompleteCommit,
    CompleteAbort,
}

/// What a request did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) code: ErrorCode,
    /// Id and epoch to tell.
    pub(crate) producer: (i64, i16),
    /// Markers to write: partitions, epoch, commit.
    pub(crate) markers: Option<(BTreeSet<TopicPartition>, i64, i16, bool)>,
}

/// A coordinator.
#[derive(Debug)]
pub(crate) struct Coordinator {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    last_epoch: Option<i16>,
    previous_id: Option<i64>,
    pub(crate) phase: Phase,
    partitions: BTreeSet<TopicPartition>,
}

impl Coordinator {
    pub(crate) fn new(first_epoch: i16) -> Self {
        Self {
            id: 1000,
            epoch: first_epoch,
            last_epoch: None,
            previous_id: None,
            phase: Phase::Empty,
            partitions: BTreeSet::new(),
        }
    }

    /// InitProducerId.
    pub(crate) fn init(&mut self, claim: (i64, i16)) -> Reply {
        let (id, epoch) = claim;
        let is_retry = id >= 0 && self.previous_id == Some(id) && epoch >= i16::MAX - 1;
        if is_retry {
            return self.reply(ErrorCode::NONE);
        }
        if id >= 0 && id != self.id {
            return self.reply(ErrorCode::PRODUCER_FENCED);
        }
        if self.phase == Phase::Ongoing {
            // Whoever asks: the open transaction is fenced off and aborted, and the last epoch forgotten.
            self.epoch += 1;
            self.last_epoch = None;
            let markers = self.complete(false);
            return Reply {
                code: ErrorCode::CONCURRENT_TRANSACTIONS,
                markers,
                ..self.reply(ErrorCode::NONE)
            };
        }
        if id >= 0 && Some(epoch) == self.last_epoch {
            return self.reply(ErrorCode::NONE);
        }
        if id >= 0 && epoch != self.epoch {
            return self.reply(ErrorCode::PRODUCER_FENCED);
        }
        if self.epoch >= i16::MAX - 1 {
            self.previous_id = Some(self.id);
            self.id += 1;
            self.epoch = 0;
            self.last_epoch = None;
        } else {
            self.last_epoch = (id >= 0).then_some(self.epoch);
            self.epoch += 1;
        }
        self.phase = Phase::Empty;
        self.reply(ErrorCode::NONE)
    }

    /// AddPartitionsToTxn, or what a leader does for the first write of V2.
    pub(crate) fn add(&mut self, producer: (i64, i16), partitions: &[TopicPartition]) -> ErrorCode {
        if producer != (self.id, self.epoch) {
            return ErrorCode::PRODUCER_FENCED;
        }
        if self.phase != Phase::Ongoing {
            self.partitions.clear();
            self.phase = Phase::Ongoing;
        }
        self.partitions.extend(partitions.iter().cloned());
        ErrorCode::NONE
    }

    /// The state by the name of DescribeTransactions. Here the markers are written at once.
    pub(crate) const fn state(&self) -> &'static str {
        match self.phase {
            Phase::Empty => "Empty",
            Phase::Ongoing => "Ongoing",
            Phase::CompleteCommit => "CompleteCommit",
            Phase::CompleteAbort => "CompleteAbort",
        }
    }

    /// The verification of a write (KIP-890 part 1).
    pub(crate) fn has(&self, producer: (i64, i16), partition: &TopicPartition) -> bool {
        producer == (self.id, self.epoch)
            && self.phase == Phase::Ongoing
            && self.partitions.contains(partition)
    }

    /// EndTxn up to version 4.
    pub(crate) fn end_v1(&mut self, producer: (i64, i16), commit: bool) -> Reply {
        if producer != (self.id, self.epoch) {
            return self.reply(ErrorCode::PRODUCER_FENCED);
        }
        match (self.phase, commit) {
            (Phase::Ongoing, _) => {
                let markers = self.complete(commit);
                Reply {
                    markers,
                    ..self.reply(ErrorCode::NONE)
                }
            }
            (Phase::CompleteCommit, true) | (Phase::CompleteAbort, false) => self.reply(ErrorCode::NONE),
            (Phase::CompleteCommit, false) | (Phase::CompleteAbort, true) | (Phase::Empty, _) => {
                self.reply(ErrorCode::INVALID_TXN_STATE)
            }
        }
    }

    /// EndTxn version 5.
    pub(crate) fn end_v2(&mut self, producer: (i64, i16), commit: bool) -> Reply {
        if producer == (self.id, self.epoch) {
            return match (self.phase, commit) {
                (Phase::Ongoing, _) => {
                    self.last_epoch = Some(self.epoch);
                    self.epoch += 1;
                    let markers = self.complete(commit);
                    Reply {
                        markers,
                        ..self.reply(ErrorCode::NONE)
                    }
                }
                (_, true) => self.reply(ErrorCode::INVALID_TXN_STATE),
                (_, false) => {
                    self.last_epoch = Some(self.epoch);
                    self.epoch += 1;
                    self.phase = Phase::CompleteAbort;
                    self.reply(ErrorCode::NONE)
                }
            };
        }
        let is_repeat = producer.0 == self.id && Some(producer.1) == self.last_epoch;
        match (is_repeat, self.phase, commit) {
            (true, Phase::CompleteCommit, true) | (true, Phase::CompleteAbort, false) => {
                self.reply(ErrorCode::NONE)
            }
            (true, Phase::CompleteCommit | Phase::CompleteAbort, _) => {
                self.reply(ErrorCode::INVALID_TXN_STATE)
            }
            (true, Phase::Ongoing | Phase::Empty, _) | (false, _, _) => {
                self.reply(ErrorCode::PRODUCER_FENCED)
            }
        }
    }

    /// The transaction was open for too long (V2: the last epoch is kept, since 4.0.1; V1: it is forgotten).
    pub(crate) fn time_out(&mut self, keeps_last_epoch: bool) -> Reply {
        if self.phase != Phase::Ongoing {
            return self.reply(ErrorCode::NONE);
        }
        self.last_epoch = keeps_last_epoch.then_some(self.epoch);
        self.epoch += 1;
        let markers = self.complete(false);
        Reply {
            markers,
            ..self.reply(ErrorCode::NONE)
        }
    }

    fn complete(&mut self, commit: bool) -> Option<(BTreeSet<TopicPartition>, i64, i16, bool)> {
        self.phase = if commit {
            Phase::CompleteCommit
        } else {
            Phase::CompleteAbort
        };
        Some((std::mem::take(&mut self.partitions), self.id, self.epoch, commit))
    }

    fn reply(&self, code: ErrorCode) -> Reply {
        Reply {
            code,
            producer: (self.id, self.epoch),
            markers: None,
        }
    }
}
