//! The metadata machine under virtual time, and the answers that other tests build on too.

use super::*;
use sealwax_protocol::Uuid;
use sealwax_protocol::ids::NodeId;
use sealwax_protocol::messages::BrokerId;
use sealwax_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};

const INITIAL: Duration = Duration::from_millis(100);
const MAX_AGE: Duration = Duration::from_secs(300);

/// A broker at `broker-ID:9092`.
pub(crate) fn broker(id: i32) -> MetadataResponseBroker {
    MetadataResponseBroker::default()
        .with_node_id(BrokerId(id))
        .with_host(StrBytes::from_string(format!("broker-{id}")))
        .with_port(9092)
}

/// A topic with partitions (index, leader, epoch).
pub(crate) fn topic(name: &'static str, id: u128, partitions: &[(i32, i32, i32)]) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_name(Some(TopicName(StrBytes::from_static_str(name))))
        .with_topic_id(Uuid::from_u128(id))
        .with_partitions(
            partitions
                .iter()
                .map(|&(index, leader, epoch)| {
                    MetadataResponsePartition::default()
                        .with_partition_index(index)
                        .with_leader_id(BrokerId(leader))
                        .with_leader_epoch(epoch)
                })
                .collect(),
        )
}

/// An answer with one broker.
pub(crate) fn response<const N: usize>(topics: [MetadataResponseTopic; N]) -> MetadataResponse {
    MetadataResponse::default()
        .with_brokers(vec![broker(1)])
        .with_topics(topics.to_vec())
}

/// The machine with a clock that only moves when told.
struct World {
    now: Instant,
    machine: MetadataMachine,
}

impl World {
    fn new() -> Self {
        #[allow(
            clippy::disallowed_methods,
            reason = "some instant must be the first; it never moves by itself"
        )]
        let now = Instant::now();
        let backoff = Backoff {
            initial: INITIAL,
            max: Duration::from_secs(1),
        };
        let machine = MetadataMachine::new(now, &response([]), backoff, MAX_AGE, fastrand::Rng::with_seed(7));
        Self { now, machine }
    }

    /// The names that are asked for now; `None` if nothing is.
    fn asked(&mut self) -> Option<Vec<String>> {
        let (_, request) = self.machine.poll_request(self.now)?;
        let topics = request.topics.unwrap();
        Some(
            topics
                .into_iter()
                .map(|topic| topic.name.unwrap().0.to_string())
                .collect(),
        )
    }

    /// Moves the clock to the machine's next wake-up and says by how much.
    fn jump(&mut self) -> Duration {
        let next = self.machine.poll_timeout().unwrap();
        let by = next.saturating_duration_since(self.now);
        self.now = self.now.max(next);
        by
    }

    fn answer(&mut self, response: &MetadataResponse) -> bool {
        self.machine.handle_response(self.now, Ok(response))
    }
}

fn about(expected: Duration, actual: Duration) -> bool {
    actual >= expected.mul_f64(0.79) && actual <= expected.mul_f64(1.21)
}

#[test]
fn a_new_topic_is_asked_for_at_once_and_a_known_one_not_again() {
    let mut world = World::new();
    assert_eq!(world.asked(), None);
    world.machine.need_topic(world.now, "t".into());
    assert_eq!(world.asked(), Some(vec!["t".to_owned()]));
    assert_eq!(world.asked(), None, "one request at a time");
    assert!(world.answer(&response([topic("t", 1, &[(0, 1, 0)])])));
    assert_eq!(
        world.machine.snapshot().partition("t", 0).unwrap().leader,
        Some(NodeId(1))
    );
    world.machine.need_topic(world.now, "t".into());
    assert_eq!(world.asked(), None);
    assert_eq!(world.jump(), MAX_AGE);
    assert_eq!(world.asked(), Some(vec!["t".to_owned()]));
}

#[test]
fn a_topic_wished_for_while_asking_is_asked_for_right_after() {
    let mut world = World::new();
    world.machine.need_topic(world.now, "a".into());
    world.asked().unwrap();
    world.machine.need_topic(world.now, "b".into());
    world.answer(&response([topic("a", 1, &[(0, 1, 0)])]));
    assert_eq!(world.asked(), Some(vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn a_refresh_waits_out_the_pause_since_the_last_request() {
    let mut world = World::new();
    world.machine.refresh(world.now);
    assert_eq!(world.asked(), None);
    assert!(about(INITIAL, world.jump()));
    assert_eq!(world.asked(), Some(vec![]));
    world.answer(&response([]).with_brokers(vec![broker(1), broker(2)]));
    world.now += Duration::from_secs(10);
    world.machine.refresh(world.now);
    assert_eq!(world.asked(), Some(vec![]), "the pause is long over");
}

#[test]
fn pauses_grow_while_nothing_gets_better_and_shrink_when_it_does() {
    let mut world = World::new();
    world.machine.need_topic(world.now, "t".into());
    for doubling in 0..4 {
        world.asked().unwrap();
        assert!(!world.machine.handle_response(world.now, Err(())));
        assert!(
            about(INITIAL * (1 << doubling).min(10), world.jump()),
            "{doubling}"
        );
    }
    world.asked().unwrap();
    world.answer(&response([
        topic("t", 0, &[]).with_error_code(ErrorCode::LEADER_NOT_AVAILABLE.0)
    ]));
    assert!(
        about(INITIAL, world.jump()),
        "something changed: the topic is being created"
    );
    world.asked().unwrap();
    world.answer(&response([topic("t", 1, &[(0, 1, 0)])]));
    assert_eq!(world.jump(), MAX_AGE);
}

#[test]
fn a_partition_without_leader_is_asked_for_again() {
    let mut world = World::new();
    world.machine.need_topic(world.now, "t".into());
    world.asked().unwrap();
    world.answer(&response([topic("t", 1, &[(0, -1, 3)])]));
    assert!(about(INITIAL, world.jump()));
}

#[test]
fn an_error_that_only_a_person_can_mend_waits_for_the_age() {
    let mut world = World::new();
    world.machine.need_topic(world.now, "t".into());
    world.asked().unwrap();
    world.answer(&response([
        topic("t", 0, &[]).with_error_code(ErrorCode::TOPIC_AUTHORIZATION_FAILED.0)
    ]));
    assert_eq!(world.jump(), MAX_AGE);
    let code = world.machine.snapshot().topics.get("t").unwrap().error_code;
    assert_eq!(code, ErrorCode::TOPIC_AUTHORIZATION_FAILED);
}

#[test]
fn an_answer_without_brokers_does_not_replace_what_is_known() {
    let mut world = World::new();
    world.machine.refresh(world.now);
    world.jump();
    world.asked().unwrap();
    assert!(!world.answer(&MetadataResponse::default()));
    assert_eq!(world.machine.snapshot().brokers.len(), 1);
}

#[test]
fn a_broker_can_send_the_client_back_to_the_bootstrap_addresses() {
    let mut world = World::new();
    world.machine.refresh(world.now);
    world.jump();
    world.asked().unwrap();
    assert!(!world.answer(&response([]).with_error_code(ErrorCode::REBOOTSTRAP_REQUIRED.0)));
    world.jump();
    let (audience, _) = world.machine.poll_request(world.now).unwrap();
    assert_eq!(audience, Audience::Bootstrap);
    world.answer(&response([]));
    world.jump();
    let (audience, _) = world.machine.poll_request(world.now).unwrap();
    assert_eq!(audience, Audience::Any);
}
