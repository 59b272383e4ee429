//! A connection without a client: one request written by hand, one answer read.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, bail, ensure};
use sealwax::ErrorCode;
use sealwax::admin::ProducerState;
use sealwax_protocol::frame::FrameDecoder;
use sealwax_protocol::ids::{CorrelationId, ProducerIdAndEpoch, Sequence, TopicId};
use sealwax_protocol::produce::{ProducePartition, ProduceRequest, ProduceTopic};
use sealwax_protocol::record::{BatchBuilder, ProducerStamp};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

/// A version before KIP-890 part 2: the leader adds no partition to any transaction.
const VERSION: i16 = 9;

/// Writes a record in the name of a producer, as a Produce request does that was delayed until behind the end of its transaction.
pub(crate) fn late_write(
    address: &str,
    transactional_id: &str,
    topic: &str,
    producer: &ProducerState,
    value: &str,
    time_ms: i64,
) -> Result<()> {
    let next = match producer.last_sequence {
        Some(last) => Sequence::new(last).context("no sequence")?.add(1),
        None => Sequence::ZERO,
    };
    let mut batch = BatchBuilder::with_capacity(256);
    batch.append(time_ms, None, Some(value.as_bytes()), [])?;
    let records = batch.seal(ProducerStamp {
        transactional: true,
        producer: ProducerIdAndEpoch {
            id: producer.producer_id,
            epoch: producer.producer_epoch,
        },
        base_sequence: Some(next),
    });
    let request = ProduceRequest {
        transactional_id: Some(transactional_id.into()),
        acks: -1,
        timeout_ms: 10_000,
        topics: vec![ProduceTopic {
            name: topic.into(),
            id: TopicId::nil(),
            partitions: vec![ProducePartition { index: 0, records }],
        }],
    };
    let answer = ask(address, &request.into())?;
    let ResponseBody::Produce(answer) = answer else {
        bail!("Produce was answered with {answer:?}");
    };
    let code = answer.topics[0].partitions[0].error_code;
    ensure!(code == ErrorCode::NONE, "the late write was refused: {code}");
    Ok(())
}

fn ask(address: &str, request: &RequestBody) -> Result<ResponseBody> {
    let mut stream = TcpStream::connect(address)?;
    let frame = request.encode(VERSION, CorrelationId(1), "late")?;
    stream.write_all(&frame.concat())?;
    let mut decoder = FrameDecoder::new(1024 * 1024);
    let mut bytes = [0; 4096];
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(ResponseBody::decode(frame, request.api_key(), VERSION)?);
        }
        let read = stream.read(&mut bytes)?;
        ensure!(read > 0, "the broker closed the connection");
        decoder.buffer_mut().extend_from_slice(&bytes[..read]);
    }
}
