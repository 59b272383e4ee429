//! Leaders and coordinators that move, nodes that die.

use super::*;

fn other(node: NodeId) -> NodeId {
    NodeId(node.0 % 3 + 1)
}

#[test]
fn a_leader_that_moved_says_who_leads_now() {
    let mut driver = Driver::new(Settings::default());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    assert_eq!(driver.produce(13, producer, 0, 0, "a"), Ok(0));
    let (old, epoch) = driver.cluster.leader(&partition(0)).unwrap();
    driver.cluster.move_leader(driver.now, &partition(0), other(old));
    let request = driver.produce_request(producer, 0, 1, "b");
    let ResponseBody::Produce(answer) = driver.ask(old, 13, request) else {
        panic!()
    };
    let result = &answer.topics[0].partitions[0];
    assert_eq!(result.error_code, ErrorCode::NOT_LEADER_OR_FOLLOWER);
    let hint = result.current_leader.unwrap();
    assert_eq!((hint.leader, hint.epoch.0), (other(old), epoch.0 + 1));
    assert_eq!(answer.node_endpoints[0].node, other(old));
    assert_eq!(
        driver.produce(13, producer, 0, 1, "b"),
        Ok(1),
        "the new leader knows the producer"
    );
}

#[test]
fn a_coordinator_that_takes_over_writes_the_markers() {
    for (settings, produce, end) in [(tv1(), 11, 4), (Settings::default(), 13, 5)] {
        let mut driver = Driver::new(settings);
        let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
        driver.add(producer, 0).unwrap();
        driver.produce(produce, producer, 0, 0, "a").unwrap();
        driver.end(end, producer, true).unwrap();
        let old = driver.cluster.transaction_coordinator("x").unwrap();
        driver
            .cluster
            .move_transaction_coordinator(driver.now, "x", other(old));
        let node = driver.cluster.transaction_coordinator("x");
        assert_eq!(node, Some(other(old)));
        assert_eq!(
            driver.end_at(old, end, producer, true).err(),
            Some(ErrorCode::NOT_COORDINATOR)
        );
        assert_eq!(
            driver.end(end, producer, true).err(),
            Some(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS)
        );
        assert_eq!(driver.committed(0), [""; 0]);
        driver.settle();
        assert_eq!(driver.committed(0), ["a"]);
        driver.end(end, producer, true).unwrap();
    }
}

#[test]
fn a_node_that_died_answers_nothing_and_others_take_over() {
    let mut driver = Driver::new(Settings::default());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    driver.produce(13, producer, 0, 0, "a").unwrap();
    let (leader, _) = driver.cluster.leader(&partition(0)).unwrap();
    let request = driver.produce_request(producer, 0, 1, "b");
    driver.send(leader, 13, request.clone());
    driver.cluster.stop_node(driver.now, leader);
    assert_eq!(driver.cluster.poll_answer(), None, "it was lost on the way");
    driver.send(leader, 13, request);
    assert_eq!(driver.cluster.poll_answer(), None);
    driver.settle();
    assert_ne!(driver.cluster.leader(&partition(0)).unwrap().0, leader);
    assert_eq!(
        driver.produce(13, producer, 0, 1, "b"),
        Ok(1),
        "it was written before"
    );
    driver.end(5, producer, true).unwrap();
    driver.settle();
    assert_eq!(driver.committed(0), ["a", "b"]);
}

#[test]
fn markers_wait_for_a_leader() {
    let settings = Settings {
        marker_delay: Duration::from_millis(50),
        ..Settings::default()
    };
    let mut driver = Driver::new(settings);
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    driver.produce(13, producer, 0, 0, "a").unwrap();
    driver.end(5, producer, true).unwrap();
    for node in 1..=3 {
        driver.cluster.stop_node(driver.now, NodeId(node));
    }
    driver.settle();
    assert_eq!(driver.cluster.leader(&partition(0)), None);
    assert_eq!(driver.committed(0), [""; 0]);
    driver.cluster.start_node(driver.now, NodeId(2));
    driver.settle();
    driver.settle();
    assert_eq!(driver.committed(0), ["a"]);
}
