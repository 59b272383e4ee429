//! The transaction coordinator: one state machine per transactional id, and one file per thing that can happen to it (KIP-98, KIP-360,
//! KIP-890). Pure over the id's metadata: nobody here knows of nodes, logs or requests.
//!
//! ```text
//!            AddPartitions            EndTxn (commit)                 all markers written
//!   Empty ──────────────────▶ Ongoing ───────────────▶ PrepareCommit ─────────────────────▶ CompleteCommit
//!     ▲  ▲                      │ EndTxn (abort), timeout, InitProducerId                       │
//!     │  │                      └──────────────────────▶ PrepareAbort ──▶ CompleteAbort         │
//!     │  └── InitProducerId ─────────────────────────────────────────────────┴──────────────────┘
//!     └── a new transactional id         (AddPartitions leads from both Complete states to Ongoing as well)
//! ```
//! TV2 also lets an abort go from Empty and both Complete states to PrepareAbort, and every EndTxn raises the epoch.

mod add_partitions;
mod complete;
mod end_txn;
mod init_producer_id;
mod metadata;
mod timeout;

pub(crate) use add_partitions::Added;
pub(crate) use end_txn::Ended;
pub(crate) use init_producer_id::Initialized;
pub use metadata::{Level, OpenTransaction, Outcome, Phase, TransactionMetadata};
