//! The state of a producer, in Kafka's names, and one method per event. In: events. Out: the next state, and refusals of what is not
//! allowed. Each state holds exactly its data (`phase` and `open` say what).
//!
//! ```text
//!                                              ┌───────────────── ended: same or told epoch ─────────────────┐
//!                                              ▼                                                             │
//! Uninitialized ──► Initializing ──► Ready ──begin──► InTransaction ──commit──► CommittingTransaction ───────┤
//!       ▲   refused │   ▲  ▲          │                │        │                  │  ▲    │   │             │
//!       └───────────┘   │  └── bump ──┘              failed    abort               │  │    │ refused,        │
//!                       │                              ▼        ▼     failed       │  │    │ settled         │
//!                       │                AbortableError ──► AbortingTransaction ◄──┘  │    │   │             │
//!                       │                      abort, commit    │  ▲  ▲              open   │   │             │
//!                       │                                       │  │  └───────────────│────│───┘             │
//!                       │                                       │  begin, close       │  unknown            │
//!                       │                                       │  └───────── OutcomeUnknown                  │
//!                       │                                       │                     │ told                  │
//!                       └──────── ended: new epoch ─────────────┴─────────────────────┘            any ──fatal──► FatalError
//! ```
//! Without a transactional id only Uninitialized, Initializing, Ready and FatalError occur. PreparedTransaction (KIP-939) is not offered.

use std::time::Instant;

use sealwax_protocol::ids::{ProducerEpoch, ProducerIdAndEpoch};

use super::end_txn::EarlierAttempts;
use super::open::{EpochReuse, OpenTransaction};
use super::phase::{Abort, AbortCause, Commit, EndedBefore, Fencing, Inquiry, NextProducer, Ready};
use super::version::TransactionVersion;
use crate::error::{Error, ErrorKind};

/// From this epoch on InitProducerId gives a new producer id, so that no transaction runs at the last epoch (KAFKA-20090).
const EXHAUSTED: ProducerEpoch = ProducerEpoch(i16::MAX - 1);

/// What a producer is doing.
#[derive(Debug)]
pub(crate) enum State {
    /// There is no producer id, because of this error; it may be asked for again.
    Uninitialized(Error),
    /// InitProducerId is to be sent or answered; the claim is what is held so far.
    Initializing(ProducerIdAndEpoch),
    /// Records may be sent (without transactional id), or a transaction may begin.
    Ready(Ready),
    /// Records may be sent.
    InTransaction(OpenTransaction),
    /// What was sent is delivered, then EndTxn(commit) is sent until it is answered.
    CommittingTransaction(OpenTransaction, Commit),
    /// What is on the wire is awaited, then EndTxn(abort) is sent until it is answered.
    AbortingTransaction(OpenTransaction, Abort),
    /// The transaction can only be aborted.
    AbortableError(OpenTransaction, Error),
    /// A commit may have taken effect. Its caller was told so; nothing is sent until somebody wants to know, or to go on.
    OutcomeUnknown(OpenTransaction, Inquiry),
    /// Nothing can be done any more.
    FatalError(Error),
}

impl State {
    /// A transaction begins; `false` means not yet, because a new epoch has to be had first.
    ///
    /// # Errors
    /// If none can begin in this state.
    pub(crate) fn begin(
        self,
        serial: u64,
        version: TransactionVersion,
        reuse: EpochReuse,
    ) -> (Self, Result<bool, Error>) {
        match self {
            Self::Ready(ready) if ready.is_outdated(version) => {
                (Self::Initializing(ready.producer), Ok(false))
            }
            Self::Ready(Ready { producer, .. }) => {
                let open = OpenTransaction::new(serial, producer, version, reuse);
                (Self::InTransaction(open), Ok(true))
            }
            Self::FatalError(error) => (Self::FatalError(error.clone()), Err(error)),
            Self::Uninitialized(error) => (Self::Initializing(ProducerIdAndEpoch::NONE), Err(error)),
            // An abort puts an end to it, and tells by the way what the outcome was.
            Self::OutcomeUnknown(open, Inquiry::NotAsked) => (
                aborting(open, AbortCause::Settling, EndedBefore::Maybe),
                Ok(false),
            ),
            state @ (Self::Initializing(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::OutcomeUnknown(_, Inquiry::Asked(_))) => (state, Ok(false)),
            state @ (Self::InTransaction(_) | Self::AbortableError(..)) => {
                (state, Err(illegal("a transaction is open already")))
            }
        }
    }

    /// The next transaction will speak this version: gets a new epoch ahead of it if it needs one.
    pub(crate) fn prepare(self, version: TransactionVersion) -> Self {
        match self {
            Self::Ready(ready) if ready.is_outdated(version) => Self::Initializing(ready.producer),
            state @ (Self::Ready(_)
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The application wants to commit. A transaction that can only be aborted is aborted.
    ///
    /// # Errors
    /// If no transaction is open.
    pub(crate) fn commit(self, until: Instant) -> (Self, Result<(), Error>) {
        match self {
            Self::InTransaction(open) => (Self::CommittingTransaction(open, Commit::Delivering), Ok(())),
            Self::AbortableError(open, error) => {
                let cause = AbortCause::CommitFailed(error, until);
                (aborting(open, cause, EndedBefore::No), Ok(()))
            }
            Self::FatalError(error) => (Self::FatalError(error.clone()), Err(error)),
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::OutcomeUnknown(..)) => (state, Err(illegal("no transaction is open"))),
        }
    }

    /// The application wants to abort.
    ///
    /// # Errors
    /// If no transaction is open.
    pub(crate) fn abort(self) -> (Self, Result<(), Error>) {
        match self {
            Self::InTransaction(open) | Self::AbortableError(open, _) => {
                (aborting(open, AbortCause::Requested, EndedBefore::No), Ok(()))
            }
            Self::FatalError(error) => (Self::FatalError(error.clone()), Err(error)),
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::OutcomeUnknown(..)) => (state, Err(illegal("no transaction is open"))),
        }
    }

    /// Something failed that makes it impossible to commit. Changes nothing where nothing is open, and nothing about an abort.
    pub(crate) fn abortable(self, error: Error, until: Instant) -> Self {
        match self {
            Self::InTransaction(open) => Self::AbortableError(open, error),
            Self::CommittingTransaction(open, Commit::Delivering) => {
                aborting(open, AbortCause::CommitFailed(error, until), EndedBefore::No)
            }
            // All batches had their result before EndTxn was handed out.
            state @ (Self::CommittingTransaction(_, Commit::Asked { .. })
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// EndTxn(commit) is handed out.
    pub(crate) fn commit_asked(self, deadline: Instant) -> Self {
        match self {
            Self::CommittingTransaction(open, Commit::Delivering) => {
                let earlier = EarlierAttempts::Answered;
                Self::CommittingTransaction(open, Commit::Asked { earlier, deadline })
            }
            state @ (Self::CommittingTransaction(_, Commit::Asked { .. })
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// EndTxn has no answer, or one that leaves open whether it took effect.
    pub(crate) fn ending_in_doubt(self) -> Self {
        match self {
            Self::CommittingTransaction(mut open, Commit::Asked { deadline, .. }) => {
                open.forbid_reuse();
                let earlier = EarlierAttempts::Indefinite;
                Self::CommittingTransaction(open, Commit::Asked { earlier, deadline })
            }
            Self::AbortingTransaction(mut open, abort) => {
                open.forbid_reuse();
                Self::AbortingTransaction(open, abort)
            }
            state @ (Self::CommittingTransaction(_, Commit::Delivering)
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The commit's deadline is over, or its answer proves nothing.
    pub(crate) fn unknown(self) -> Self {
        match self {
            Self::CommittingTransaction(mut open, _) => {
                open.forbid_reuse();
                Self::OutcomeUnknown(open, Inquiry::NotAsked)
            }
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// Somebody wants to know what became of the commit (`Asked`), or it cannot be found out now (`NotAsked`).
    pub(crate) fn inquire(self, inquiry: Inquiry) -> Self {
        match self {
            Self::OutcomeUnknown(open, _) => Self::OutcomeUnknown(open, inquiry),
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The commit has not arrived: it is asked for again.
    pub(crate) fn commit_again(self, deadline: Instant) -> Self {
        match self {
            Self::OutcomeUnknown(open, _) => {
                let earlier = EarlierAttempts::Indefinite;
                Self::CommittingTransaction(open, Commit::Asked { earlier, deadline })
            }
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The commit is over for its caller without being confirmed: what is open on the coordinator is aborted.
    pub(crate) fn settle(self, cause: AbortCause, ended: EndedBefore) -> Self {
        match self {
            Self::CommittingTransaction(mut open, _) | Self::OutcomeUnknown(mut open, _) => {
                open.forbid_reuse();
                aborting(open, cause, ended)
            }
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The abort's caller has waited long enough.
    pub(crate) fn verdict_given(self) -> Self {
        match self {
            Self::AbortingTransaction(open, abort) => {
                let cause = AbortCause::Settling;
                Self::AbortingTransaction(open, Abort { cause, ..abort })
            }
            state @ (Self::CommittingTransaction(..)
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The abort was refused as fenced, or that is cleared up.
    pub(crate) fn abort_fenced(self, fencing: Fencing) -> Self {
        match self {
            Self::AbortingTransaction(open, abort) => {
                Self::AbortingTransaction(open, Abort { fencing, ..abort })
            }
            state @ (Self::CommittingTransaction(..)
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The transaction has ended. `next` is what the coordinator told for the next one (V2).
    pub(crate) fn ended(self, next: NextProducer) -> Self {
        match self {
            Self::CommittingTransaction(open, _)
            | Self::AbortingTransaction(open, _)
            | Self::OutcomeUnknown(open, _) => {
                let last = Some(open.version());
                match next {
                    NextProducer::Told(producer) => Self::ready(Ready { producer, last: None }),
                    NextProducer::Same if open.needs_new_epoch() => Self::Initializing(open.producer()),
                    NextProducer::Same => Self::ready(Ready {
                        producer: open.producer(),
                        last,
                    }),
                    NextProducer::ToBeAsked => Self::Initializing(open.producer()),
                }
            }
            state @ (Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::AbortableError(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// InitProducerId gave an id and epoch.
    pub(crate) fn initialized(self, producer: ProducerIdAndEpoch) -> Self {
        match self {
            Self::Initializing(_) => Self::ready(Ready { producer, last: None }),
            state @ (Self::Uninitialized(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// InitProducerId was refused for now.
    pub(crate) fn refused(self, error: Error) -> Self {
        match self {
            Self::Initializing(_) => Self::Uninitialized(error),
            state @ (Self::Uninitialized(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// Without transactional id: numbers of this epoch were given up. The next epoch is the producer's own to take (KIP-360).
    pub(crate) fn bump_epoch(self, lost: ProducerIdAndEpoch) -> Self {
        match self {
            Self::Ready(Ready { producer, .. }) if producer == lost => {
                let id = producer.id;
                match producer.epoch.0.checked_add(1) {
                    Some(epoch) => Self::Ready(Ready {
                        producer: ProducerIdAndEpoch {
                            id,
                            epoch: ProducerEpoch(epoch),
                        },
                        last: None,
                    }),
                    None => Self::Initializing(ProducerIdAndEpoch::NONE),
                }
            }
            // A failure of an older epoch changes nothing (KAFKA-14830).
            state @ (Self::Ready(_)
            | Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..)
            | Self::FatalError(_)) => state,
        }
    }

    /// The producer is beyond use.
    pub(crate) fn fatal(self, error: Error) -> Self {
        match self {
            Self::FatalError(first) => Self::FatalError(first),
            Self::Uninitialized(_)
            | Self::Initializing(_)
            | Self::Ready(_)
            | Self::InTransaction(_)
            | Self::CommittingTransaction(..)
            | Self::AbortingTransaction(..)
            | Self::AbortableError(..)
            | Self::OutcomeUnknown(..) => Self::FatalError(error),
        }
    }

    /// The transaction that is open, in whatever way.
    pub(crate) const fn open(&self) -> Option<&OpenTransaction> {
        match self {
            Self::InTransaction(open)
            | Self::CommittingTransaction(open, _)
            | Self::AbortingTransaction(open, _)
            | Self::AbortableError(open, _)
            | Self::OutcomeUnknown(open, _) => Some(open),
            Self::Uninitialized(_) | Self::Initializing(_) | Self::Ready(_) | Self::FatalError(_) => None,
        }
    }

    /// The transaction that is open, in whatever way.
    pub(crate) const fn open_mut(&mut self) -> Option<&mut OpenTransaction> {
        match self {
            Self::InTransaction(open)
            | Self::CommittingTransaction(open, _)
            | Self::AbortingTransaction(open, _)
            | Self::AbortableError(open, _)
            | Self::OutcomeUnknown(open, _) => Some(open),
            Self::Uninitialized(_) | Self::Initializing(_) | Self::Ready(_) | Self::FatalError(_) => None,
        }
    }

    fn ready(ready: Ready) -> Self {
        if ready.producer.epoch >= EXHAUSTED {
            Self::Initializing(ready.producer)
        } else {
            Self::Ready(ready)
        }
    }
}

const fn aborting(open: OpenTransaction, cause: AbortCause, ended: EndedBefore) -> State {
    State::AbortingTransaction(
        open,
        Abort {
            cause,
            ended,
            fencing: Fencing::NotSaid,
        },
    )
}

fn illegal(what: &str) -> Error {
    Error::new(ErrorKind::InvalidState, what)
}
