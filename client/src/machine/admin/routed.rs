//! Calls whose items live at different brokers: at their partition's leader or their transactional id's coordinator. Where each
//! item lives comes in; groups by broker and the book of verdicts go out.

use std::collections::BTreeMap;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::error::{Error, Result};
use crate::machine::RequestFailure;
use crate::machine::admin::Verdict;
use crate::machine::admin::items::Items;

/// One API that is asked for several items at once.
pub(crate) trait Call<K: ?Sized> {
    /// What is had for each item.
    type Value;

    /// What is being done, for messages.
    const DOING: &'static str;

    /// How many items one request can ask for.
    const AT_ONCE: usize = usize::MAX;

    /// The request for these items.
    fn request(&self, items: &[&K]) -> RequestBody;

    /// What a broker's answer says of these items, in their order.
    ///
    /// # Errors
    /// If the answer is not one to this API.
    fn read(&self, node: NodeId, body: ResponseBody, items: &[&K]) -> Result<Vec<Verdict<Self::Value>>>;

    /// What it means that a request which may have reached the broker was not answered. Asking again, unless that could do harm.
    fn unanswered(&self, error: &Error) -> Verdict<Self::Value> {
        unanswered(error)
    }
}

/// One call under way.
#[derive(Debug)]
pub(crate) struct Routed<'k, K: ?Sized, C: Call<K>> {
    call: C,
    keys: Vec<&'k K>,
    items: Items<C::Value>,
}

/// The items that one request to one broker asks for, as places among all.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The broker.
    pub(crate) node: NodeId,
    places: Vec<usize>,
}

impl<'k, K: ?Sized, C: Call<K>> Routed<'k, K, C> {
    /// A call for these items.
    pub(crate) fn new(call: C, keys: Vec<&'k K>) -> Self {
        Self {
            items: Items::new(keys.len()),
            call,
            keys,
        }
    }

    /// The open items, each with the reason why it is still open.
    pub(crate) fn open(&self) -> Vec<(&'k K, Option<&Error>)> {
        let with_reason = |place| Some((*self.keys.get(place)?, self.items.reason(place)));
        self.items.open().into_iter().filter_map(with_reason).collect()
    }

    /// Takes where the open items live, in the order of [`Routed::open`], and groups them by broker.
    pub(crate) fn route(&mut self, homes: Vec<Verdict<NodeId>>) -> Vec<Group> {
        let mut groups: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for (place, home) in self.items.open().into_iter().zip(homes) {
            match home {
                Verdict::Done(node) => groups.entry(node).or_default().push(place),
                Verdict::Again(error) => self.items.settle(place, Verdict::Again(error)),
                Verdict::Failed(error) => self.items.settle(place, Verdict::Failed(error)),
            }
        }
        let requests_to = |(node, places): (NodeId, Vec<usize>)| {
            let group = |places: &[usize]| Group {
                node,
                places: places.to_vec(),
            };
            places.chunks(C::AT_ONCE).map(group).collect::<Vec<_>>()
        };
        groups.into_iter().flat_map(requests_to).collect()
    }

    /// The request for a group.
    pub(crate) fn request(&self, group: &Group) -> RequestBody {
        self.call.request(&self.keys_of(group))
    }

    /// Takes a group's answer, or why there is none.
    pub(crate) fn take(&mut self, group: &Group, answer: std::result::Result<ResponseBody, RequestFailure>) {
        let verdicts = match answer {
            Ok(body) => match self.call.read(group.node, body, &self.keys_of(group)) {
                Ok(verdicts) => verdicts,
                Err(error) => group
                    .places
                    .iter()
                    .map(|_| Verdict::Failed(error.clone()))
                    .collect(),
            },
            Err(failure) => group.places.iter().map(|_| self.no_answer(&failure)).collect(),
        };
        for (place, verdict) in group.places.iter().zip(verdicts) {
            self.items.settle(*place, verdict);
        }
    }

    /// The results in order. What is still open has run out of time.
    pub(crate) fn finish(self) -> Vec<Result<C::Value>> {
        self.items.finish(C::DOING)
    }

    fn no_answer(&self, failure: &RequestFailure) -> Verdict<C::Value> {
        match failure {
            RequestFailure::NotSent(error) => unanswered(error),
            RequestFailure::Unanswered(error) => self.call.unanswered(error),
        }
    }

    fn keys_of(&self, group: &Group) -> Vec<&'k K> {
        group
            .places
            .iter()
            .filter_map(|place| self.keys.get(*place).copied())
            .collect()
    }
}

/// Another attempt, if one may help.
pub(crate) fn unanswered<T>(error: &Error) -> Verdict<T> {
    if error.is_retriable() {
        Verdict::Again(error.clone())
    } else {
        Verdict::Failed(error.clone())
    }
}

/// Whether an attempt failed because another broker is the coordinator by now.
pub(crate) fn has_moved(reason: Option<&Error>) -> bool {
    matches!(
        reason.and_then(Error::code),
        Some(ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use sealwax_protocol::messages::{DescribeTransactionsRequest, DescribeTransactionsResponse};

    /// Gives each item's length; an item named "again" has to be asked for again.
    struct Lengths;

    impl Call<str> for Lengths {
        type Value = (NodeId, usize);
        const DOING: &'static str = "measuring";
        const AT_ONCE: usize = 2;

        fn request(&self, items: &[&str]) -> RequestBody {
            assert!(!items.is_empty());
            DescribeTransactionsRequest::default().into()
        }

        fn read(&self, node: NodeId, _: ResponseBody, items: &[&str]) -> Result<Vec<Verdict<Self::Value>>> {
            let read = |item: &&str| match *item {
                "again" => Verdict::Again(Error::broker(
                    ErrorKind::Broker,
                    ErrorCode::NOT_COORDINATOR,
                    "moved",
                )),
                item => Verdict::Done((node, item.len())),
            };
            Ok(items.iter().map(read).collect())
        }
    }

    fn answer() -> ResponseBody {
        ResponseBody::DescribeTransactions(DescribeTransactionsResponse::default())
    }

    #[test]
    fn items_are_asked_for_where_they_live_and_results_keep_their_order() {
        let mut call = Routed::new(Lengths, vec!["a", "lost", "ccc", "again"]);
        let refused = Error::new(ErrorKind::Authorization, "no");
        let groups = call.route(vec![
            Verdict::Done(NodeId(2)),
            Verdict::Failed(refused),
            Verdict::Done(NodeId(1)),
            Verdict::Done(NodeId(2)),
        ]);
        assert_eq!(
            groups.iter().map(|group| group.node).collect::<Vec<_>>(),
            [NodeId(1), NodeId(2)]
        );
        for group in &groups {
            call.request(group);
            call.take(group, Ok(answer()));
        }
        let open = call.open();
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].0, "again");
        assert!(has_moved(open[0].1));
        let results = call.finish();
        assert_eq!(results[0].as_ref().unwrap(), &(NodeId(2), 1));
        assert_eq!(results[1].as_ref().unwrap_err().kind(), ErrorKind::Authorization);
        assert_eq!(results[2].as_ref().unwrap(), &(NodeId(1), 3));
        assert_eq!(results[3].as_ref().unwrap_err().kind(), ErrorKind::Timeout);
    }

    #[test]
    fn a_request_asks_for_no_more_than_it_can() {
        let mut call = Routed::new(Lengths, vec!["a", "b", "c"]);
        let groups = call.route(vec![Verdict::Done(NodeId(1)); 3]);
        let places: Vec<_> = groups.iter().map(|group| group.places.clone()).collect();
        assert_eq!(places, [vec![0, 1], vec![2]]);
    }

    #[test]
    fn a_failed_attempt_concerns_its_own_group_only() {
        let mut call = Routed::new(Lengths, vec!["a", "b", "c"]);
        let homes = [1, 2, 3].map(|id| Verdict::Done(NodeId(id)));
        let groups = call.route(homes.to_vec());
        let broken = Error::new(ErrorKind::Unreachable, "broken");
        let too_old = Error::new(ErrorKind::UnsupportedVersion, "too old");
        call.take(&groups[0], Err(RequestFailure::Unanswered(broken)));
        call.take(&groups[1], Err(RequestFailure::NotSent(too_old)));
        call.take(&groups[2], Ok(answer()));
        assert_eq!(call.open().iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["a"]);
        let results = call.finish();
        assert_eq!(
            results[1].as_ref().unwrap_err().kind(),
            ErrorKind::UnsupportedVersion
        );
        assert!(results[2].is_ok());
    }
}
