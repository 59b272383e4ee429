//! What is still to be read: for each partition the offsets from its begin to the end that was captured at the start. Pure.
//!
//! Input: begin and end offsets, positions reached. Output: whether a record belongs to this run, and what is not yet read.

use std::collections::BTreeMap;

/// The partitions of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    spans: BTreeMap<i32, Span>,
}

/// The offsets of one partition that are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The first offset that the log has.
    pub(super) start: i64,
    /// The end as captured: the first offset that is no longer read.
    pub(super) end: i64,
    /// The next offset to be read, from `start` to `end`.
    pub(super) position: i64,
}

impl Plan {
    /// A plan of which nothing is read yet, from (partition, start, end).
    pub(super) fn new(partitions: impl IntoIterator<Item = (i32, i64, i64)>) -> Self {
        let spans = partitions
            .into_iter()
            .map(|(partition, start, end)| {
                let end = end.max(start);
                let span = Span {
                    start,
                    end,
                    position: start,
                };
                (partition, span)
            })
            .collect();
        Self { spans }
    }

    /// The captured end of a partition; `None` if it is not part of the run.
    pub(super) fn end_of(&self, partition: i32) -> Option<i64> {
        self.spans.get(&partition).map(|span| span.end)
    }

    /// Notes that a partition was read up to `position`. True if that is further than before.
    pub(super) fn advance(&mut self, partition: i32, position: i64) -> bool {
        let Some(span) = self.spans.get_mut(&partition) else {
            return false;
        };
        let reached = position.min(span.end);
        let further = reached > span.position;
        span.position = span.position.max(reached);
        further
    }

    /// All partitions of the run.
    pub(super) fn spans(&self) -> impl Iterator<Item = (i32, Span)> {
        self.spans.iter().map(|(partition, span)| (*partition, *span))
    }

    /// The partitions that are not read to their end.
    pub(super) fn unread(&self) -> impl Iterator<Item = (i32, Span)> {
        self.spans().filter(|(_, span)| span.position < span.end)
    }

    /// Whether everything is read.
    pub(super) fn is_complete(&self) -> bool {
        self.unread().next().is_none()
    }

    /// How many offsets there are in all partitions.
    pub(super) fn total(&self) -> u64 {
        self.sum(|span| span.end - span.start)
    }

    /// How many offsets were read.
    pub(super) fn done(&self) -> u64 {
        self.sum(|span| span.position - span.start)
    }

    fn sum(&self, of: impl Fn(&Span) -> i64) -> u64 {
        self.spans.values().map(|span| of(span).unsigned_abs()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_partition_has_nothing_to_read() {
        let plan = Plan::new([(0, 5, 5), (1, 0, 0)]);
        assert!(plan.is_complete());
        assert_eq!(plan.total(), 0);
    }

    #[test]
    fn complete_when_every_end_is_reached() {
        let mut plan = Plan::new([(0, 2, 5), (1, 0, 1)]);
        assert!(plan.advance(0, 4));
        assert!(!plan.advance(0, 4));
        assert!(!plan.advance(0, 3));
        assert_eq!((plan.done(), plan.total()), (2, 4));
        assert!(plan.advance(1, 9));
        assert_eq!(
            plan.unread().map(|(partition, _)| partition).collect::<Vec<_>>(),
            [0]
        );
        assert!(plan.advance(0, 5));
        assert!(plan.is_complete());
        assert_eq!(plan.done(), plan.total());
    }

    #[test]
    fn a_foreign_partition_is_no_progress() {
        let mut plan = Plan::new([(0, 0, 1)]);
        assert!(!plan.advance(7, 1));
        assert_eq!(plan.end_of(7), None);
    }
}
