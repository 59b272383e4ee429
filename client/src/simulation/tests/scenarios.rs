//! Scenarios by chance: who does what, and what goes wrong.

use std::time::Duration;

use proptest::prelude::*;

use super::super::faults::{self, Act, Doubles, Hands};
use super::super::operations::{self, Script};
use super::super::scenario::Scenario;

/// Readers of each run.
const READERS: usize = 1;

/// Which transaction protocol the cluster speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    V1,
    V2,
    /// One, then the other, and back.
    Changing,
}

impl Protocol {
    fn level(self) -> BoxedStrategy<i16> {
        match self {
            Self::V1 => Just(1).boxed(),
            Self::V2 => Just(2).boxed(),
            Self::Changing => prop::sample::select(&[1_i16, 2][..]).boxed(),
        }
    }

    const fn hands(self) -> Hands {
        match self {
            Self::V1 | Self::V2 => Hands::Rough,
            Self::Changing => Hands::Upgrading,
        }
    }

    const fn doubles(self) -> Doubles {
        match self {
            Self::V2 => Doubles::EndTxnToo,
            Self::V1 | Self::Changing => Doubles::NotEndTxn,
        }
    }
}

/// Mostly markers are written soon; but the next transaction may have to wait for them.
fn marker_delay() -> impl Strategy<Value = Duration> {
    prop_oneof![3 => Just(2_u64), 1 => 0..300_u64].prop_map(Duration::from_millis)
}

fn scenario(
    scripts: impl Strategy<Value = Vec<Script>>,
    protocol: Protocol,
    timeout: impl Strategy<Value = u64>,
) -> impl Strategy<Value = Scenario> {
    let level = protocol.level();
    (scripts, level, timeout, any::<u64>()).prop_flat_map(move |(scripts, level, timeout, seed)| {
        // The readers are clients as well.
        let clients = scripts.len() + 1;
        let plan = faults::plan(clients, protocol.hands(), protocol.doubles());
        (Just(scripts), plan, marker_delay()).prop_map(move |(scripts, plan, marker_delay)| Scenario {
            seed,
            transaction_version: level,
            marker_delay,
            transaction_timeout: Duration::from_secs(timeout),
            scripts,
            plan,
            readers: READERS,
        })
    })
}

/// One producer, whose transactions the coordinator lets be.
pub(super) fn alone(id: Option<usize>, protocol: Protocol) -> impl Strategy<Value = Scenario> {
    scenario(operations::alone(id), protocol, Just(60))
}

/// Several producers, and a coordinator that may lose its patience. The level is raised, never lowered: after that a coordinator takes the
/// abort of an older TV2 producer for a repeat of what a newer one did under TV1 one epoch later, and tells both the same epoch.
pub(super) fn crowd(protocol: Protocol) -> impl Strategy<Value = Scenario> {
    let timeout = prop_oneof![1 => Just(60_u64), 1 => 1..5_u64];
    scenario(operations::crowd(), protocol, timeout).prop_map(|mut scenario| {
        for (_, act) in &mut scenario.plan.acts {
            if let Act::SetTransactionVersion(level) = act {
                *level = 2;
            }
        }
        scenario
    })
}
