//! Sequences of calls against plans of faults, with shrinking.

use proptest::prelude::*;

use super::super::check::Anomaly;
use super::super::print::Trace;
use super::super::world::{Scenario, World};
use super::scenarios::{self, Protocol};

/// Plays a scenario.
fn play(scenario: &Scenario) -> Vec<Anomaly> {
    World::new(scenario, Trace::default()).play()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn under_tv1_no_fault_tears_a_transaction(scenario in scenarios::alone(Some(0), Protocol::V1)) {
        prop_assert_eq!(play(&scenario), []);
    }

    #[test]
    fn under_tv2_no_fault_tears_a_transaction(scenario in scenarios::alone(Some(0), Protocol::V2)) {
        prop_assert_eq!(play(&scenario), []);
    }

    #[test]
    fn a_change_of_protocol_tears_nothing(scenario in scenarios::alone(Some(0), Protocol::Changing)) {
        prop_assert_eq!(play(&scenario), []);
    }

    #[test]
    fn without_transactions_each_record_is_written_once_and_in_order(
        scenario in scenarios::alone(None, Protocol::V2),
    ) {
        prop_assert_eq!(play(&scenario), []);
    }

    #[test]
    fn producers_that_fence_each_other_or_die_tear_nothing_under_tv1(scenario in scenarios::crowd(Protocol::V1)) {
        prop_assert_eq!(play(&scenario), []);
    }

    #[test]
    fn producers_that_fence_each_other_or_die_tear_nothing_under_tv2(scenario in scenarios::crowd(Protocol::V2)) {
        prop_assert_eq!(play(&scenario), []);
    }

    #[test]
    fn a_change_of_protocol_amid_a_crowd_tears_nothing(scenario in scenarios::crowd(Protocol::Changing)) {
        prop_assert_eq!(play(&scenario), []);
    }
}
