//! What `runtime/` does for a machine: finds out whom a request goes to, looks coordinators up, keeps the metadata current, and hands
//! answers and views back. In: requests and directives of a machine, arrivals, time. Out: results for the machine, and its next view.
//!
//! The decisions are the client's own sans-IO parts (metadata, coordinator cache, choice of a peer, backoff).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_protocol::StrBytes;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::metadata_response::MetadataResponseBroker;
use sealwax_protocol::messages::{BrokerId, MetadataResponse};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use super::link::{Asker, Link, Notice, Request};
use super::uplink::Uplink;
use crate::error::{Error, ErrorKind};
use crate::machine::coordinator::{self, CoordinatorCache, CoordinatorKey, LookupAnswer};
use crate::machine::metadata::refresh::MetadataMachine;
use crate::machine::peer::{self, LinkState, Peer};
use crate::machine::retry::Backoff;
use crate::machine::{
    ClusterView, CoordinatorKind, Destination, Directive, Lane, Outbound, RequestFailure, RequestId,
};

/// A lane as a number, in the order in which lanes are gone through.
pub(super) const fn number(lane: Lane) -> u8 {
    match lane {
        Lane::General => 0,
        Lane::Produce => 1,
        Lane::Fetch => 2,
        Lane::Coordinator => 3,
    }
}

/// What all requests of a shell have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) request_timeout: Duration,
    pub(super) backoff: Backoff,
}

/// A look-up that somebody waits for.
#[derive(Debug)]
struct Search {
    waiting: Vec<Outbound>,
    failures: u32,
    /// `None` while the question is out.
    again: Option<Instant>,
}

/// The shared side of one client.
#[derive(Debug)]
pub(super) struct Shell {
    limits: Limits,
    links: BTreeMap<(NodeId, u8), Link>,
    metadata: MetadataMachine,
    view: ClusterView,
    has_news: bool,
    coordinators: CoordinatorCache,
    searches: BTreeMap<(i8, Arc<str>), Search>,
    results: VecDeque<(RequestId, Result<ResponseBody, RequestFailure>)>,
    turn: usize,
}

impl Shell {
    /// A client that has just learned which brokers there are.
    pub(super) fn new(now: Instant, nodes: i32, limits: Limits, rng: fastrand::Rng) -> Self {
        let brokers = (1..=nodes).map(|node| {
            MetadataResponseBroker::default()
                .with_node_id(BrokerId(node))
                .with_host(StrBytes::from_string(format!("node-{node}")))
                .with_port(9092)
        });
        let first = MetadataResponse::default().with_brokers(brokers.collect());
        let metadata = MetadataMachine::new(now, &first, limits.backoff, Duration::from_secs(300), rng);
        Self {
            limits,
            links: BTreeMap::new(),
            view: ClusterView {
                metadata: Arc::clone(metadata.snapshot()),
                metadata_as_of: metadata.last_asked(),
                ..ClusterView::default()
            },
            metadata,
            has_news: true,
            coordinators: CoordinatorCache::default(),
            searches: BTreeMap::new(),
            results: VecDeque::new(),
            turn: 0,
        }
    }

    /// The view, if it has changed since it was asked for.
    pub(super) fn poll_view(&mut self) -> Option<ClusterView> {
        std::mem::take(&mut self.has_news).then(|| self.view.clone())
    }

    /// The next result.
    pub(super) fn poll_result(&mut self) -> Option<(RequestId, Result<ResponseBody, RequestFailure>)> {
        self.results.pop_front()
    }

    /// Takes a machine's wish.
    pub(super) fn direct(&mut self, up: &mut Uplink<'_>, directive: Directive) {
        let now = up.now();
        match directive {
            Directive::NeedTopic(name) => self.metadata.need_topic(now, name),
            Directive::RefreshMetadata => self.metadata.refresh(now),
            Directive::ForgetCoordinator(kind, key) => self.coordinators.forget(&(kind, key)),
        }
        self.keep_current(up);
    }

    /// Takes a machine's request.
    pub(super) fn submit(&mut self, up: &mut Uplink<'_>, outbound: Outbound) {
        match outbound.to.clone() {
            Destination::Node(node) => self.send(up, Some(node), outbound),
            Destination::Any | Destination::Controller => {
                let node = self.any(outbound.lane);
                self.send(up, node, outbound);
            }
            Destination::Coordinator(kind, key) => match self.coordinators.get(&(kind, Arc::clone(&key))) {
                Some(broker) => self.send(up, Some(broker.id), outbound),
                None => self.search(up, (kind, key), outbound),
            },
        }
    }

    /// A connection was set up.
    pub(super) fn connected(&mut self, up: &mut Uplink<'_>, connection: u64) {
        if let Some(link) = self.link_of(connection) {
            link.connected(up);
        }
    }

    /// An answer has arrived.
    pub(super) fn answered(
        &mut self,
        up: &mut Uplink<'_>,
        connection: u64,
        correlation: i32,
        body: ResponseBody,
    ) {
        let mut notices = Vec::new();
        if let Some(link) = self.link_of(connection) {
            link.answered(up, correlation, body, &mut notices);
        }
        self.note(up, notices);
    }

    /// A connection is gone.
    pub(super) fn broken(&mut self, up: &mut Uplink<'_>, connection: u64) {
        let mut notices = Vec::new();
        if let Some(link) = self.link_of(connection) {
            link.broken(up, &mut notices);
        }
        self.note(up, notices);
    }

    /// Time has passed.
    pub(super) fn handle_timeout(&mut self, up: &mut Uplink<'_>) {
        let mut notices = Vec::new();
        for link in self.links.values_mut() {
            link.handle_timeout(up, &mut notices);
        }
        self.note(up, notices);
        self.expire_searches(up);
        self.keep_current(up);
    }

    /// When [`Shell::handle_timeout`] wants to be called.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let links = self.links.values().filter_map(Link::poll_timeout);
        let searches = self.searches.values().flat_map(|search| {
            let deadlines = search.waiting.iter().map(|outbound| outbound.deadline);
            deadlines.chain(search.again)
        });
        links.chain(searches).chain(self.metadata.poll_timeout()).min()
    }

    /// The process dies: all connections are closed.
    pub(super) fn kill(&mut self, up: &mut Uplink<'_>) {
        for connection in self.links.values().filter_map(Link::connection) {
            up.close(connection);
        }
        self.links.clear();
    }

    fn link_of(&mut self, connection: u64) -> Option<&mut Link> {
        self.links
            .values_mut()
            .find(|link| link.connection() == Some(connection))
    }

    fn note(&mut self, up: &mut Uplink<'_>, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Connected(versions) => {
                    let features = versions.features();
                    if features.epoch > self.view.features.epoch {
                        self.view.features = features;
                        self.has_news = true;
                    }
                }
                Notice::Failed(node) => {
                    self.coordinators.forget_broker(node);
                    self.metadata.refresh(up.now());
                    self.keep_current(up);
                }
                Notice::Ended(Asker::Machine(id), result) => self.results.push_back((id, result)),
                Notice::Ended(Asker::Metadata, result) => self.take_metadata(up, &result),
                Notice::Ended(Asker::Search(key), result) => self.take_search(up, &key, result),
            }
        }
    }

    fn send(&mut self, up: &mut Uplink<'_>, node: Option<NodeId>, outbound: Outbound) {
        let lane = outbound.lane;
        let request = Request {
            asker: Asker::Machine(outbound.id),
            body: outbound.body,
            versions: outbound.versions,
            deadline: outbound.deadline,
        };
        self.enqueue(up, node, lane, request);
    }

    fn enqueue(&mut self, up: &mut Uplink<'_>, node: Option<NodeId>, lane: Lane, request: Request) {
        let known = node.filter(|node| {
            self.view.metadata.brokers.contains_key(node) || self.coordinators.broker(*node).is_some()
        });
        let mut notices = Vec::new();
        match known {
            Some(node) => self
                .links
                .entry((node, number(lane)))
                .or_insert_with(|| Link::new(node))
                .enqueue(up, request, &mut notices),
            None => {
                self.metadata.refresh(up.now());
                let error = Error::new(ErrorKind::Unreachable, "the node is not in the metadata");
                notices.push(Notice::Ended(request.asker, Err(RequestFailure::NotSent(error))));
            }
        }
        self.note(up, notices);
    }

    /// A broker for what any will do, the best first.
    fn any(&mut self, lane: Lane) -> Option<NodeId> {
        let mut nodes: Vec<NodeId> = self.view.metadata.brokers.keys().copied().collect();
        nodes.sort_unstable();
        let candidates: Vec<(Peer, LinkState)> = nodes
            .into_iter()
            .map(|node| {
                let link = self.links.get(&(node, number(lane)));
                (Peer::Broker(node), link.map_or(LinkState::Idle, Link::status))
            })
            .collect();
        self.turn += 1;
        match peer::choose(&candidates, self.turn) {
            Some(Peer::Broker(node)) => Some(node),
            Some(Peer::Bootstrap(_)) | None => None,
        }
    }

    fn ask(&mut self, up: &mut Uplink<'_>, asker: Asker, body: RequestBody) {
        let node = self.any(Lane::General);
        let request = Request {
            asker,
            versions: body.versions(),
            body,
            deadline: up.now() + self.limits.request_timeout,
        };
        self.enqueue(up, node, Lane::General, request);
    }

    fn keep_current(&mut self, up: &mut Uplink<'_>) {
        if let Some((_, request)) = self.metadata.poll_request(up.now()) {
            self.ask(up, Asker::Metadata, request.into());
        }
    }

    fn take_metadata(&mut self, up: &Uplink<'_>, result: &Result<ResponseBody, RequestFailure>) {
        let usable = match result {
            Ok(ResponseBody::Metadata(response)) => self.metadata.handle_response(up.now(), Ok(response)),
            Ok(_) | Err(_) => self.metadata.handle_response(up.now(), Err(())),
        };
        if usable {
            self.links.values_mut().for_each(Link::forgive);
            self.view.metadata = Arc::clone(self.metadata.snapshot());
            self.view.metadata_as_of = self.metadata.last_asked();
            self.has_news = true;
        }
    }

    fn search(&mut self, up: &mut Uplink<'_>, key: CoordinatorKey, outbound: Outbound) {
        let place = (key.0.code(), Arc::clone(&key.1));
        if let Some(search) = self.searches.get_mut(&place) {
            search.waiting.push(outbound);
            return;
        }
        let search = Search {
            waiting: vec![outbound],
            failures: 0,
            again: None,
        };
        self.searches.insert(place, search);
        self.ask(up, Asker::Search(key.clone()), coordinator::request(&key).into());
    }

    fn take_search(
        &mut self,
        up: &mut Uplink<'_>,
        key: &CoordinatorKey,
        result: Result<ResponseBody, RequestFailure>,
    ) {
        let answer = match result {
            Ok(ResponseBody::FindCoordinator(response)) => coordinator::classify(key, &response),
            Ok(other) => panic!("FindCoordinator was answered with {other:?}"),
            Err(failure) => LookupAnswer::Later(failure.error().clone()),
        };
        let place = (key.0.code(), Arc::clone(&key.1));
        match answer {
            LookupAnswer::Found(broker) => {
                let node = broker.id;
                self.coordinators.insert(key.clone(), broker);
                let waiting = self.searches.remove(&place).map(|search| search.waiting);
                for outbound in waiting.unwrap_or_default() {
                    self.send(up, Some(node), outbound);
                }
            }
            LookupAnswer::Refused(error) => {
                let waiting = self.searches.remove(&place).map(|search| search.waiting);
                for outbound in waiting.unwrap_or_default() {
                    let failure = RequestFailure::NotSent(error.clone());
                    self.results.push_back((outbound.id, Err(failure)));
                }
            }
            LookupAnswer::Later(_) => {
                let now = up.now();
                let backoff = self.limits.backoff;
                if let Some(search) = self.searches.get_mut(&place) {
                    search.failures += 1;
                    search.again = Some(now + backoff.delay(search.failures, up.rng()));
                }
            }
        }
    }

    fn expire_searches(&mut self, up: &mut Uplink<'_>) {
        let now = up.now();
        let mut due = Vec::new();
        for (place, search) in &mut self.searches {
            for outbound in std::mem::take(&mut search.waiting) {
                if outbound.deadline > now {
                    search.waiting.push(outbound);
                } else {
                    let error = Error::new(ErrorKind::Timeout, "the coordinator was not found in time");
                    self.results
                        .push_back((outbound.id, Err(RequestFailure::NotSent(error))));
                }
            }
            if search.again.is_some_and(|at| at <= now) {
                search.again = None;
                due.push(place.clone());
            }
        }
        // Nobody waits any more: the search is given up; an answer that is on its way finds its place empty.
        self.searches
            .retain(|_, search| !search.waiting.is_empty() || search.again.is_none());
        for (code, name) in due {
            if self
                .searches
                .get(&(code, Arc::clone(&name)))
                .is_none_or(|search| search.waiting.is_empty())
            {
                self.searches.remove(&(code, name));
                continue;
            }
            let kind = [CoordinatorKind::Group, CoordinatorKind::Transaction]
                .into_iter()
                .find(|kind| kind.code() == code)
                .expect("a kind");
            let key = (kind, name);
            self.ask(up, Asker::Search(key.clone()), coordinator::request(&key).into());
        }
    }
}
