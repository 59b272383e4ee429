//! Batches that were split: what their pieces came to, until all are known. In: finished batches and pieces. Out: each batch once, when
//! every one of its records has a result.

use std::collections::{BTreeMap, HashMap};

use super::batch::{BatchResult, Claim, Finished, Piece, Resolved, Results};

/// The split batches that lack a result, by their number.
#[derive(Debug)]
pub(super) struct Families<T> {
    families: HashMap<u64, Family<T>>,
}

#[derive(Debug)]
struct Family<T> {
    tag: T,
    reserved: usize,
    /// Pieces without result.
    missing: usize,
    /// By the index of their first record.
    results: BTreeMap<u32, BatchResult>,
}

impl<T> Families<T> {
    /// None.
    pub(super) fn new() -> Self {
        Self {
            families: HashMap::new(),
        }
    }

    /// A batch is split in two; the first half has `first_count` records. A claim for each of both.
    pub(super) fn divide(&mut self, serial: u64, claim: Claim<T>, first_count: u32) -> [Claim<T>; 2] {
        let (of, begin) = match claim {
            Claim::Whole { tag, reserved } => {
                let family = Family {
                    tag,
                    reserved,
                    missing: 2,
                    results: BTreeMap::new(),
                };
                self.families.insert(serial, family);
                (serial, 0)
            }
            Claim::Piece { of, first } => {
                if let Some(family) = self.families.get_mut(&of) {
                    family.missing += 1;
                }
                (of, first)
            }
        };
        [
            Claim::Piece { of, first: begin },
            Claim::Piece {
                of,
                first: begin.saturating_add(first_count),
            },
        ]
    }

    /// A batch or a piece has its result. The batch, if nothing of it is missing any more.
    pub(super) fn finish(&mut self, finished: Finished<T>) -> Option<Resolved<T>> {
        let (of, first) = match finished.claim {
            Claim::Whole { tag, reserved } => {
                return Some(Resolved {
                    tag,
                    reserved,
                    results: Results::Whole(finished.result),
                });
            }
            Claim::Piece { of, first } => (of, first),
        };
        let family = self.families.get_mut(&of)?;
        family.results.insert(first, finished.result);
        family.missing -= 1;
        if family.missing > 0 {
            return None;
        }
        let Family {
            tag,
            reserved,
            results,
            ..
        } = self.families.remove(&of)?;
        let mut pieces = results.into_iter();
        let (_, first) = pieces.next()?;
        let later = pieces.map(|(first, result)| Piece { first, result }).collect();
        Some(Resolved {
            tag,
            reserved,
            results: Results::Split(first, later),
        })
    }
}

#[cfg(test)]
mod tests {
    use sealwax_protocol::ids::TopicPartition;

    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::machine::accumulator::batch::BatchMetadata;

    fn written(base_offset: i64) -> BatchResult {
        Ok(BatchMetadata {
            topic_partition: TopicPartition::new("t", 0),
            base_offset: Some(base_offset),
            log_append_time: None,
        })
    }

    #[test]
    fn a_batch_in_three_pieces_is_resolved_once_and_each_record_finds_its_own_result() {
        let mut families = Families::new();
        let whole = Claim::Whole {
            tag: "tag",
            reserved: 500,
        };
        let [left, right] = families.divide(3, whole, 4);
        let [middle, right] = families.divide(3, right, 2);
        let finish = |families: &mut Families<_>, claim, result| families.finish(Finished { claim, result });
        let refused = Err(Error::new(ErrorKind::RecordTooLarge, "too large"));
        assert!(finish(&mut families, right, written(100)).is_none());
        assert!(finish(&mut families, left, written(10)).is_none());
        let resolved = finish(&mut families, middle, refused).unwrap();
        assert_eq!((resolved.tag, resolved.reserved), ("tag", 500));
        let offset = |index| {
            let (result, place) = resolved.results.of(index);
            result
                .as_ref()
                .ok()
                .map(|metadata| metadata.base_offset.unwrap() + i64::from(place))
        };
        let offsets: Vec<_> = (0..9).map(offset).collect();
        let (first, last) = ([10, 11, 12, 13].map(Some), [100, 101, 102].map(Some));
        assert_eq!(offsets, [&first[..], &[None, None], &last].concat());
        assert_eq!(
            resolved.results.first_error().map(Error::kind),
            Some(ErrorKind::RecordTooLarge)
        );
        assert!(families.families.is_empty());
    }
}
