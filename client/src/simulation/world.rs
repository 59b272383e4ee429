//! A whole run: clients, network and cluster under one clock, from one seed. In: a scenario. Out: what was seen, for the judge; the text of the
//! run, if it was wanted.
//!
//! A run has four parts: the scripts under the plan of faults; then everything heals; then every transactional id commits two more
//! transactions, the last of which has to succeed; then readers read to the end.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealwax_devbroker::{Cluster, Origin};
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::request::RequestBody;

use super::check::{Anomaly, Seen, check};
use super::faults::{Act, Faults};
use super::history::{Excuse, History};
use super::model;
use super::network::{Network, Parcel};
use super::operations::{Operation, PARTITIONS, Script};
use super::print::{self, Trace};
use super::producer::{INPUT, Patience, Producer, Step, TOPIC};
use super::reader::Reader;
use super::scenario::Scenario;
use super::shell::{Limits, Shell};
use super::time::Agenda;
use super::uplink::Uplink;
use super::watch::Owners;
use crate::config::{ConsumerConfig, ProducerConfig};
use crate::machine::fetch::{FetchMachine, FetchSettings};
use crate::machine::producer::{ProducerMachine, Settings};
use crate::machine::retry::Backoff;
use crate::machine::{Machine, Outbound, RequestId};

/// So many nodes has the cluster.
pub(super) const NODES: i32 = 3;

/// All users' calls must have come to an end after this time.
const SCRIPTS_END: Duration = Duration::from_secs(900);

/// After everything is healed the last transactions, and then the readers, may take so long.
const PROGRESS: Duration = Duration::from_secs(60);

/// What is due.
#[derive(Debug)]
enum Event {
    Parcel(Parcel),
    Start(usize),
    Wake(usize),
    Cluster,
    /// An act of the plan, which ends when everything heals.
    Planned(Act),
    NodeIsBack(NodeId),
}

#[derive(Debug)]
enum Role {
    /// Not started yet.
    Script(Script),
    Producer(Box<Producer>),
    Reader(Box<Reader>),
    /// Killed, and nobody takes its place.
    Gone,
}

/// A request that a machine has handed out.
#[derive(Debug)]
struct Asked {
    body: RequestBody,
    is_v1: bool,
}

#[derive(Debug)]
struct Client {
    shell: Shell,
    role: Role,
    transactional_id: Option<usize>,
    asked: BTreeMap<RequestId, Asked>,
    wake_at: Option<Duration>,
    frozen_until: Duration,
}

/// A run.
#[derive(Debug)]
pub(super) struct World {
    agenda: Agenda<Event>,
    pub(super) cluster: Cluster,
    network: Network,
    faults: Faults,
    clients: Vec<Client>,
    owners: Owners,
    pub(super) history: History,
    trace: Trace,
    rng: fastrand::Rng,
    cluster_at: Option<Duration>,
    transaction_timeout: Duration,
    /// Transactional ids whose last EndTxn that arrived was an abort, without anything added since.
    aborted: BTreeSet<String>,
    /// Whether a coordinator of TV1 may end a transaction, which costs its producer the epoch.
    may_be_v1: bool,
    is_healed: bool,
    /// Transactions that the scripts began.
    pub(super) scripted: usize,
    /// Events that were handled: parcels, timers, calls, acts.
    pub(super) steps: u64,
}

pub(super) fn config(transaction_timeout: Duration) -> ProducerConfig {
    ProducerConfig {
        batch_size: 200,
        linger: Duration::from_millis(2),
        max_block: Duration::from_secs(2),
        delivery_timeout: Duration::from_secs(4),
        transaction_timeout,
        ..ProducerConfig::default()
    }
}

const LIMITS: Limits = Limits {
    request_timeout: Duration::from_millis(1_000),
    backoff: Backoff {
        initial: Duration::from_millis(100),
        max: Duration::from_secs(1),
    },
};

/// A commit may wait for deliveries, then for the coordinator, each with a request that is on its way.
const PATIENCE: Patience = Patience {
    block: Duration::from_secs(2),
    commit: Duration::from_secs(12),
};

/// The name of the n-th transactional id.
pub(super) fn id_name(number: usize) -> Arc<str> {
    format!("id-{number}").into()
}

/// The group whose offsets the n-th transactional id sends.
fn group_name(number: usize) -> String {
    format!("group-{number}")
}

impl World {
    /// Everything is set up; nothing has happened yet.
    pub(super) fn new(scenario: &Scenario, trace: Trace) -> Self {
        let mut rng = fastrand::Rng::with_seed(scenario.seed);
        let mut world = Self {
            agenda: Agenda::new(),
            cluster: model::cluster(NODES, scenario, TOPIC, PARTITIONS),
            network: Network::new(rng.fork()),
            faults: Faults::new(scenario.plan.rules.clone()),
            clients: Vec::new(),
            owners: Owners::default(),
            history: History::default(),
            trace,
            rng,
            cluster_at: None,
            aborted: BTreeSet::new(),
            transaction_timeout: scenario.transaction_timeout,
            may_be_v1: scenario.may_be_v1(),
            is_healed: false,
            scripted: 0,
            steps: 0,
        };
        for script in &scenario.scripts {
            let client = world.clients.len();
            world.agenda.at(script.start, Event::Start(client));
            let role = Role::Script(script.clone());
            world.add(role, script.transactional_id);
        }
        for _ in 0..scenario.readers {
            world.add_reader();
        }
        for (at, act) in &scenario.plan.acts {
            world.agenda.at(*at, Event::Planned(*act));
        }
        world
    }

    /// Plays all of it; what is wrong with it.
    pub(super) fn play(&mut self) -> Vec<Anomaly> {
        self.run(
            SCRIPTS_END,
            Self::are_scripts_done,
            "the scripts have not come to an end",
        );
        self.scripted = self.history.transactions.len();
        self.heal();
        self.clear_up();
        self.run(
            PROGRESS,
            Self::are_scripts_done,
            "what was open has not come to an end",
        );
        // Under TV1 a late write of a past transaction may spoil the first one that follows in the same epoch: brokers remember the
        // lowest sequence that was tried (KAFKA-14884) and refuse the next ones until the epoch changes.
        for _ in 0..2 {
            self.last_transactions();
            self.run(
                PROGRESS,
                Self::are_scripts_done,
                "no progress after everything was healed",
            );
            self.run(
                PROGRESS,
                Self::are_producers_settled,
                "producers have not come to rest",
            );
        }
        self.note_healed();
        // The last markers are written after the commit was answered.
        self.run_for(Duration::from_secs(1));
        self.run(PROGRESS, Self::are_readers_done, "readers do not come to the end");
        let seen = self.seen();
        check(&self.history, &seen)
    }

    /// The text of the run.
    pub(super) fn text(&self) -> &str {
        self.trace.text()
    }

    /// Time since the start.
    pub(super) const fn now(&self) -> Duration {
        self.agenda.now()
    }

    /// The producer of the n-th client.
    pub(super) fn producer(&self, client: usize) -> &Producer {
        match &self.clients[client].role {
            Role::Producer(producer) => producer,
            other => panic!("client {client} is {other:?}"),
        }
    }

    /// Handles events until `done`, for at most `limit`.
    pub(super) fn run(&mut self, limit: Duration, done: impl Fn(&Self) -> bool, otherwise: &str) {
        let until = self.now() + limit;
        while !done(self) {
            let Some(event) = self.agenda.next(until) else {
                panic!("{otherwise} within {limit:?}");
            };
            self.handle(event);
        }
    }

    /// Lets time pass.
    pub(super) fn run_for(&mut self, time: Duration) {
        let until = self.now() + time;
        while let Some(event) = self.agenda.next(until) {
            self.handle(event);
        }
    }

    /// Adds calls to a producer's script.
    pub(super) fn then(&mut self, client: usize, operations: impl IntoIterator<Item = Operation>) {
        if let Role::Producer(producer) = &mut self.clients[client].role {
            producer.then(operations);
        }
        self.turn(client);
    }

    /// What can be seen from outside.
    pub(super) fn seen(&self) -> Seen {
        let readers = self.clients.iter().filter_map(|client| match &client.role {
            Role::Reader(reader) => Some(reader.read.clone()),
            Role::Script(_) | Role::Producer(_) | Role::Gone => None,
        });
        Seen {
            logs: model::logs(&self.cluster, TOPIC, PARTITIONS),
            committed: model::committed(&self.cluster, TOPIC, PARTITIONS),
            read: readers.collect(),
            group_offsets: self
                .clients
                .iter()
                .filter_map(|client| client.transactional_id)
                .map(|id| (id, model::group_offset(&self.cluster, &group_name(id), INPUT)))
                .collect(),
        }
    }

    fn add(&mut self, role: Role, transactional_id: Option<usize>) {
        let now = self.instant();
        let shell = Shell::new(now, NODES, LIMITS, self.rng.fork());
        self.clients.push(Client {
            shell,
            role,
            transactional_id,
            asked: BTreeMap::new(),
            wake_at: None,
            frozen_until: Duration::ZERO,
        });
    }

    fn add_reader(&mut self) {
        let settings = FetchSettings {
            consumer: ConsumerConfig::default(),
            request_timeout: LIMITS.request_timeout,
            backoff: LIMITS.backoff,
            limits: DecodeLimits::default(),
        };
        let machine = FetchMachine::new(settings, self.rng.fork());
        let reader = Reader::new(self.instant(), machine);
        self.agenda.at(Duration::ZERO, Event::Start(self.clients.len()));
        self.add(Role::Reader(Box::new(reader)), None);
    }

    fn start(&mut self, client: usize, script: VecDeque<Operation>) {
        let transactional_id = self.clients[client].transactional_id;
        let instance = self.history.instance(transactional_id);
        let settings = Settings {
            config: config(self.transaction_timeout),
            transactional_id: transactional_id.map(id_name),
            request_timeout: LIMITS.request_timeout,
            backoff: LIMITS.backoff,
        };
        let machine = ProducerMachine::new(settings, self.rng.fork());
        let is_transactional = transactional_id.is_some();
        let producer = Producer::new(
            machine,
            instance,
            is_transactional,
            PATIENCE,
            group_name(transactional_id.unwrap_or_default()),
            script,
            self.may_be_v1.then(|| self.instant() + self.transaction_timeout),
        );
        self.clients[client].role = Role::Producer(Box::new(producer));
    }

    fn instant(&self) -> Instant {
        self.agenda.epoch() + self.agenda.now()
    }

    fn handle(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Parcel(Parcel::Request {
                connection,
                correlation,
                version,
                body,
            }) => self.arrive(connection, correlation, version, *body),
            Event::Parcel(parcel) => self.deliver(parcel),
            Event::Start(client) => {
                self.steps += 1;
                if let Role::Script(script) = &self.clients[client].role {
                    let script = script.operations.iter().copied().collect();
                    self.start(client, script);
                }
                self.turn(client);
            }
            Event::Wake(client) => {
                if self.clients[client].wake_at != Some(now) {
                    return;
                }
                if let Some(until) = self.frozen(client) {
                    self.clients[client].wake_at = Some(until);
                    return self.agenda.at(until, Event::Wake(client));
                }
                self.steps += 1;
                self.clients[client].wake_at = None;
                self.expire(client);
                self.turn(client);
            }
            Event::Cluster => {
                if self.cluster_at == Some(now) {
                    self.steps += 1;
                    self.cluster_at = None;
                    self.cluster.handle_timeout(now);
                    self.settle();
                }
            }
            Event::Planned(_) if self.is_healed => {}
            Event::Planned(act) => {
                self.steps += 1;
                self.carry_out(act);
                self.settle();
            }
            Event::NodeIsBack(node) => {
                self.network.set_down(now, node, false);
                model::start_node(&mut self.cluster, now, node);
                self.settle();
            }
        }
    }

    /// A request reaches its node.
    fn arrive(&mut self, connection: u64, correlation: i32, version: i16, body: RequestBody) {
        let now = self.now();
        let Some(node) = self.network.node(connection) else {
            self.network.break_off(now, connection);
            return self.settle();
        };
        self.steps += 1;
        self.trace.say(now, || {
            let what = print::request(&body, version);
            format!("node {node} gets {connection}/{correlation}: {what}")
        });
        let origin = Origin {
            node,
            connection,
            correlation,
        };
        self.note_late_adding(connection, &body);
        self.cluster.handle_request(now, origin, version, body);
        self.settle();
    }

    /// Watches for what costs a producer of TV1 its epoch although it did all it could.
    fn note_late_adding(&mut self, connection: u64, body: &RequestBody) {
        let id = match body {
            RequestBody::EndTxn(end) if end.committed => {
                self.aborted.remove(end.transactional_id.0.as_str());
                return;
            }
            RequestBody::EndTxn(end) => {
                self.aborted.insert(end.transactional_id.0.to_string());
                return;
            }
            RequestBody::AddPartitionsToTxn(adding) => adding.v3_and_below_transactional_id.0.as_str(),
            RequestBody::AddOffsetsToTxn(adding) => adding.transactional_id.0.as_str(),
            _ => return,
        };
        if !self.network.is_left_behind(connection) {
            self.aborted.remove(id);
        } else if self.aborted.contains(id) {
            for client in &self.clients {
                if let (Role::Producer(producer), Some(own)) = (&client.role, client.transactional_id)
                    && *id_name(own) == *id
                {
                    self.history.excuse(producer.instance, Excuse::LateAdding);
                }
            }
        }
    }

    /// Something reaches a client.
    fn deliver(&mut self, parcel: Parcel) {
        let connection = match &parcel {
            Parcel::Connected(connection) | Parcel::Broken(connection) => *connection,
            Parcel::Answer { connection, .. } | Parcel::Request { connection, .. } => *connection,
        };
        let Some(client) = self.network.owner(connection) else {
            return;
        };
        if let Some(until) = self.frozen(client) {
            return self.agenda.at(until, Event::Parcel(parcel));
        }
        self.steps += 1;
        let now = self.now();
        let (shell, mut up) = self.uplink(client);
        match parcel {
            Parcel::Connected(_) => shell.connected(&mut up, connection),
            Parcel::Broken(_) => {
                up.trace
                    .say(now, || format!("client {client} lost connection {connection}"));
                shell.broken(&mut up, connection);
            }
            Parcel::Answer {
                correlation, body, ..
            } => {
                up.trace.say(now, || {
                    let what = print::answer(&body);
                    format!("client {client} gets {connection}/{correlation}: {what}")
                });
                shell.answered(&mut up, connection, correlation, *body);
            }
            Parcel::Request { .. } => {}
        }
        self.turn(client);
    }

    fn frozen(&self, client: usize) -> Option<Duration> {
        let until = self.clients[client].frozen_until;
        (until > self.now()).then_some(until)
    }

    /// Timers of a client that are due.
    fn expire(&mut self, client: usize) {
        let now = self.instant();
        let (shell, mut up) = self.uplink(client);
        shell.handle_timeout(&mut up);
        match &mut self.clients[client].role {
            Role::Producer(producer) => expire(&mut producer.machine, now),
            Role::Reader(reader) => expire(&mut reader.machine, now),
            Role::Script(_) | Role::Gone => {}
        }
    }

    /// Lets a client do all that it can do now, as the driver does: news before answers, outputs after each input.
    fn turn(&mut self, client: usize) {
        // What a machine decides while it hands out nothing, its user sees only when asked once more.
        let mut rests = 0;
        while rests < 2 {
            let now = self.instant();
            let moved = match &self.clients[client].role {
                Role::Producer(_) => self.turn_producer(client, now),
                Role::Reader(_) => self.turn_reader(client, now),
                Role::Script(_) | Role::Gone => false,
            };
            rests = if moved { 0 } else { rests + 1 };
        }
        self.schedule(client);
        self.settle();
    }

    fn turn_producer(&mut self, client: usize, now: Instant) -> bool {
        let time = self.now();
        let held = &mut self.clients[client];
        let Role::Producer(producer) = &mut held.role else {
            return false;
        };
        let mut moved = true;
        if let Some(view) = held.shell.poll_view() {
            producer.machine.handle_cluster(now, &view);
        } else if let Some((id, result)) = held.shell.poll_result() {
            let asked = held.asked.remove(&id);
            let is_v1 = asked.as_ref().is_some_and(|asked| asked.is_v1);
            let body = asked.as_ref().map(|asked| &asked.body);
            producer.watch.answer(time, id, body, is_v1, &result);
            producer.machine.handle_response(now, id, result);
        } else {
            match producer.step(now, &mut self.history) {
                Step::Moved => self.steps += 1,
                Step::Rests => moved = false,
                Step::Restart => {
                    let rest = producer.rest();
                    self.kill(client);
                    self.start(client, rest);
                    return true;
                }
            }
        }
        self.collect_producer(client, now) || moved
    }

    /// Takes what the machine hands out; whether there was something: its user may have waited for it.
    fn collect_producer(&mut self, client: usize, now: Instant) -> bool {
        let Role::Producer(producer) = &mut self.clients[client].role else {
            return false;
        };
        let mut moved = false;
        let directives: Vec<_> = std::iter::from_fn(|| producer.machine.poll_directive()).collect();
        let mut requests = Vec::new();
        loop {
            let polled = producer.machine.poll_request(now);
            while let Some(resolved) = producer.machine.poll_event() {
                producer.resolve(&mut self.history, &resolved);
                moved = true;
            }
            let Some(outbound) = polled else { break };
            let unresolved = producer.unresolved();
            producer.watch.request(&mut self.owners, &outbound, unresolved);
            requests.push(outbound);
        }
        for directive in directives {
            let (shell, mut up) = self.uplink(client);
            shell.direct(&mut up, directive);
        }
        for outbound in requests {
            self.submit(client, outbound);
            moved = true;
        }
        moved
    }

    fn submit(&mut self, client: usize, outbound: Outbound) {
        let asked = Asked {
            body: outbound.body.clone(),
            is_v1: outbound.versions.max <= 4,
        };
        self.clients[client].asked.insert(outbound.id, asked);
        let (shell, mut up) = self.uplink(client);
        shell.submit(&mut up, outbound);
    }

    fn turn_reader(&mut self, client: usize, now: Instant) -> bool {
        let held = &mut self.clients[client];
        let Role::Reader(reader) = &mut held.role else {
            return false;
        };
        let mut moved = true;
        if let Some(view) = held.shell.poll_view() {
            reader.machine.handle_cluster(now, &view);
        } else if let Some((id, result)) = held.shell.poll_result() {
            reader.machine.handle_response(now, id, result);
        } else {
            moved = reader.step(now);
            self.steps += u64::from(moved);
        }
        let Role::Reader(reader) = &mut self.clients[client].role else {
            return false;
        };
        let directives: Vec<_> = std::iter::from_fn(|| reader.machine.poll_directive()).collect();
        let requests: Vec<_> = std::iter::from_fn(|| reader.machine.poll_request(now)).collect();
        for directive in directives {
            let (shell, mut up) = self.uplink(client);
            shell.direct(&mut up, directive);
        }
        for outbound in requests {
            let (shell, mut up) = self.uplink(client);
            shell.submit(&mut up, outbound);
        }
        moved
    }

    fn schedule(&mut self, client: usize) {
        let epoch = self.agenda.epoch();
        let held = &mut self.clients[client];
        let own = match &held.role {
            Role::Producer(producer) => [producer.machine.poll_timeout(), producer.poll_timeout()],
            Role::Reader(reader) => [reader.machine.poll_timeout(), None],
            Role::Script(_) | Role::Gone => [None, None],
        };
        let wakes = own.into_iter().flatten().chain(held.shell.poll_timeout());
        let Some(at) = wakes.min() else { return };
        let at = at.saturating_duration_since(epoch).max(self.agenda.now());
        if held.wake_at != Some(at) {
            held.wake_at = Some(at);
            self.agenda.at(at, Event::Wake(client));
        }
    }

    /// Takes what network and cluster have to say into the agenda.
    fn settle(&mut self) {
        let now = self.now();
        while let Some(answer) = self.cluster.poll_answer() {
            self.network.answer(now, answer);
        }
        while let Some((at, parcel)) = self.network.poll() {
            self.agenda.at(at, Event::Parcel(parcel));
        }
        let wanted = self.cluster.poll_timeout();
        if let Some(at) = wanted.map(|at| at.max(now))
            && self.cluster_at.is_none_or(|known| at < known)
        {
            self.cluster_at = Some(at);
            self.agenda.at(at, Event::Cluster);
        }
    }

    fn carry_out(&mut self, act: Act) {
        let now = self.now();
        self.trace.say(now, || format!("act {act:?}"));
        let clients = self.clients.len();
        match act {
            Act::MoveLeader(partition) => model::move_leader(&mut self.cluster, now, TOPIC, partition),
            Act::MoveTransactionCoordinator(id) => {
                model::move_transaction_coordinator(&mut self.cluster, now, &id_name(id));
            }
            Act::MoveGroupCoordinator => {
                model::move_group_coordinator(&mut self.cluster, now, &group_name(0))
            }
            Act::StopNode(node, time) => {
                let node = NodeId(node);
                self.network.set_down(now, node, true);
                model::stop_node(&mut self.cluster, now, node);
                self.agenda.at(now + time, Event::NodeIsBack(node));
            }
            Act::Cut(client) => {
                let client = client % clients;
                self.network.break_all(now, |owner, _| owner == Some(client));
            }
            Act::Partition(client, node, time) => {
                self.network.part(now + time, client % clients, NodeId(node));
            }
            Act::Freeze(client, time) => {
                let held = &mut self.clients[client % clients];
                held.frozen_until = held.frozen_until.max(now + time);
            }
            Act::SetTransactionVersion(level) => {
                model::set_transaction_version(&mut self.cluster, now, level)
            }
        }
    }

    fn heal(&mut self) {
        let now = self.now();
        self.trace.say(now, || "everything heals".to_owned());
        self.is_healed = true;
        self.faults.heal();
        self.network.heal(now);
        self.settle();
        // Nodes come back by themselves: every stop has its end.
        self.run_for(Duration::from_secs(3));
    }

    /// Whatever is left open is aborted; of several producers with one transactional id only the last lives on.
    fn clear_up(&mut self) {
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for (client, held) in self.clients.iter().enumerate() {
            if let (Role::Producer(producer), Some(id)) = (&held.role, held.transactional_id) {
                let other = last.get(&id).copied();
                let newest = other.is_none_or(|other| self.producer(other).instance < producer.instance);
                if newest {
                    last.insert(id, client);
                }
            }
        }
        for client in 0..self.clients.len() {
            let Role::Producer(_) = &self.clients[client].role else {
                continue;
            };
            match self.clients[client].transactional_id {
                None => {}
                Some(id) if last.get(&id) == Some(&client) => self.then(client, [Operation::Abort]),
                Some(_) => {
                    self.kill(client);
                    self.clients[client].role = Role::Gone;
                }
            }
        }
    }

    /// One more transaction for each transactional id, and one more record for each partition of a producer without. Who was told that it is
    /// beyond use is started anew.
    fn last_transactions(&mut self) {
        for client in 0..self.clients.len() {
            let held = &self.clients[client];
            let Role::Producer(producer) = &held.role else {
                continue;
            };
            let is_over = self.history.instances[producer.instance].over.is_some();
            let anew = is_over.then_some(Operation::Restart);
            let end = match held.transactional_id {
                None => Operation::Flush,
                Some(_) => Operation::Commit,
            };
            let sends = (0..PARTITIONS).map(|partition| Operation::Send(partition, 1));
            self.then(client, anew.into_iter().chain(sends).chain([end]));
        }
    }

    fn note_healed(&mut self) {
        let producers = self.clients.iter().filter_map(|client| match &client.role {
            Role::Producer(producer) => Some(producer.instance),
            Role::Script(_) | Role::Reader(_) | Role::Gone => None,
        });
        self.history.healed.extend(producers);
    }

    fn kill(&mut self, client: usize) {
        let (shell, mut up) = self.uplink(client);
        shell.kill(&mut up);
        let now = self.instant();
        let rng = self.rng.fork();
        let held = &mut self.clients[client];
        held.shell = Shell::new(now, NODES, LIMITS, rng);
        held.asked.clear();
        if let Role::Producer(producer) = &mut held.role {
            // Whoever waited for the results of its batches is gone with it.
            producer.forget(&mut self.history);
        }
    }

    fn are_scripts_done(&self) -> bool {
        self.clients.iter().all(|client| match &client.role {
            Role::Producer(producer) => producer.is_done(),
            Role::Script(_) => false,
            Role::Reader(_) | Role::Gone => true,
        })
    }

    fn are_producers_settled(&self) -> bool {
        self.clients.iter().all(|client| match &client.role {
            Role::Producer(producer) => producer.is_settled(),
            Role::Script(_) | Role::Reader(_) | Role::Gone => true,
        })
    }

    fn are_readers_done(&self) -> bool {
        self.clients.iter().all(|client| match &client.role {
            Role::Reader(reader) => (0..PARTITIONS)
                .all(|partition| reader.position(partition) == model::end(&self.cluster, TOPIC, partition)),
            Role::Script(_) | Role::Producer(_) | Role::Gone => true,
        })
    }

    fn uplink(&mut self, client: usize) -> (&mut Shell, Uplink<'_>) {
        let up = Uplink {
            network: &mut self.network,
            faults: &mut self.faults,
            rng: &mut self.rng,
            trace: &mut self.trace,
            epoch: self.agenda.epoch(),
            time: self.agenda.now(),
            client,
        };
        (&mut self.clients[client].shell, up)
    }
}

fn expire<M: Machine>(machine: &mut M, now: Instant) {
    if machine.poll_timeout().is_some_and(|at| at <= now) {
        machine.handle_timeout(now);
        assert!(
            machine.poll_timeout().is_none_or(|at| at > now),
            "a timer in the past would spin"
        );
    }
}
