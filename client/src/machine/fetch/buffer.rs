//! What was fetched of one partition and waits to be taken: whole batches that share the answer's frame, decoded when iterated.

use sealwax_protocol::error::DecodeError;
use sealwax_protocol::ids::TopicPartition;
use sealwax_protocol::record::{RecordBatch, RecordRef, Records};

use crate::machine::fetch::isolation::Visible;

/// The visible part of one partition in one answer.
#[derive(Debug, Clone)]
pub(crate) struct FetchedPartition {
    /// The partition.
    pub(crate) partition: TopicPartition,
    /// What the reader sees of it.
    pub(crate) visible: Visible,
}

impl FetchedPartition {
    /// The records at and behind the position, in order.
    pub(crate) fn records(&self) -> VisibleRecords<'_> {
        VisibleRecords {
            batches: self.visible.batches.iter(),
            open: None,
            floor: self.visible.start,
        }
    }

    /// Records of the batches by their headers: exact, but for a first batch that begins below the position.
    pub(crate) fn record_count_hint(&self) -> usize {
        self.visible
            .batches
            .iter()
            .map(|batch| usize::try_from(batch.header().record_count).unwrap_or(0))
            .sum()
    }
}

/// Iterator over the records of a [`FetchedPartition`]. Ends after the first error.
#[derive(Debug, Clone)]
pub(crate) struct VisibleRecords<'a> {
    batches: std::slice::Iter<'a, RecordBatch>,
    open: Option<(&'a RecordBatch, Records<'a>)>,
    /// Records below were seen before.
    floor: i64,
}

impl<'a> Iterator for VisibleRecords<'a> {
    /// An error comes with the offset from which on the batch is not readable.
    type Item = Result<RecordRef<'a>, (i64, DecodeError)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((batch, records)) = &mut self.open {
                for record in records {
                    match record {
                        Ok(record) if record.offset < self.floor => {}
                        Ok(record) => {
                            self.floor = record.offset.saturating_add(1);
                            return Some(Ok(record));
                        }
                        Err(error) => {
                            self.batches = [].iter();
                            self.open = None;
                            return Some(Err((self.floor, error)));
                        }
                    }
                }
                self.floor = batch.header().next_offset();
                self.open = None;
            }
            let batch = self.batches.next()?;
            self.floor = self.floor.max(batch.header().base_offset);
            self.open = Some((batch, batch.records()));
        }
    }
}

#[cfg(test)]
mod tests {
    use sealwax_protocol::fetch::IsolationLevel;
    use sealwax_protocol::limits::DecodeLimits;
    use sealwax_protocol::record::reader::Batches;

    use super::*;
    use crate::machine::fetch::isolation::filter;
    use crate::machine::fetch::tests::batches::{Batch, Kind, encode};

    fn fetched(batches: &[Batch], start: i64) -> FetchedPartition {
        let batches = Batches::new(encode(batches), DecodeLimits::default());
        let (visible, error) = filter(batches, start, IsolationLevel::ReadUncommitted, None);
        assert_eq!(error, None);
        FetchedPartition {
            partition: TopicPartition::new("t", 0),
            visible,
        }
    }

    #[test]
    fn a_malformed_record_ends_the_records_with_an_error_that_says_where() {
        let mut malformed = Batch::new(Kind::Plain, -1, 10, 3);
        malformed.records = vec![10, 12, 11];
        let fetched = fetched(&[malformed, Batch::new(Kind::Plain, -1, 13, 1)], 0);
        let mut records = fetched.records();
        assert_eq!(records.next().unwrap().unwrap().offset, 10);
        assert_eq!(records.next().unwrap().unwrap().offset, 12);
        assert_eq!(records.next().unwrap().unwrap_err().0, 13);
        assert!(records.next().is_none());
    }

    #[test]
    fn the_count_is_that_of_the_headers() {
        let batches = [
            Batch::new(Kind::Plain, -1, 0, 4),
            Batch::new(Kind::Plain, -1, 4, 2),
        ];
        assert_eq!(fetched(&batches, 0).record_count_hint(), 6);
        assert_eq!(fetched(&batches, 3).records().count(), 3);
    }
}
