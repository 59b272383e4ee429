//! One line of a history.

/// Something that a process is about to do, or was told about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Microseconds since the history began.
    pub at: u64,
    /// Who. A process does one thing after the other, but for deliveries, which may be told later.
    pub process: String,
    /// Which of its producers or consumers, one after the other.
    pub instance: u32,
    /// Which of the instance's transactions; `None` outside of one.
    pub transaction: Option<u64>,
    /// Before it, or how it ended.
    pub phase: Phase,
    /// What.
    pub op: Op,
}

/// The intention, or what is known of its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It is about to be done.
    Invoke,
    /// It was done.
    Ok,
    /// It was certainly not done and never will be. Says why.
    Fail(String),
    /// It may have been done, or may be done later. Says why.
    Unknown(String),
}

/// What is done. A key is one partition, written `topic/partition`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A transaction begins.
    Begin,
    /// One record.
    Send {
        /// Its partition.
        key: String,
        /// Its value, unique in the history.
        value: String,
        /// Where it is, if that was told.
        offset: Option<i64>,
    },
    /// An offset of a group becomes part of the transaction.
    SendOffsets {
        /// The group.
        group: String,
        /// The partition that the offset is of.
        key: String,
        /// The offset.
        offset: i64,
    },
    /// The transaction's commit. An unknown one may be followed by a second answer, from whoever found it out.
    Commit,
    /// The transaction's abort.
    Abort,
    /// A reader's partitions from here on.
    Assign {
        /// The partitions.
        keys: Vec<String>,
        /// Where its reading begins.
        start: Start,
    },
    /// What a reader was given of one partition, in the order in which it was given.
    Poll {
        /// The partition.
        key: String,
        /// Offsets and values.
        records: Vec<(i64, String)>,
    },
    /// The reader, which began at the partition's beginning, has come to its end after all writing was over.
    Drain {
        /// The partition.
        key: String,
    },
    /// What a group's committed offset was found to be after all writing was over.
    GroupOffset {
        /// The group.
        group: String,
        /// The partition.
        key: String,
        /// The offset; `None` if there is none.
        offset: Option<i64>,
    },
    /// The instance was told that another one took over.
    Fenced,
    /// The instance was killed or dropped; what it had begun gets no answer.
    Crash,
    /// The last fault is over, and no other follows within the checker's limit: from here on work must go on.
    Heal,
}

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the beginning of its partitions.
    Beginning,
    /// Somewhere else.
    Elsewhere,
}
