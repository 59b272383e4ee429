//! A producer without transactions against a scripted broker: what is waited for, in which order, and for how long.

use std::sync::Arc;
use std::time::Duration;

use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::produce::{
    ProducePartitionResponse, ProduceRequest, ProduceResponse, ProduceTopicResponse,
};
use sealwax_protocol::request::{RequestBody, RequestHeader};
use sealwax_protocol::response::ResponseBody;

use super::cluster::{answer_init, connected};
use super::peer::{Conversation, Peer};
use crate::config::{Acks, ProducerConfig};
use crate::error::ErrorKind;
use crate::machine::metadata::refresh::tests::topic;
use crate::producer::{Producer, ProducerBuilder};
use crate::record::Record;
use crate::runtime::cluster::Cluster;

/// A plain producer of a topic `t` with one partition, and the connection to its leader.
struct Setup {
    _cluster: Arc<Cluster>,
    _conversations: [Conversation; 2],
    producer: Producer,
    leader: Conversation,
}

fn plain(acks: Acks) -> ProducerConfig {
    ProducerConfig {
        acks,
        enable_idempotence: Some(false),
        linger: Duration::ZERO,
        ..ProducerConfig::default()
    }
}

impl Setup {
    /// One record is sent and, if acks ask for it, answered, so that topic and connections are there.
    async fn new(config: ProducerConfig) -> Self {
        let acks = config.acks;
        let peer = Peer::listen().await;
        let (cluster, bootstrap) = connected(&peer).await;
        let builder = ProducerBuilder::new(Arc::clone(&cluster)).config(config);
        let producer = builder.build().await.unwrap();
        let script = async {
            let mut general = peer.accept_and_greet().await;
            let (header, _) = general.receive().await;
            let answer = peer.metadata(1).with_topics(vec![topic("t", 1, &[(0, 1, 0)])]);
            general.answer(&header, answer).await;
            let mut leader = peer.accept_and_greet().await;
            let (header, request) = produced(&mut leader).await;
            assert_eq!(request.acks, acks.wire());
            if acks != Acks::None {
                accept(&mut leader, &header, 0).await;
            }
            (general, leader)
        };
        let first = async {
            producer
                .send(Record::new("t", "first"))
                .await
                .unwrap()
                .wait()
                .await
        };
        let ((general, leader), first) = tokio::join!(script, first);
        let offset = first.unwrap().offset;
        assert_eq!(offset, (acks != Acks::None).then_some(0));
        Self {
            _cluster: cluster,
            _conversations: [bootstrap, general],
            producer,
            leader,
        }
    }
}

async fn produced(leader: &mut Conversation) -> (RequestHeader, ProduceRequest) {
    match leader.receive().await {
        (header, RequestBody::Produce(request)) => (header, request),
        (_, other) => panic!("{other:?}"),
    }
}

async fn accept(leader: &mut Conversation, header: &RequestHeader, base_offset: i64) {
    let partition = ProducePartitionResponse {
        index: 0,
        error_code: ErrorCode::NONE,
        base_offset,
        log_append_time_ms: -1,
        log_start_offset: 0,
        record_errors: Vec::new(),
        error_message: None,
        current_leader: None,
    };
    let response = ProduceResponse {
        topics: vec![ProduceTopicResponse {
            name: "t".into(),
            id: sealwax_protocol::Uuid::from_u128(1),
            partitions: vec![partition],
        }],
        throttle_time_ms: 0,
        node_endpoints: Vec::new(),
    };
    leader.answer(header, ResponseBody::Produce(response)).await;
}

#[tokio::test]
async fn without_acks_nothing_is_waited_for_and_many_go_over_one_connection() {
    let mut setup = Setup::new(plain(Acks::None)).await;
    for number in 0..20_u8 {
        let sent = setup.producer.send(Record::new("t", &[number])).await.unwrap();
        assert_eq!(sent.wait().await.unwrap().offset, None);
    }
    setup.producer.close().await.unwrap();
    for _ in 0..20 {
        assert_eq!(produced(&mut setup.leader).await.1.acks, 0);
    }
}

#[tokio::test]
async fn a_flush_within_a_limit_gives_up_waiting_and_nothing_else() {
    let mut setup = Setup::new(plain(Acks::Leader)).await;
    let sent = setup.producer.send(Record::new("t", "v")).await.unwrap();
    let (header, _) = produced(&mut setup.leader).await;
    let error = setup
        .producer
        .flush_within(Duration::from_millis(10))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    accept(&mut setup.leader, &header, 1).await;
    setup
        .producer
        .flush_within(Duration::from_secs(60))
        .await
        .unwrap();
    assert_eq!(sent.wait().await.unwrap().offset, Some(1));
}

#[tokio::test]
async fn a_close_within_a_limit_gives_every_record_its_result() {
    let mut setup = Setup::new(ProducerConfig {
        max_in_flight: 1,
        ..plain(Acks::Leader)
    })
    .await;
    let on_wire = setup.producer.send(Record::new("t", "v")).await.unwrap();
    produced(&mut setup.leader).await;
    let unsent = setup.producer.send(Record::new("t", "w")).await.unwrap();
    let closed = setup.producer.close_within(Duration::from_millis(10)).await;
    assert_eq!(closed.unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(
        on_wire.wait().await.unwrap_err().kind(),
        ErrorKind::OutcomeUnknown
    );
    assert_eq!(unsent.wait().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn those_who_wait_for_room_are_served_in_turn_and_without_a_linger() {
    let mut setup = Setup::new(ProducerConfig {
        batch_size: 100,
        buffer_memory: 300,
        max_in_flight: 1,
        ..plain(Acks::Leader)
    })
    .await;
    let producer = &setup.producer;
    let value = |number: u8| vec![number; 60];
    // Two batches of this size have room.
    for number in 0..2 {
        drop(producer.send(Record::new("t", &value(number))).await.unwrap());
    }
    let waiting = async {
        let order = std::sync::Mutex::new(Vec::new());
        let wait = async |number: u8| {
            drop(producer.send(Record::new("t", &value(number))).await.unwrap());
            order.lock().unwrap().push(number);
        };
        tokio::join!(wait(2), wait(3), wait(4), wait(5));
        order.into_inner().unwrap()
    };
    let leader = &mut setup.leader;
    let script = async {
        for offset in 0..6 {
            let (header, request) = produced(leader).await;
            let bytes = &request.topics[0].partitions[0].records;
            assert_eq!(bytes.last_chunk::<2>().unwrap()[0], u8::try_from(offset).unwrap());
            accept(leader, &header, 1 + offset).await;
        }
    };
    let (order, ()) = tokio::join!(waiting, script);
    assert_eq!(order, [2, 3, 4, 5]);
}

#[tokio::test]
async fn who_gives_up_waiting_for_room_holds_nobody_up() {
    let mut setup = Setup::new(ProducerConfig {
        batch_size: 100,
        buffer_memory: 300,
        max_in_flight: 1,
        // Long enough for the metadata that the first record waits for.
        max_block: Duration::from_secs(2),
        ..plain(Acks::Leader)
    })
    .await;
    let value = [0; 60];
    for _ in 0..2 {
        drop(setup.producer.send(Record::new("t", &value)).await.unwrap());
    }
    // Dropped while it stands in line.
    let dropped = setup.producer.send(Record::new("t", &value));
    assert!(tokio::time::timeout(Duration::ZERO, dropped).await.is_err());
    let error = setup.producer.send(Record::new("t", &value)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.to_string().contains("buffer.memory"), "{error}");
    for offset in 1..3 {
        let (header, _) = produced(&mut setup.leader).await;
        accept(&mut setup.leader, &header, offset).await;
    }
    setup.producer.flush().await.unwrap();
    drop(setup.producer.send(Record::new("t", &value)).await.unwrap());
}

#[tokio::test]
async fn settings_that_contradict_each_other_build_no_producer() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let builder = ProducerBuilder::new(cluster)
        .acks(Acks::Leader)
        .enable_idempotence(true);
    let error = builder.build().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("enable.idempotence"), "{error}");
}

#[tokio::test]
async fn a_producer_whose_sends_never_wait_gets_its_id_all_the_same() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let builder = ProducerBuilder::new(cluster).config(ProducerConfig {
        max_block: Duration::ZERO,
        ..ProducerConfig::default()
    });
    let script = async {
        let mut conversation = peer.accept_and_greet().await;
        let (header, _) = conversation.receive().await;
        answer_init(&mut conversation, &header).await;
        conversation
    };
    let (producer, _conversation) = tokio::join!(builder.build(), script);
    let producer = producer.unwrap();
    // Nothing is known of the topic.
    let error = producer.send(Record::new("t", "v")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn a_refusal_for_lack_of_permission_is_not_believed_for_longer_than_one_send() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let builder = ProducerBuilder::new(Arc::clone(&cluster)).config(plain(Acks::None));
    let producer = builder.build().await.unwrap();
    let refused = || {
        let topic = topic("t", 0, &[]).with_error_code(ErrorCode::TOPIC_AUTHORIZATION_FAILED.0);
        peer.metadata(1).with_topics(vec![topic])
    };
    let send = async || producer.send(Record::new("t", "v")).await;
    let first = async {
        let mut general = peer.accept_and_greet().await;
        let (header, _) = general.receive().await;
        general.answer(&header, refused()).await;
        general
    };
    let (mut general, error) = tokio::join!(first, send());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Authorization);

    let second = async {
        let (header, _) = general.receive().await;
        general.answer(&header, refused()).await;
    };
    let ((), error) = tokio::join!(second, send());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Authorization, "asked anew");

    let granted = async {
        let (header, _) = general.receive().await;
        let answer = peer.metadata(1).with_topics(vec![topic("t", 1, &[(0, 1, 0)])]);
        general.answer(&header, answer).await;
    };
    let ((), taken) = tokio::join!(granted, send());
    taken.unwrap();
}

#[tokio::test]
async fn a_refusal_that_nobody_confirms_holds_when_the_time_is_over() {
    let peer = Peer::listen().await;
    let (cluster, _bootstrap) = connected(&peer).await;
    let config = ProducerConfig {
        max_block: Duration::from_millis(200),
        ..plain(Acks::None)
    };
    let producer = ProducerBuilder::new(Arc::clone(&cluster))
        .config(config)
        .build()
        .await
        .unwrap();
    let first = async {
        let mut general = peer.accept_and_greet().await;
        let (header, _) = general.receive().await;
        let topic = topic("t", 0, &[]).with_error_code(ErrorCode::TOPIC_AUTHORIZATION_FAILED.0);
        general
            .answer(&header, peer.metadata(1).with_topics(vec![topic]))
            .await;
        general
    };
    let (mut general, first) = tokio::join!(first, producer.send(Record::new("t", "v")));
    assert_eq!(first.unwrap_err().kind(), ErrorKind::Authorization);
    let (_, again) = tokio::join!(general.receive(), producer.send(Record::new("t", "v")));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Authorization);
}
