//! Runs a script on one side, and writes down what was answered.

mod requests;

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{ProducerEpoch, ProducerId, ProducerIdAndEpoch};
use sealwax_protocol::response::ResponseBody;

use crate::script::{Mode, Op, Script, Seq, Who};
use crate::side::Side;
use crate::told::{self, Ids};

/// A producer that no coordinator knows.
const NOBODY: ProducerIdAndEpoch = ProducerIdAndEpoch {
    id: ProducerId(777_777),
    epoch: ProducerEpoch(0),
};

/// How long markers may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a transaction may take to time out.
const EXPIRY_PATIENCE: Duration = Duration::from_secs(30);

/// The names that a script's requests use.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) transactional_id: String,
    pub(crate) topic: String,
    pub(crate) group: String,
}

/// What was written by a producer id and epoch to a partition.
#[derive(Debug, Clone, Copy, Default)]
struct Written {
    first: i32,
    next: i32,
}

/// A script on its way.
pub(crate) struct Runner<'a, S> {
    side: &'a mut S,
    mode: Mode,
    names: &'a Names,
    timeout_ms: i32,
    held: BTreeMap<Who, ProducerIdAndEpoch>,
    written: BTreeMap<(i64, i16, i32), Written>,
    values: u32,
    /// The records' time: far from the broker's it would begin a new segment with every marker, where a Fetch ends.
    now_ms: i64,
    ids: Ids,
    /// The transaction does not leave its Prepare state: no need to wait for that again.
    is_stuck: bool,
    lines: Vec<String>,
}

/// Runs a whole script. One line per step.
pub(crate) fn run<S: Side>(side: &mut S, mode: Mode, names: &Names, script: &Script) -> Result<Vec<String>> {
    let mut runner = Runner {
        side,
        mode,
        names,
        timeout_ms: script.timeout_ms,
        held: BTreeMap::new(),
        written: BTreeMap::new(),
        values: 0,
        now_ms: i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?,
        ids: Ids::default(),
        is_stuck: false,
        lines: Vec::new(),
    };
    for op in &script.ops {
        runner.step(*op)?;
    }
    Ok(runner.lines)
}

impl<S: Side> Runner<'_, S> {
    fn step(&mut self, op: Op) -> Result<()> {
        if op == Op::Expire {
            let is_over = |state: &str| state != "Ongoing" && !state.starts_with("Prepare");
            let state = self
                .side
                .wait_for(&self.names.transactional_id, EXPIRY_PATIENCE, is_over)?;
            ensure!(state.is_none(), "the transaction stays {state:?}");
            return Ok(());
        }
        if let Op::Offsets { .. } = op {
            // A group coordinator may take a moment longer than the transaction's.
            for _ in 0..10 {
                self.side.pause();
            }
        }
        if let Op::UseUp { who, until } = op {
            return self.use_up(who, until);
        }
        let (version, body) = self.request(op);
        let answer = self.side.call(version, body)?;
        self.learn(op, &answer);
        let told = told::line(&answer, &self.names.transactional_id, &mut self.ids)?;
        self.lines.push(format!("{op:?} => {told}"));
        let ends = matches!(
            op,
            Op::Init { .. } | Op::InitShifted { .. } | Op::End { .. } | Op::EndOtherMode { .. }
        );
        if ends {
            let is_settled = |state: &str| !state.starts_with("Prepare");
            let patience = if self.is_stuck { Duration::ZERO } else { PATIENCE };
            let stuck = self
                .side
                .wait_for(&self.names.transactional_id, patience, is_settled)?;
            self.is_stuck = stuck.is_some();
            if let (Some(state), Some(line)) = (stuck, self.lines.last_mut()) {
                line.push_str(&format!(" and stays {state}"));
            }
        }
        Ok(())
    }

    fn use_up(&mut self, who: Who, until: i16) -> Result<()> {
        while self.shifted(who, 0).epoch.0 < until {
            let op = Op::Init { who, again: true };
            let (version, body) = self.request(op);
            let answer = self.side.call(version, body)?;
            self.learn(op, &answer);
            let told = told::line(&answer, &self.names.transactional_id, &mut self.ids)?;
            ensure!(told.starts_with("NONE"), "an epoch was refused: {told}");
        }
        Ok(())
    }

    fn learn(&mut self, op: Op, answer: &ResponseBody) {
        match (op, answer) {
            (Op::Init { who, .. } | Op::InitShifted { who, .. }, ResponseBody::InitProducerId(answer)) => {
                self.adopt(
                    who,
                    answer.error_code,
                    answer.producer_id.0,
                    answer.producer_epoch,
                );
            }
            (Op::End { who, .. } | Op::EndOtherMode { who, .. }, ResponseBody::EndTxn(answer)) => {
                self.adopt(
                    who,
                    answer.error_code,
                    answer.producer_id.0,
                    answer.producer_epoch,
                );
            }
            (
                Op::Produce {
                    who,
                    partition,
                    seq,
                    records,
                    shift,
                },
                ResponseBody::Produce(answer),
            ) => self.wrote(answer, self.shifted(who, shift), partition, seq, records),
            (Op::ProducePlain { who, partition, seq }, ResponseBody::Produce(answer)) => {
                self.wrote(answer, self.shifted(who, 0), partition, seq, 1);
            }
            _ => {}
        }
    }

    fn adopt(&mut self, who: Who, code: i16, id: i64, epoch: i16) {
        if code == 0 && id >= 0 {
            let producer = ProducerIdAndEpoch {
                id: ProducerId(id),
                epoch: ProducerEpoch(epoch),
            };
            self.held.insert(who, producer);
        }
    }

    fn wrote(
        &mut self,
        answer: &sealwax_protocol::produce::ProduceResponse,
        producer: ProducerIdAndEpoch,
        partition: i32,
        seq: Seq,
        records: i32,
    ) {
        let result = answer.topics.iter().flat_map(|topic| &topic.partitions).next();
        if result.is_some_and(|result| result.error_code == ErrorCode::NONE) {
            let first = self.sequence(producer, partition, seq);
            let written = Written {
                first,
                next: first.wrapping_add(records) & i32::MAX,
            };
            self.written
                .insert((producer.id.0, producer.epoch.0, partition), written);
        }
    }

    fn shifted(&self, who: Who, shift: i16) -> ProducerIdAndEpoch {
        let held = self.held.get(&who).copied().unwrap_or(NOBODY);
        ProducerIdAndEpoch {
            id: held.id,
            epoch: ProducerEpoch(held.epoch.0.wrapping_add(shift)),
        }
    }

    fn sequence(&self, producer: ProducerIdAndEpoch, partition: i32, seq: Seq) -> i32 {
        let key = (producer.id.0, producer.epoch.0, partition);
        // TV1 goes on with its sequences from one transaction to the next.
        let written = self.written.get(&key).copied().unwrap_or_default();
        match seq {
            Seq::Next => written.next,
            Seq::Repeat => written.first,
            Seq::Gap => written.next.wrapping_add(1) & i32::MAX,
            Seq::At(number) => number,
        }
    }
}
