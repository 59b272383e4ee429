//! Rules without code: which frames are struck is said by API, direction, occurrence and connection.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kafka_protocol::messages::ApiKey;

use super::{Request, Rule, Verdict};

/// Which way a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the broker.
    Request,
    /// To the client.
    Answer,
}

/// A verdict on some of the frames of one API.
#[derive(Debug)]
pub struct Strike {
    api: ApiKey,
    direction: Direction,
    occurrences: RangeInclusive<u64>,
    connection: Option<u64>,
    node: Option<usize>,
    during: Option<Arc<AtomicBool>>,
    verdict: Verdict,
    seen: AtomicU64,
}

impl Strike {
    /// All frames of an API in one direction.
    #[must_use]
    pub fn new(api: ApiKey, direction: Direction, verdict: Verdict) -> Self {
        Self {
            api,
            direction,
            occurrences: 1..=u64::MAX,
            connection: None,
            node: None,
            during: None,
            verdict,
            seen: AtomicU64::new(0),
        }
    }

    /// Only these; the first one is 1. Counted are those on the wanted connection and node.
    #[must_use]
    pub fn occurrences(mut self, occurrences: RangeInclusive<u64>) -> Self {
        self.occurrences = occurrences;
        self
    }

    /// Only on the connection of this number, counted over all brokers from 0.
    #[must_use]
    pub fn connection(mut self, connection: u64) -> Self {
        self.connection = Some(connection);
        self
    }

    /// Only on the way to or from the broker with this index in the bootstrap list.
    #[must_use]
    pub fn node(mut self, node: usize) -> Self {
        self.node = Some(node);
        self
    }

    /// Only while this is set.
    #[must_use]
    pub fn during(mut self, switch: &Arc<AtomicBool>) -> Self {
        self.during = Some(Arc::clone(switch));
        self
    }

    fn judge(&self, direction: Direction, request: &Request) -> Option<Verdict> {
        let is_meant = self.direction == direction
            && request.api == Some(self.api)
            && self
                .connection
                .is_none_or(|connection| connection == request.connection)
            && self.node.is_none_or(|node| node == request.node)
            && self
                .during
                .as_ref()
                .is_none_or(|switch| switch.load(Ordering::SeqCst));
        if !is_meant {
            return None;
        }
        let number = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        self.occurrences.contains(&number).then_some(self.verdict)
    }
}

/// Several strikes; the first one that is meant by a frame judges it, all of them count it.
#[derive(Debug)]
pub struct Plan(pub Vec<Strike>);

impl Plan {
    fn judge(&self, direction: Direction, request: &Request) -> Verdict {
        let verdicts: Vec<Verdict> = self
            .0
            .iter()
            .filter_map(|strike| strike.judge(direction, request))
            .collect();
        verdicts.first().copied().unwrap_or(Verdict::Pass)
    }
}

impl Rule for Plan {
    fn request(&self, request: &Request) -> Verdict {
        self.judge(Direction::Request, request)
    }

    fn answer(&self, request: &Request) -> Verdict {
        self.judge(Direction::Answer, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(api: ApiKey, connection: u64) -> Request {
        Request {
            node: 0,
            connection,
            api: Some(api),
            version: 3,
            correlation: 1,
            frame: Vec::new(),
        }
    }

    #[test]
    fn a_strike_counts_only_what_is_meant() {
        let strike = Strike::new(ApiKey::EndTxn, Direction::Request, Verdict::Hold);
        let plan = Plan(vec![strike.connection(7).occurrences(2..=2)]);
        assert_eq!(plan.request(&request(ApiKey::EndTxn, 7)), Verdict::Pass);
        assert_eq!(plan.request(&request(ApiKey::EndTxn, 8)), Verdict::Pass);
        assert_eq!(plan.request(&request(ApiKey::Produce, 7)), Verdict::Pass);
        assert_eq!(plan.answer(&request(ApiKey::EndTxn, 7)), Verdict::Pass);
        assert_eq!(plan.request(&request(ApiKey::EndTxn, 7)), Verdict::Hold);
        assert_eq!(plan.request(&request(ApiKey::EndTxn, 7)), Verdict::Pass);
    }
}
