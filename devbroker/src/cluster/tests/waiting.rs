//! Requests that wait: for data, or for the transaction before.

use sealwax_protocol::fetch::{FetchPartition, FetchRequest, FetchTopic, IsolationLevel};
use sealwax_protocol::ids::LeaderEpoch;
use sealwax_protocol::messages::ApiVersionsRequest;

use super::*;

fn fetch(driver: &Driver, max_wait_ms: i32) -> FetchRequest {
    FetchRequest {
        max_wait_ms,
        min_bytes: 1,
        max_bytes: 1 << 20,
        isolation_level: IsolationLevel::ReadCommitted,
        session_id: 0,
        session_epoch: 0,
        topics: vec![FetchTopic {
            name: T.into(),
            id: driver.cluster.topic_id(T).unwrap(),
            partitions: vec![FetchPartition {
                index: 0,
                current_leader_epoch: LeaderEpoch::UNKNOWN,
                fetch_offset: 0,
                last_fetched_epoch: LeaderEpoch::UNKNOWN,
                max_bytes: 1 << 20,
            }],
        }],
        forgotten: Vec::new(),
        rack_id: "".into(),
    }
}

#[test]
fn a_fetch_waits_for_data_that_is_stable() {
    let mut driver = Driver::new(Settings::default());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    let (leader, _) = driver.cluster.leader(&partition(0)).unwrap();
    let request = fetch(&driver, 500);
    let reader = Origin {
        node: leader,
        connection: 99,
        correlation: 1,
    };
    driver
        .cluster
        .handle_request(driver.now, reader, 13, request.into());
    assert_eq!(driver.cluster.poll_answer(), None);
    driver.produce(13, producer, 0, 0, "a").unwrap();
    assert_eq!(driver.cluster.poll_answer(), None, "not committed yet");
    driver.end(5, producer, true).unwrap();
    driver.settle();
    let answer = driver.cluster.poll_answer().unwrap();
    assert_eq!(answer.to, reader);
    let ResponseBody::Fetch(fetched) = answer.body else {
        panic!()
    };
    assert_eq!(fetched.topics[0].partitions[0].last_stable_offset, 2);
}

#[test]
fn a_fetch_without_data_is_answered_when_its_time_is_over_and_what_is_behind_it_after_it() {
    let mut driver = Driver::new(Settings::default());
    let (leader, _) = driver.cluster.leader(&partition(0)).unwrap();
    let request = fetch(&driver, 500);
    let first = driver.send(leader, 13, request);
    let second = driver.send(leader, 3, ApiVersionsRequest::default());
    assert_eq!(driver.cluster.poll_answer(), None, "one request at a time");
    assert_eq!(driver.cluster.poll_timeout(), Some(Duration::from_millis(500)));
    driver.cluster.handle_timeout(Duration::from_millis(500));
    assert_eq!(driver.cluster.poll_answer().unwrap().to, first);
    assert_eq!(driver.cluster.poll_answer().unwrap().to, second);
    assert_eq!(driver.cluster.poll_timeout(), None);
}

#[test]
fn a_leader_of_tv2_asks_again_for_a_while() {
    let settings = Settings {
        marker_delay: Duration::from_secs(1),
        ..Settings::default()
    };
    let mut driver = Driver::new(settings);
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    driver.produce(13, producer, 0, 0, "a").unwrap();
    let next = driver.end(5, producer, true).unwrap();
    let began = driver.now;
    assert_eq!(
        driver.produce(13, next, 0, 0, "b"),
        Err(ErrorCode::CONCURRENT_TRANSACTIONS)
    );
    assert_eq!(driver.now - began, Duration::from_millis(100));
    driver.now += Duration::from_millis(850);
    driver.cluster.handle_timeout(driver.now);
    assert_eq!(
        driver.produce(13, next, 0, 0, "b"),
        Ok(2),
        "meanwhile the marker is there"
    );
}
