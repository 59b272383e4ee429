//! Events as lines of JSON, and back.

use std::io::BufRead;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::event::{Event, Op, Phase, Start};

/// The event as one line, without its end.
#[must_use]
pub fn to_line(event: &Event) -> String {
    let mut line = Map::new();
    line.insert("at".into(), event.at.into());
    line.insert("process".into(), event.process.as_str().into());
    line.insert("instance".into(), event.instance.into());
    if let Some(transaction) = event.transaction {
        line.insert("transaction".into(), transaction.into());
    }
    let (phase, why) = match &event.phase {
        Phase::Invoke => ("invoke", None),
        Phase::Ok => ("ok", None),
        Phase::Fail(why) => ("fail", Some(why)),
        Phase::Unknown(why) => ("unknown", Some(why)),
    };
    line.insert("phase".into(), phase.into());
    if let Some(why) = why {
        line.insert("why".into(), why.as_str().into());
    }
    if let Value::Object(op) = op_to_json(&event.op) {
        line.extend(op);
    }
    Value::Object(line).to_string()
}

fn op_to_json(op: &Op) -> Value {
    match op {
        Op::Begin => json!({ "op": "begin" }),
        Op::Send { key, value, offset } => {
            json!({ "op": "send", "key": key, "value": value, "offset": offset })
        }
        Op::SendOffsets { group, key, offset } => {
            json!({ "op": "send_offsets", "group": group, "key": key, "offset": offset })
        }
        Op::Commit => json!({ "op": "commit" }),
        Op::Abort => json!({ "op": "abort" }),
        Op::Assign { keys, start } => {
            let start = match start {
                Start::Beginning => "beginning",
                Start::Elsewhere => "elsewhere",
            };
            json!({ "op": "assign", "keys": keys, "start": start })
        }
        Op::Poll { key, records } => json!({ "op": "poll", "key": key, "records": records }),
        Op::Drain { key } => json!({ "op": "drain", "key": key }),
        Op::GroupOffset { group, key, offset } => {
            json!({ "op": "group_offset", "group": group, "key": key, "offset": offset })
        }
        Op::Fenced => json!({ "op": "fenced" }),
        Op::Crash => json!({ "op": "crash" }),
        Op::Heal => json!({ "op": "heal" }),
    }
}

/// All events of a file or other source of lines.
///
/// # Errors
/// If a line cannot be read or is no event; its number is named.
pub fn read(lines: impl BufRead) -> Result<Vec<Event>> {
    lines
        .lines()
        .zip(1..)
        .map(|(line, number)| from_line(&line?).with_context(|| format!("line {number}")))
        .collect()
}

/// The event of a line.
///
/// # Errors
/// If the line is no event.
pub fn from_line(line: &str) -> Result<Event> {
    let line: Value = serde_json::from_str(line)?;
    let why = || text(&line, "why");
    Ok(Event {
        at: line["at"].as_u64().context("no time")?,
        process: text(&line, "process")?,
        instance: u32::try_from(line["instance"].as_u64().context("no instance")?)?,
        transaction: line["transaction"].as_u64(),
        phase: match text(&line, "phase")?.as_str() {
            "invoke" => Phase::Invoke,
            "ok" => Phase::Ok,
            "fail" => Phase::Fail(why()?),
            "unknown" => Phase::Unknown(why()?),
            other => bail!("there is no phase {other}"),
        },
        op: op_from_json(&line)?,
    })
}

fn op_from_json(line: &Value) -> Result<Op> {
    let key = || text(line, "key");
    Ok(match text(line, "op")?.as_str() {
        "begin" => Op::Begin,
        "send" => Op::Send {
            key: key()?,
            value: text(line, "value")?,
            offset: line["offset"].as_i64(),
        },
        "send_offsets" => Op::SendOffsets {
            group: text(line, "group")?,
            key: key()?,
            offset: line["offset"].as_i64().context("no offset")?,
        },
        "commit" => Op::Commit,
        "abort" => Op::Abort,
        "assign" => Op::Assign {
            keys: keys(line)?,
            start: match text(line, "start")?.as_str() {
                "beginning" => Start::Beginning,
                "elsewhere" => Start::Elsewhere,
                other => bail!("there is no start {other}"),
            },
        },
        "poll" => Op::Poll {
            key: key()?,
            records: records(line)?,
        },
        "drain" => Op::Drain { key: key()? },
        "group_offset" => Op::GroupOffset {
            group: text(line, "group")?,
            key: key()?,
            offset: line["offset"].as_i64(),
        },
        "fenced" => Op::Fenced,
        "crash" => Op::Crash,
        "heal" => Op::Heal,
        other => bail!("there is no op {other}"),
    })
}

fn text(line: &Value, name: &str) -> Result<String> {
    let text = line[name].as_str().with_context(|| format!("no {name}"))?;
    Ok(text.to_owned())
}

fn keys(line: &Value) -> Result<Vec<String>> {
    let keys = line["keys"].as_array().context("no keys")?;
    keys.iter()
        .map(|key| Ok(key.as_str().context("a key is no text")?.to_owned()))
        .collect()
}

fn records(line: &Value) -> Result<Vec<(i64, String)>> {
    let records = line["records"].as_array().context("no records")?;
    records
        .iter()
        .map(|record| {
            let offset = record[0].as_i64().context("a record without offset")?;
            let value = record[1].as_str().context("a record without value")?;
            Ok((offset, value.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(phase: Phase, op: Op) -> Event {
        Event {
            at: 17,
            process: "writer \"a\"".into(),
            instance: 2,
            transaction: Some(9),
            phase,
            op,
        }
    }

    #[test]
    fn every_event_survives_its_line() {
        let key = || "orders/0".to_owned();
        let group = || "copy".to_owned();
        let ops = [
            Op::Begin,
            Op::Send {
                key: key(),
                value: "v".into(),
                offset: None,
            },
            Op::Send {
                key: key(),
                value: "v".into(),
                offset: Some(3),
            },
            Op::SendOffsets {
                group: group(),
                key: key(),
                offset: 5,
            },
            Op::Commit,
            Op::Abort,
            Op::Assign {
                keys: vec![key()],
                start: Start::Beginning,
            },
            Op::Assign {
                keys: Vec::new(),
                start: Start::Elsewhere,
            },
            Op::Poll {
                key: key(),
                records: vec![(1, "a".into()), (4, "b".into())],
            },
            Op::Drain { key: key() },
            Op::GroupOffset {
                group: group(),
                key: key(),
                offset: None,
            },
            Op::GroupOffset {
                group: group(),
                key: key(),
                offset: Some(0),
            },
            Op::Fenced,
            Op::Crash,
            Op::Heal,
        ];
        let phases = [
            Phase::Invoke,
            Phase::Ok,
            Phase::Fail("never sent".into()),
            Phase::Unknown("no answer".into()),
        ];
        let mut events = Vec::new();
        for op in &ops {
            for phase in &phases {
                events.push(event(phase.clone(), op.clone()));
            }
        }
        events.push(Event {
            transaction: None,
            ..event(Phase::Ok, Op::Heal)
        });
        let lines: Vec<String> = events.iter().map(to_line).collect();
        assert_eq!(read(lines.join("\n").as_bytes()).unwrap(), events);
    }

    #[test]
    fn a_line_that_is_no_event_is_named() {
        let good = to_line(&event(Phase::Ok, Op::Commit));
        let bad = good.replace("commit", "comit");
        let error = read(format!("{good}\n{bad}").as_bytes()).unwrap_err();
        assert_eq!(format!("{error:#}"), "line 2: there is no op comit");
    }
}
