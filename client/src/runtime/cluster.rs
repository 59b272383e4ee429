//! What all roles of one client share: connections, metadata, coordinators. Directives and requests in, answers and views out.
//!
//! The tasks that serve a cluster (connections, the metadata's keeper, coordinator look-ups) hold it weakly, so everything
//! ends when the last client, producer, consumer and administrator is gone.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use sealwax_protocol::ids::NodeId;
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::version::ApiVersions;
use tokio::sync::{Notify, oneshot, watch};

use crate::config::{Address, ClientConfig};
use crate::error::{Error, ErrorKind};
use crate::machine::metadata::ClusterMetadata;
use crate::machine::metadata::refresh::MetadataMachine;
use crate::machine::peer::{LinkState, Peer, choose};
use crate::machine::retry::Backoff;
use crate::machine::transaction::version;
use crate::machine::{ClusterView, Destination, Directive, Lane, Outbound, RequestFailure, RequestId};
use crate::runtime::link::{LinkSettings, Observer};
use crate::runtime::lookup::{Coordinators, Waiting};
use crate::runtime::pool::Pool;
use crate::runtime::wire::{Answer, Request};
use crate::runtime::{bootstrap, clock, entropy, refresh};

/// The shared side of a client.
#[derive(Debug)]
pub(crate) struct Cluster {
    config: ClientConfig,
    bootstrap: Vec<Address>,
    pool: Pool,
    view: watch::Sender<ClusterView>,
    /// `None` only while bootstrapping.
    metadata: Mutex<Option<MetadataMachine>>,
    coordinators: Coordinators,
    /// Wakes the metadata's keeper.
    wake: Arc<Notify>,
    turn: AtomicUsize,
}

/// Whom to ask when no machine's destination is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Any broker that works, or a bootstrap address if none does.
    Any,
    /// Any bootstrap address.
    Bootstrap,
    /// The n-th bootstrap address.
    BootstrapServer(usize),
}

/// How a submitted request goes on.
enum Submitted {
    Enqueued(oneshot::Receiver<Answer>),
    Refused(Error),
    Searching(Box<(Waiting, Outbound, Weak<Cluster>)>),
}

impl Cluster {
    /// Connects to the first bootstrap address that answers, and keeps the metadata current from then on.
    pub(crate) async fn connect(config: ClientConfig) -> Result<Arc<Self>, Error> {
        let bootstrap = config.validate()?;
        let cluster = Arc::new_cyclic(|weak: &Weak<Self>| {
            let observer = Arc::new(Watcher(weak.clone()));
            Self {
                pool: Pool::new(link_settings(&config), observer),
                config,
                bootstrap,
                view: watch::Sender::default(),
                metadata: Mutex::default(),
                coordinators: Coordinators::default(),
                wake: Arc::default(),
                turn: AtomicUsize::new(0),
            }
        });
        let first = bootstrap::first_metadata(&cluster, &cluster.bootstrap).await?;
        let machine = MetadataMachine::new(
            clock::now(),
            &first,
            cluster.retry_backoff(),
            cluster.config.metadata_max_age,
            entropy::rng(),
        );
        let (snapshot, as_of) = (Arc::clone(machine.snapshot()), machine.last_asked());
        *cluster.metadata.lock().unwrap_or_else(PoisonError::into_inner) = Some(machine);
        cluster.publish(snapshot, as_of);
        #[allow(clippy::disallowed_methods, reason = "the one task of the metadata")]
        tokio::spawn(refresh::keep_current(
            Arc::downgrade(&cluster),
            Arc::clone(&cluster.wake),
        ));
        Ok(cluster)
    }

    /// The settings.
    pub(crate) fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// The pauses between attempts.
    pub(crate) fn retry_backoff(&self) -> Backoff {
        Backoff {
            initial: self.config.retry_backoff,
            max: self.config.retry_backoff_max,
        }
    }

    /// The cluster's snapshot, now and whenever it changes.
    pub(crate) fn view(&self) -> watch::Receiver<ClusterView> {
        self.view.subscribe()
    }

    /// Takes a machine's wish.
    pub(crate) fn direct(&self, directive: Directive) {
        let now = clock::now();
        match directive {
            Directive::NeedTopic(name) => self.with_metadata(|machine| machine.need_topic(now, name)),
            Directive::RefreshMetadata => self.with_metadata(|machine| machine.refresh(now)),
            Directive::ForgetCoordinator(kind, key) => return self.coordinators.forget(kind, key),
        };
        self.wake.notify_one();
    }

    /// Sends a request. Requests to the same node and lane leave in the order of these calls (not of the futures' polls);
    /// one to a coordinator that has to be looked up first leaves when that is done.
    ///
    /// *Cancel safety*: dropping the future leaves the connection intact. The request is not sent if no byte of it was
    /// written yet, else its answer is dropped.
    pub(crate) fn submit(
        self: &Arc<Self>,
        outbound: Outbound,
    ) -> impl Future<Output = Result<ResponseBody, RequestFailure>> + Send + 'static {
        let submitted = self.start(outbound);
        async move {
            match submitted {
                Submitted::Enqueued(answer) => wait(answer).await,
                Submitted::Refused(error) => Err(RequestFailure::NotSent(error)),
                Submitted::Searching(search) => {
                    let (waiting, outbound, cluster) = *search;
                    let found = waiting.outcome(outbound.deadline).await;
                    let broker = found.map_err(RequestFailure::NotSent)?;
                    let enqueued = match cluster.upgrade() {
                        Some(cluster) => cluster.enqueue(Some(Peer::Broker(broker.id)), outbound),
                        None => Err(closed()),
                    };
                    wait(enqueued.map_err(RequestFailure::NotSent)?).await
                }
            }
        }
    }

    /// Asks on the general lane, without a look-up. The future does not hold on to the cluster.
    pub(crate) fn ask(
        &self,
        whom: Whom,
        body: RequestBody,
        deadline: Instant,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let peer = match whom {
            Whom::Any => self.choose_any(Lane::General),
            Whom::Bootstrap => self.choose(self.bootstrap_peers(), Lane::General),
            Whom::BootstrapServer(index) => Some(Peer::Bootstrap(index)),
        };
        let outbound = Outbound {
            id: RequestId(0),
            to: Destination::Any,
            lane: Lane::General,
            versions: body.versions(),
            body,
            deadline,
        };
        let submitted = self.enqueue(peer, outbound);
        async move {
            match submitted {
                Ok(answer) => wait(answer).await,
                Err(error) => Err(RequestFailure::NotSent(error)),
            }
        }
    }

    /// The coordinators.
    pub(crate) fn coordinators(&self) -> &Coordinators {
        &self.coordinators
    }

    /// Calls the metadata's machine.
    pub(crate) fn with_metadata<R: Default>(&self, call: impl FnOnce(&mut MetadataMachine) -> R) -> R {
        let mut metadata = self.metadata.lock().unwrap_or_else(PoisonError::into_inner);
        metadata.as_mut().map(call).unwrap_or_default()
    }

    /// Shows a new snapshot to all.
    pub(crate) fn publish(&self, snapshot: Arc<ClusterMetadata>, as_of: Option<Instant>) {
        // The cluster is in touch again: brokers that failed while it was not deserve another attempt.
        self.pool.forgive();
        self.view.send_modify(|view| {
            view.metadata = snapshot;
            view.metadata_as_of = as_of;
        });
    }

    fn start(self: &Arc<Self>, outbound: Outbound) -> Submitted {
        let peer = match &outbound.to {
            Destination::Node(node) => Some(Peer::Broker(*node)),
            Destination::Any => self.choose_any(outbound.lane),
            Destination::Controller => {
                let controller = self.view.borrow().metadata.controller;
                controller.map_or_else(|| self.choose_any(outbound.lane), |node| Some(Peer::Broker(node)))
            }
            Destination::Coordinator(kind, key) => {
                let key = (*kind, Arc::clone(key));
                match self.coordinators.known(&key) {
                    Some(broker) => Some(Peer::Broker(broker.id)),
                    None => {
                        let waiting = self.coordinators.search(self, key);
                        return Submitted::Searching(Box::new((waiting, outbound, Arc::downgrade(self))));
                    }
                }
            }
        };
        match self.enqueue(peer, outbound) {
            Ok(answer) => Submitted::Enqueued(answer),
            Err(error) => Submitted::Refused(error),
        }
    }

    fn enqueue(&self, peer: Option<Peer>, outbound: Outbound) -> Result<oneshot::Receiver<Answer>, Error> {
        let target = peer.and_then(|peer| Some((peer, self.address(peer)?)));
        let Some((peer, address)) = target else {
            self.direct(Directive::RefreshMetadata);
            return Err(Error::new(
                ErrorKind::Unreachable,
                format!("{:?} is not in the cluster's metadata at the moment", outbound.to),
            ));
        };
        let (answer, receiver) = oneshot::channel();
        let request = Request {
            body: outbound.body,
            versions: outbound.versions,
            deadline: outbound.deadline,
            answer,
        };
        self.pool.enqueue(peer, &address, outbound.lane, request);
        Ok(receiver)
    }

    fn choose_any(&self, lane: Lane) -> Option<Peer> {
        let metadata = Arc::clone(&self.view.borrow().metadata);
        let brokers = metadata.brokers.keys().map(|id| Peer::Broker(*id));
        self.choose(brokers.chain(self.bootstrap_peers()), lane)
    }

    fn choose(&self, peers: impl Iterator<Item = Peer>, lane: Lane) -> Option<Peer> {
        let candidates: Vec<(Peer, LinkState)> =
            peers.map(|peer| (peer, self.pool.state(peer, lane))).collect();
        choose(&candidates, self.turn.fetch_add(1, Ordering::Relaxed))
    }

    fn bootstrap_peers(&self) -> impl Iterator<Item = Peer> + use<> {
        (0..self.bootstrap.len()).map(Peer::Bootstrap)
    }

    fn address(&self, peer: Peer) -> Option<Address> {
        match peer {
            Peer::Bootstrap(index) => self.bootstrap.get(index).cloned(),
            Peer::Broker(node) => self.address_of(node),
        }
    }

    fn address_of(&self, node: NodeId) -> Option<Address> {
        let known = self.view.borrow().metadata.brokers.get(&node).cloned();
        let broker = known.or_else(|| self.coordinators.broker(node))?;
        Some(Address {
            host: broker.host,
            port: broker.port,
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.wake.notify_one();
    }
}

fn link_settings(config: &ClientConfig) -> LinkSettings {
    LinkSettings {
        client_id: config.client_id.clone(),
        setup_timeout: config.socket_connection_setup_timeout,
        idle_limit: config.connections_max_idle,
        backoff: Backoff {
            initial: config.reconnect_backoff,
            max: config.reconnect_backoff_max,
        },
        max_frame_bytes: config.receive_message_max_bytes,
    }
}

/// Waits for an answer. A connection's task answers every request; only the end of the tokio runtime can keep it from that.
async fn wait(answer: oneshot::Receiver<Answer>) -> Answer {
    answer
        .await
        .unwrap_or_else(|_| Err(RequestFailure::Unanswered(closed())))
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client was closed")
}

/// Tells the cluster how its connections are doing.
struct Watcher(Weak<Cluster>);

impl Observer for Watcher {
    fn connected(&self, _peer: Peer, versions: &ApiVersions) {
        let Some(cluster) = self.0.upgrade() else { return };
        let told = version::usable_features(versions);
        cluster.view.send_if_modified(|view| {
            let features = version::merge_features(view.features, told);
            let is_news = features != view.features;
            view.features = features;
            is_news
        });
    }

    fn failed(&self, peer: Peer, _error: &Error) {
        let Some(cluster) = self.0.upgrade() else { return };
        if let Peer::Broker(node) = peer {
            cluster.coordinators.forget_broker(node);
        }
        cluster.direct(Directive::RefreshMetadata);
    }
}
