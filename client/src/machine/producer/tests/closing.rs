//! flush and close: what is awaited, and what becomes of the rest when the limit is over.

use std::time::Duration;

use crate::config::ProducerConfig;
use crate::error::ErrorKind;
use crate::machine::Machine;
use crate::machine::testing::faults::Fault;
use crate::machine::testing::harness::{Harness, config};
use crate::machine::testing::log::Status;

const LIMIT: Duration = Duration::from_secs(3);

fn kinds() -> [ProducerConfig; 2] {
    let plain = ProducerConfig {
        enable_idempotence: Some(false),
        ..config()
    };
    [config(), plain]
}

#[test]
fn what_is_written_within_the_limit_is_no_loss() {
    for settings in kinds() {
        let mut harness = Harness::plain(settings);
        let taken = harness.append(0, None).unwrap();
        let ticket = harness.machine.close_within(harness.now, LIMIT);
        harness.run();
        assert!(harness.machine.is_flushed(ticket).is_some() && harness.machine.is_drained());
        assert_eq!(harness.machine.cut_off(), 0);
        assert_eq!(harness.in_log(taken.value), [Status::Committed]);
    }
}

#[test]
fn after_the_limit_what_did_not_leave_fails_and_what_may_be_written_is_unknown() {
    for settings in kinds() {
        let mut harness = Harness::plain(settings);
        let on_wire = harness.append(0, None).unwrap();
        let resent = harness.append(1, None).unwrap();
        harness.now += Duration::from_millis(5);
        harness.collect();
        // One of the two nodes does not answer; the other one's answer is lost again and again.
        while harness.machine.poll_timeout().is_none() {
            harness.faults = vec![Fault::AnswerLost].into();
            harness.deliver_one();
        }
        let unsent = harness.append(2, None).unwrap();
        let ticket = harness.machine.close_within(harness.now, LIMIT);
        harness.now += LIMIT / 2;
        assert_eq!(harness.machine.is_flushed(ticket), None);
        harness.now += LIMIT / 2;
        harness.machine.handle_timeout(harness.now);
        while harness.machine.poll_event().is_some_and(|resolved| {
            harness.results.insert(resolved.tag, resolved.results);
            true
        }) {}
        assert!(harness.machine.is_flushed(ticket).is_some() && harness.machine.is_drained());
        assert!(harness.machine.cut_off() >= 2);
        let kind = |taken| harness.result(taken).as_ref().unwrap_err().kind();
        assert_eq!(kind(resent), ErrorKind::OutcomeUnknown);
        assert_eq!(kind(on_wire), ErrorKind::OutcomeUnknown);
        assert_eq!(kind(unsent), ErrorKind::Closed);
        assert_eq!(harness.in_log(unsent.value), []);
        assert!(harness.append(0, None).is_err());
        assert!(harness.machine.poll_request(harness.now).is_none());
    }
}

#[test]
fn a_limit_is_not_prolonged_when_the_handle_goes() {
    let mut harness = Harness::plain(config());
    harness.faults = vec![Fault::RequestLost; 1000].into();
    harness.append(0, None).unwrap();
    harness.machine.close_within(harness.now, LIMIT);
    harness.machine.handle_close(harness.now);
    harness.run_for(LIMIT);
    assert!(harness.machine.is_drained());
}

#[test]
fn a_limit_of_zero_gives_up_at_once() {
    let mut harness = Harness::plain(config());
    let taken = harness.append(0, None).unwrap();
    harness.machine.close_within(harness.now, Duration::ZERO);
    harness.run();
    let error = harness.result(taken).as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(harness.machine.cut_off(), 1);
    assert!(harness.machine.is_drained());
}

#[test]
fn a_dropped_producer_still_sends_for_as_long_as_a_record_may_take() {
    for settings in kinds() {
        let mut harness = Harness::plain(settings);
        harness.faults = vec![Fault::NotSent; 40].into();
        let taken = harness.append(0, None).unwrap();
        harness.machine.handle_close(harness.now);
        harness.run_for(Duration::from_secs(100));
        assert_eq!(harness.in_log(taken.value), [Status::Committed]);
        assert!(harness.machine.is_drained());
    }
}

#[test]
fn a_limit_longer_than_any_clock_is_no_limit() {
    let mut harness = Harness::idempotent();
    let taken = harness.append(0, None).unwrap();
    harness.machine.close_within(harness.now, Duration::MAX);
    harness.run_for(Duration::from_secs(1));
    assert!(harness.result(taken).is_ok());
    assert!(harness.machine.is_drained());
}
