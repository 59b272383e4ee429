//! Whether what readers saw agrees with what the client said, run by run.

use std::collections::HashMap;

use sealwax_tests::checker::{Anomaly, Limits, check};
use sealwax_tests::history::{Event, Op, Phase, Start};
use sealwax_tests::readers::Place;

use crate::workload::{BOUND, PARTITIONS, Run, run_of};

/// What one reader saw of the topic, sorted by run.
#[derive(Debug)]
pub(crate) struct Reading {
    name: &'static str,
    places: HashMap<String, Vec<Place>>,
}

impl Reading {
    pub(crate) fn new(name: &'static str, places: Vec<Place>) -> Self {
        let mut by_run: HashMap<String, Vec<Place>> = HashMap::new();
        for place in places {
            by_run
                .entry(run_of(&place.value).to_owned())
                .or_default()
                .push(place);
        }
        Self { name, places: by_run }
    }

    /// What it saw of a run, as if it had read nothing else.
    fn events(&self, run: &str, topic: &str, at: u64) -> Vec<Event> {
        let keys: Vec<String> = (0..PARTITIONS)
            .map(|partition| format!("{topic}/{partition}"))
            .collect();
        let mut ops = vec![Op::Assign {
            keys: keys.clone(),
            start: Start::Beginning,
        }];
        for place in self.places.get(run).into_iter().flatten() {
            ops.push(Op::Poll {
                key: format!("{topic}/{}", place.partition),
                records: vec![(place.offset, place.value.clone())],
            });
        }
        ops.extend(keys.into_iter().map(|key| Op::Drain { key }));
        ops.into_iter().map(|op| found(self.name, at, op)).collect()
    }
}

/// A run's history, with what was found afterwards, and what the checker says of it. `offset` is the group's, if it was asked for.
pub(crate) fn judge(
    run: &Run,
    topic: &str,
    readings: &[&Reading],
    offset: Option<Option<i64>>,
) -> Vec<Anomaly> {
    let name = run.case.to_string();
    let mut events = run.events.clone();
    let at = events.last().map_or(0, |event| event.at);
    for reading in readings {
        events.extend(reading.events(&name, topic, at));
    }
    if let Some(offset) = offset {
        let group = run.group.clone();
        let key = format!("{topic}/0");
        events.push(found("librdkafka", at, Op::GroupOffset { group, key, offset }));
    }
    check(&events, Limits { patience: BOUND })
}

fn found(reader: &str, at: u64, op: Op) -> Event {
    Event {
        at,
        process: reader.to_owned(),
        instance: 0,
        transaction: None,
        phase: Phase::Ok,
        op,
    }
}
