//! FenceProducers: InitProducerId (API key 22) for a transactional id, without a claim: whoever held it is fenced, and what it left
//! open is aborted. Not the producer's own InitProducerId, whose answers mean something else.

use sealwax_protocol::StrBytes;
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::ids::{NodeId, ProducerEpoch, ProducerId};
use sealwax_protocol::messages::{InitProducerIdRequest, TransactionalId};
use sealwax_protocol::request::RequestBody;
use sealwax_protocol::response::ResponseBody;

use crate::error::Result;
use crate::machine::admin::permission::{Permission, Resource};
use crate::machine::admin::routed::Call;
use crate::machine::admin::{Verdict, unexpected, verdict};

/// Nobody is going to write under the epoch that this gives, so its transactions may time out at once. As Java's client has it.
const TIMEOUT_MS: i32 = 1;

/// Who would be the next producer of a transactional id. Everyone before is fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FencedProducer {
    /// The producer id.
    pub producer_id: ProducerId,
    /// The epoch that fences: every lower one is refused.
    pub producer_epoch: ProducerEpoch,
}

/// The call.
#[derive(Debug)]
pub(crate) struct FenceProducer;

impl Call<str> for FenceProducer {
    type Value = FencedProducer;

    const DOING: &'static str = "fencing the transactional id's producers (InitProducerId)";
    const AT_ONCE: usize = 1;

    fn request(&self, ids: &[&str]) -> RequestBody {
        let id = ids.first().copied().unwrap_or_default();
        InitProducerIdRequest::default()
            .with_transactional_id(Some(TransactionalId(StrBytes::from_string(id.to_owned()))))
            .with_transaction_timeout_ms(TIMEOUT_MS)
            .with_producer_id(ProducerId::NONE.0.into())
            .with_producer_epoch(ProducerEpoch::NONE.0)
            .into()
    }

    fn read(&self, _node: NodeId, body: ResponseBody, ids: &[&str]) -> Result<Vec<Verdict<Self::Value>>> {
        let ResponseBody::InitProducerId(response) = body else {
            return Err(unexpected("InitProducerId", &body));
        };
        let fenced = FencedProducer {
            producer_id: ProducerId(response.producer_id.0),
            producer_epoch: ProducerEpoch(response.producer_epoch),
        };
        let code = ErrorCode(response.error_code);
        Ok(ids.iter().map(|id| classify(code, id, fenced)).collect())
    }
}

fn classify(code: ErrorCode, id: &str, fenced: FencedProducer) -> Verdict<FencedProducer> {
    let what = format!("the producers of transactional id {id:?} cannot be fenced (InitProducerId)");
    let write = Permission {
        operation: "Write",
        resource: Resource::TransactionalId(id),
    };
    match code {
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED | ErrorCode::CLUSTER_AUTHORIZATION_FAILED => {
            Verdict::Failed(write.denied(code, &what))
        }
        // Among the retriable ones is CONCURRENT_TRANSACTIONS: the open transaction is being aborted first.
        code => verdict(code, &what, None, fenced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sealwax_protocol::messages::InitProducerIdResponse;

    fn read(code: ErrorCode) -> Verdict<FencedProducer> {
        let response = InitProducerIdResponse::default()
            .with_error_code(code.0)
            .with_producer_id(7.into())
            .with_producer_epoch(4);
        FenceProducer
            .read(NodeId(1), ResponseBody::InitProducerId(response), &["orders-1"])
            .unwrap()
            .remove(0)
    }

    #[test]
    fn the_request_makes_no_claim() {
        let RequestBody::InitProducerId(request) = FenceProducer.request(&["orders-1"]) else {
            panic!("another request");
        };
        assert_eq!((request.producer_id.0, request.producer_epoch), (-1, -1));
        assert_eq!(request.transactional_id.unwrap().0.as_str(), "orders-1");
        assert_eq!(request.transaction_timeout_ms, 1);
    }

    #[test]
    fn every_code_is_classified_and_every_error_names_id_api_and_code() {
        for &code in ErrorCode::ALL {
            let error = match read(code) {
                Verdict::Done(fenced) => {
                    assert_eq!(code, ErrorCode::NONE);
                    let expected = FencedProducer {
                        producer_id: ProducerId(7),
                        producer_epoch: ProducerEpoch(4),
                    };
                    assert_eq!(fenced, expected);
                    continue;
                }
                Verdict::Again(error) => {
                    assert!(code.is_retriable(), "{code}");
                    error
                }
                Verdict::Failed(error) => error,
            };
            let text = error.to_string();
            for part in ["\"orders-1\"", "InitProducerId", code.name().unwrap()] {
                assert!(text.contains(part), "{part} is not in {text}");
            }
        }
        for code in [7, 14, 15, 16, 51] {
            assert!(matches!(read(ErrorCode(code)), Verdict::Again(_)), "{code}");
        }
        let Verdict::Failed(error) = read(ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED) else {
            panic!("not failed");
        };
        assert!(
            error
                .to_string()
                .contains("--operation Write --transactional-id orders-1"),
            "{error}"
        );
    }
}
