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
