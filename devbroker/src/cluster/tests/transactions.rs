//! A transaction from its beginning to its end, in both modes.

use super::*;

#[test]
fn a_transaction_of_tv1_commits_and_the_next_aborts() {
    let mut driver = Driver::new(tv1());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    assert_eq!(
        driver.produce(11, producer, 0, 0, "early"),
        Err(ErrorCode::TRANSACTION_ABORTABLE)
    );
    driver.add(producer, 0).unwrap();
    assert_eq!(driver.produce(11, producer, 0, 0, "a"), Ok(0));
    assert_eq!(
        driver.produce(11, producer, 0, 0, "a"),
        Ok(0),
        "a repeat has its offset"
    );
    assert_eq!(driver.committed(0), [""; 0]);
    driver.end(4, producer, true).unwrap();
    assert_eq!(driver.add(producer, 1), Err(ErrorCode::CONCURRENT_TRANSACTIONS));
    driver.settle();
    driver.end(4, producer, true).unwrap();
    assert_eq!(driver.end(4, producer, false), Err(ErrorCode::INVALID_TXN_STATE));
    driver.add(producer, 0).unwrap();
    assert_eq!(driver.produce(11, producer, 0, 1, "b"), Ok(2));
    driver.end(4, producer, false).unwrap();
    driver.settle();
    assert_eq!(driver.committed(0), ["a"]);
}

#[test]
fn a_transaction_of_tv2_commits_and_the_next_aborts() {
    let mut driver = Driver::new(Settings::default());
    let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
    assert_eq!(driver.produce(13, producer, 0, 0, "a"), Ok(0));
    let next = driver.end(5, producer, true).unwrap();
    assert_eq!(next.epoch.0, producer.epoch.0 + 1);
    // The leader waits for the coordinator.
    assert_eq!(driver.produce(13, next, 0, 0, "b"), Ok(2));
    assert_eq!(
        driver.produce(13, producer, 1, 0, "late"),
        Err(ErrorCode::INVALID_PRODUCER_EPOCH)
    );
    driver.end(5, next, false).unwrap();
    driver.settle();
    driver.end(5, next, false).unwrap();
    assert_eq!(driver.committed(0), ["a"]);
}

#[test]
fn a_transaction_that_is_open_too_long_is_aborted() {
    for (settings, version, told) in [
        (tv1(), 4, Err(ErrorCode::PRODUCER_FENCED)),
        (Settings::default(), 5, Ok(1)),
    ] {
        let mut driver = Driver::new(settings);
        let producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
        driver.add(producer, 0).unwrap();
        driver.produce(11, producer, 0, 0, "a").unwrap();
        driver.now += Duration::from_secs(59);
        driver.cluster.handle_timeout(driver.now);
        assert_eq!(driver.cluster.transaction("x").unwrap().phase().name(), "Ongoing");
        driver.now += Duration::from_secs(1);
        driver.settle();
        assert_eq!(driver.cluster.last_stable_offset(&partition(0)), Some(2));
        assert_eq!(driver.committed(0), [""; 0]);
        let end = driver.end(version, producer, false);
        assert_eq!(end.map(|next| next.epoch.0), told);
    }
}

#[test]
fn the_same_requests_get_the_same_answers() {
    let run = || {
        let mut driver = Driver::new(Settings::default());
        let mut producer = driver.init(ProducerIdAndEpoch::NONE).unwrap();
        for round in 0..20 {
            let written = driver.produce(13, producer, round % 2, 0, "a").unwrap();
            producer = driver.end(5, producer, written % 3 == 0).unwrap();
        }
        format!("{:?}", driver.cluster)
    };
    assert_eq!(run(), run());
}
