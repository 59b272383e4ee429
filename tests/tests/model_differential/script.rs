//! Scripts: what is asked, in symbols. Two producers, A and B, share one transactional id; the topic has two partitions, and one group commits
//! offsets.

/// One of the two producers that share the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    A,
    B,
}

/// Which sequence a batch begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seq {
    /// The one behind the last batch of this producer id, epoch and partition that was accepted.
    Next,
    /// That of the batch before, again.
    Repeat,
    /// One too many.
    Gap,
    /// This number.
    At(i32),
}

/// A step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// InitProducerId; `again` with what the producer holds.
    Init { who: Who, again: bool },
    /// InitProducerId with what the producer holds, its epoch moved by `shift`.
    InitShifted { who: Who, shift: i16 },
    /// InitProducerId with what the producer holds, again and again until its epoch is this one.
    UseUp { who: Who, until: i16 },
    /// AddPartitionsToTxn.
    Add { who: Who, partition: i32, shift: i16 },
    /// AddPartitionsToTxn of a partition that is not there, with one that is.
    AddUnknown { who: Who },
    /// Produce of one batch.
    Produce {
        who: Who,
        partition: i32,
        seq: Seq,
        records: i32,
        shift: i16,
    },
    /// Produce of a batch that belongs to no transaction, with the producer's id.
    ProducePlain { who: Who, partition: i32, seq: Seq },
    /// EndTxn.
    End { who: Who, commit: bool, shift: i16 },
    /// EndTxn of the other mode than the script's.
    EndOtherMode { who: Who, commit: bool },
    /// AddOffsetsToTxn.
    AddOffsets { who: Who, shift: i16 },
    /// TxnOffsetCommit.
    CommitOffsets {
        who: Who,
        offset: i64,
        shift: i16,
        member: &'static str,
        generation: i32,
    },
    /// OffsetFetch.
    Offsets { stable: bool },
    /// DescribeTransactions.
    Describe,
    /// ListTransactions, only this state.
    List { state: &'static str },
    /// DescribeProducers.
    Producers { partition: i32 },
    /// ListOffsets, the end of the log.
    EndOfLog { partition: i32, committed: bool },
    /// Fetch of the whole log.
    Fetch { partition: i32, committed: bool },
    /// WriteTxnMarkers, an abort for the producer.
    WriteAbort { who: Who, partition: i32 },
    /// The open transaction times out.
    Expire,
}

/// A whole script.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) name: String,
    /// `transaction.timeout.ms`.
    pub(crate) timeout_ms: i32,
    pub(crate) ops: Vec<Op>,
}

/// Which versions a script's requests have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) produce: i16,
    pub(crate) end_txn: i16,
    pub(crate) txn_offset_commit: i16,
    /// EndTxn of the other mode, if the broker speaks it.
    pub(crate) other_end_txn: i16,
}

impl Mode {
    pub(crate) const TV1: Self = Self {
        produce: 11,
        end_txn: 4,
        txn_offset_commit: 4,
        other_end_txn: 4,
    };
    pub(crate) const TV1_OLD: Self = Self {
        produce: 10,
        end_txn: 3,
        txn_offset_commit: 3,
        other_end_txn: 3,
    };
    pub(crate) const TV2: Self = Self {
        produce: 12,
        end_txn: 5,
        txn_offset_commit: 5,
        other_end_txn: 4,
    };
}
