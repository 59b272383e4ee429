//! The one transactional request: what it asks, in which versions and of whom; and the pause after it failed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use sealwax_protocol::ids::{ProducerIdAndEpoch, TopicPartition};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::version::VersionRange;

use super::end_txn::Intent;
use super::offsets::SentOffsets;
use super::version::TransactionVersion;
use crate::machine::{CoordinatorKind, Destination};

/// The one transactional request.
#[derive(Debug)]
pub(crate) enum Rpc {
    /// None is out; after failures none goes before `until`.
    Idle { failures: u32, until: Option<Instant> },
    /// This one is out.
    InFlight { call: Call, failures: u32 },
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    InitProducerId,
    AddPartitions(BTreeSet<TopicPartition>),
    AddOffsets(String),
    TxnOffsetCommit(Arc<SentOffsets>, TransactionVersion),
    EndTxn(Intent, TransactionVersion),
    DescribeTransactions(ProducerIdAndEpoch, TransactionVersion),
}

impl Rpc {
    /// Nothing is out.
    pub(crate) const fn idle() -> Self {
        Self::Idle {
            failures: 0,
            until: None,
        }
    }

    /// Whether a commit is out, which may take effect before its answer comes.
    pub(crate) const fn carries_commit(&self) -> bool {
        matches!(
            self,
            Self::InFlight {
                call: Call::EndTxn(Intent::Commit(_), _),
                ..
            }
        )
    }

    /// Until when nothing may go.
    pub(crate) const fn paused_until(&self) -> Option<Instant> {
        match self {
            Self::Idle { until, .. } => *until,
            Self::InFlight { .. } => None,
        }
    }
}

impl Call {
    /// The versions that may be spoken.
    pub(crate) const fn versions(&self, body: &RequestBody) -> VersionRange {
        match self {
            Self::EndTxn(_, version) => version.end_txn(),
            Self::TxnOffsetCommit(_, version) => version.txn_offset_commit(),
            Self::InitProducerId
            | Self::AddPartitions(_)
            | Self::AddOffsets(_)
            | Self::DescribeTransactions(..) => body.versions(),
        }
    }

    /// Whom it goes to.
    pub(crate) fn destination(&self, transactional_id: Option<&Arc<str>>) -> Destination {
        match self.coordinator(transactional_id) {
            Some((kind, key)) => Destination::Coordinator(kind, key),
            None => Destination::Any,
        }
    }

    /// Whose coordinator it goes to; `None`: any broker will do.
    pub(crate) fn coordinator(
        &self,
        transactional_id: Option<&Arc<str>>,
    ) -> Option<(CoordinatorKind, Arc<str>)> {
        match self {
            Self::TxnOffsetCommit(sent, _) => {
                Some((CoordinatorKind::Group, sent.group.group_id.as_str().into()))
            }
            Self::InitProducerId
            | Self::AddPartitions(_)
            | Self::AddOffsets(_)
            | Self::EndTxn(..)
            | Self::DescribeTransactions(..) => {
                transactional_id.map(|id| (CoordinatorKind::Transaction, Arc::clone(id)))
            }
        }
    }
}
