//! What time does to a transaction: deadlines that pass, the coordinator's patience, when to look again. In: the time. Out: the next
//! state; the next instant.

use std::sync::Arc;
use std::time::Instant;

use super::TransactionManager;
use super::Verdict;
use super::open::OpenTransaction;
use super::phase::{AbortCause, Commit, Inquiry};
use super::rpc::Rpc;
use super::state::State;
use crate::error::{Error, ErrorKind};

impl TransactionManager {
    /// Time has passed.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if let State::AbortingTransaction(_, abort) = &self.state
            && let AbortCause::CommitFailed(error, until) = &abort.cause
            && *until <= now
        {
            let verdict = Verdict::Aborted(error.clone());
            self.decide(verdict);
            self.change(State::verdict_given);
        }
        self.warn_of_timeout(now);
        self.give_up_late_offsets(now);
        if let State::OutcomeUnknown(_, Inquiry::Asked(until)) = &self.state
            && *until <= now
            && matches!(self.rpc, Rpc::Idle { .. })
        {
            self.cannot_tell("the coordinator did not answer in time", None);
        }
    }

    /// Batches have no result yet. If the transaction has outlived its timeout they need not be sent any more.
    pub(crate) fn expire(&mut self, now: Instant) {
        if let State::InTransaction(_) | State::CommittingTransaction(_, Commit::Delivering) = &self.state
            && let Some(overdue) = self.overdue(now)
        {
            let message = format!(
                "{overdue}, and not all of its records are delivered; commit more often, or raise the setting"
            );
            let error = Error::new(ErrorKind::TransactionAbortable, message);
            self.abortable(now, &error);
        }
    }

    /// Before the coordinator loses patience, somebody should be told.
    fn warn_of_timeout(&mut self, now: Instant) {
        let timeout = self.timeout();
        let Some(open) = self.watched().filter(|open| {
            let due = open.warning_due(timeout);
            due.is_some_and(|due| due <= now)
        }) else {
            return;
        };
        let age = open.age(now).unwrap_or_default();
        tracing::warn!(
            transactional_id = self.id(),
            open_ms = age.as_millis(),
            timeout_ms = timeout.as_millis(),
            "a transaction has used most of transaction.timeout.ms, after which the coordinator aborts it"
        );
        if let Some(open) = self.state.open_mut() {
            open.warned();
        }
    }

    fn give_up_late_offsets(&mut self, now: Instant) {
        if let Rpc::InFlight { .. } = self.rpc {
            return;
        }
        let late = self.delivering().and_then(|open| open.offsets().next());
        let late = late.filter(|sent| sent.until <= now).map(Arc::clone);
        if let Some(sent) = late {
            let error = self.offsets_overdue(&sent, "");
            self.abortable(now, &error);
        }
    }

    /// The transaction whose parts are being sent.
    const fn delivering(&self) -> Option<&OpenTransaction> {
        match &self.state {
            State::InTransaction(open) | State::CommittingTransaction(open, Commit::Delivering) => Some(open),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::CommittingTransaction(_, Commit::Asked { .. })
            | State::AbortingTransaction(..)
            | State::AbortableError(..)
            | State::OutcomeUnknown(..)
            | State::FatalError(_) => None,
        }
    }

    /// The transaction that nobody has ended yet.
    const fn watched(&self) -> Option<&OpenTransaction> {
        match &self.state {
            State::AbortableError(open, _) => Some(open),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortingTransaction(..)
            | State::OutcomeUnknown(..)
            | State::FatalError(_) => self.delivering(),
        }
    }

    /// The first instant after `now` at which something is to be done.
    pub(crate) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let (owed, gives_way) = match &self.state {
            State::AbortingTransaction(open, abort) => {
                let owed = match abort.cause {
                    AbortCause::CommitFailed(_, until) => Some(until),
                    AbortCause::Requested | AbortCause::Settling => None,
                };
                (owed, open.gives_way_until())
            }
            State::OutcomeUnknown(_, Inquiry::Asked(until)) => (Some(*until), None),
            State::Uninitialized(_)
            | State::Initializing(_)
            | State::Ready(_)
            | State::InTransaction(_)
            | State::CommittingTransaction(..)
            | State::AbortableError(..)
            | State::OutcomeUnknown(_, Inquiry::NotAsked)
            | State::FatalError(_) => (None, None),
        };
        let timeout = self.timeout();
        let warning = self.watched().and_then(|open| open.warning_due(timeout));
        let delivering = self.delivering();
        let strikes = delivering.and_then(|open| open.strikes_at(timeout));
        let offsets = delivering
            .and_then(|open| open.offsets().next())
            .map(|sent| sent.until);
        [
            self.rpc.paused_until(),
            owed,
            gives_way,
            warning,
            strikes,
            offsets,
        ]
        .into_iter()
        .flatten()
        .filter(|at| *at > now)
        .min()
    }
}
