//! What belongs to single states: how far a commit, an abort or an inquiry is, what is owed to whom, whose epoch comes next.

use std::time::Instant;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::ProducerIdAndEpoch;

use super::end_txn::{AbortBasis, EarlierAttempts};
use super::open::OpenTransaction;
use super::version::TransactionVersion;
use crate::error::{Error, ErrorKind};

/// A producer id to work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ready {
    /// Id and epoch.
    pub(crate) producer: ProducerIdAndEpoch,
    /// The protocol of the transaction before under the same epoch.
    pub(crate) last: Option<TransactionVersion>,
}

impl Ready {
    /// The first write of a V2 transaction has sequence 0, but V1 has used the epoch (KAFKA-18227).
    pub(crate) fn is_outdated(self, version: TransactionVersion) -> bool {
        self.last == Some(TransactionVersion::V1) && version == TransactionVersion::V2
    }
}

/// How far a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Commit {
    /// Batches are delivered still.
    Delivering,
    /// EndTxn was handed out.
    Asked {
        /// What is known of the attempts so far.
        earlier: EarlierAttempts,
        /// After that the outcome is no longer waited for.
        deadline: Instant,
    },
}

/// How far it is to find out what became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inquiry {
    /// Nobody has asked.
    NotAsked,
    /// The coordinator is asked, until this instant.
    Asked(Instant),
}

/// An abort.
#[derive(Debug)]
pub(crate) struct Abort {
    /// Why.
    pub(crate) cause: AbortCause,
    /// The coordinator may have ended the transaction already.
    pub(crate) ended: EndedBefore,
    /// The coordinator may have called the epoch a foreign one.
    pub(crate) fencing: Fencing,
}

/// Whether an abort was refused as fenced. A V2 coordinator also says that while it writes the markers of the transaction before: its
/// epoch is that of the next transaction by then, but it takes no other end than a repeat of the last one (KIP-890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fencing {
    /// No.
    NotSaid,
    /// With this code; the coordinator is asked whether it is still writing markers.
    Said(ErrorCode),
}

/// Whether a commit or a timeout may have ended the transaction that is being aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedBefore {
    /// No.
    No,
    /// Maybe.
    Maybe,
}

/// Why a transaction is aborted, and so what is owed to whom.
#[derive(Debug)]
pub(crate) enum AbortCause {
    /// The application asked; it is told when it is done.
    Requested,
    /// A commit could not be sent; it is told when the abort is done, at the latest at this instant.
    CommitFailed(Error, Instant),
    /// The caller has its verdict, or there is none; only order has to be restored.
    Settling,
}

impl AbortCause {
    /// What an aborted transaction's caller is told.
    pub(crate) fn reason(&self) -> Error {
        match self {
            Self::CommitFailed(error, _) => error.clone(),
            Self::Requested | Self::Settling => {
                Error::new(ErrorKind::TransactionAborted, "the transaction was aborted")
            }
        }
    }
}

impl Abort {
    /// How sure it is that there is something to abort. `None`: there is nothing.
    pub(crate) fn basis(&self, open: &OpenTransaction) -> Option<AbortBasis> {
        match self.ended {
            EndedBefore::No => open.basis(),
            EndedBefore::Maybe => open.basis().map(|_| AbortBasis::Doubtful),
        }
    }
}

/// Whose epoch the next transaction gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextProducer {
    /// The coordinator told (EndTxn 5).
    Told(ProducerIdAndEpoch),
    /// The same, if nothing forbids it.
    Same,
    /// InitProducerId has to be asked.
    ToBeAsked,
}
