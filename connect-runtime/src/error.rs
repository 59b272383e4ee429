//! Errors that several rooms share: why a topic that holds the runtime's state cannot be used.

/// An error of a store. Each names the topic and what mends it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The topic exists but is not compacted: the newest offsets in it could be deleted by age.
    #[error(
        "topic {topic} has cleanup.policy={found}, but offsets are safe only with exactly compact: they could be deleted \
         by age; run kafka-configs --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact, \
         or set offsets.storage.topic to another topic"
    )]
    NotCompacted {
        /// The topic.
        topic: String,
        /// Its `cleanup.policy`.
        found: String,
    },
    /// Offsets that were committed through this process are in the topic no more: it was deleted, or its records were. To go on
    /// would be to send again what was sent.
    #[error(
        "topic {topic} has lost offsets that were committed: {lost}; the topic was deleted or emptied, and going on would send \
         everything behind them again; restore the topic, or start the worker anew to read those sources from their beginning"
    )]
    OffsetsLost {
        /// The topic.
        topic: String,
        /// Partitions of the source with their last offsets.
        lost: String,
    },
    /// A record to the topic cannot be written as JSON.
    #[error("an offset of the source cannot be written: {0}")]
    Unwritable(String),
    /// The cluster was asked for the topic and answered without a word on it.
    #[error("cannot look at topic {topic}: the broker's answer does not name it")]
    NotDescribed {
        /// The topic.
        topic: String,
    },
    /// The client's error, with what was being done.
    #[error("cannot {doing} topic {topic}: {source}")]
    Client {
        /// What was being done.
        doing: &'static str,
        /// The topic.
        topic: String,
        /// Why not.
        source: sealwax::Error,
    },
}
