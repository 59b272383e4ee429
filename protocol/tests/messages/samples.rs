//! One full value per API and version: every field that the version has differs from its default, every array holds something.

use bytes::Bytes;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::add_partitions_to_txn_response::{
    AddPartitionsToTxnPartitionResult, AddPartitionsToTxnTopicResult,
};
use kafka_protocol::messages::api_versions_response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_producers_response::{
    PartitionResponse, ProducerState, TopicResponse,
};
use kafka_protocol::messages::describe_transactions_response::{TopicData, TransactionState};
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::{
    ListOffsetsPartitionResponse, ListOffsetsTopicResponse,
};
use kafka_protocol::messages::list_transactions_response::TransactionState as ListedTransaction;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::txn_offset_commit_response::{
    TxnOffsetCommitResponsePartition, TxnOffsetCommitResponseTopic,
};
use kafka_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use kafka_protocol::messages::write_txn_markers_response::{
    WritableTxnMarkerPartitionResult, WritableTxnMarkerResult, WritableTxnMarkerTopicResult,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse,
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, BrokerId, CreateTopicsRequest, CreateTopicsResponse,
    DescribeConfigsRequest, DescribeConfigsResponse, DescribeProducersRequest, DescribeProducersResponse,
    DescribeTransactionsRequest, DescribeTransactionsResponse, EndTxnRequest, EndTxnResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, GroupId, InitProducerIdRequest, InitProducerIdResponse,
    ListOffsetsRequest, ListOffsetsResponse, ListTransactionsRequest, ListTransactionsResponse,
    MetadataRequest, MetadataResponse, OffsetFetchRequest, OffsetFetchResponse, ProducerId, TopicName,
    TransactionalId, TxnOffsetCommitRequest, TxnOffsetCommitResponse, WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
};
use sealwax_protocol::error_code::ErrorCode;
use sealwax_protocol::fetch::{
    AbortedTransaction, EpochEndOffset, FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse,
    FetchTopic, FetchTopicResponse, ForgottenTopic, IsolationLevel,
};
use sealwax_protocol::ids::{LeaderEpoch, NodeId, ProducerId as OurProducerId};
use sealwax_protocol::produce::{
    LeaderHint, NodeEndpoint, ProducePartition, ProducePartitionResponse, ProduceRequest, ProduceResponse,
    ProduceTopic, ProduceTopicResponse, RecordError,
};
use sealwax_protocol::request::{APIS, RequestBody};
use sealwax_protocol::response::ResponseBody;
use sealwax_protocol::{StrBytes, Uuid};

const PRODUCER: ProducerId = ProducerId(4000);
const EPOCH: i16 = 7;

fn topic() -> TopicName {
    TopicName("orders".into())
}

fn txn_id() -> TransactionalId {
    TransactionalId("orders-source-0".into())
}

fn some_text() -> Option<StrBytes> {
    Some("the broker's words".into())
}

/// Every API with every version that is spoken.
pub(crate) fn spoken() -> impl Iterator<Item = (ApiKey, i16)> {
    APIS.iter()
        .flat_map(|(api, versions)| (versions.min..=versions.max).map(|version| (*api, version)))
}

pub(crate) fn request(api: ApiKey, version: i16) -> RequestBody {
    match api {
        ApiKey::Produce => produce_request(version).into(),
        ApiKey::Fetch => fetch_request(version).into(),
        ApiKey::ListOffsets => list_offsets_request(version).into(),
        ApiKey::Metadata => MetadataRequest::default()
            .with_topics(Some(vec![
                MetadataRequestTopic::default().with_name(Some(topic())),
                MetadataRequestTopic::default()
                    .with_name(None)
                    .with_topic_id(Uuid::from_u128(5)),
            ]))
            .with_allow_auto_topic_creation(false)
            .with_include_topic_authorized_operations(true)
            .into(),
        ApiKey::FindCoordinator => FindCoordinatorRequest::default()
            .with_key_type(1)
            .with_coordinator_keys(vec!["orders-source-0".into(), "b".into()])
            .into(),
        ApiKey::ApiVersions => ApiVersionsRequest::default()
            .with_client_software_name("sealwax".into())
            .with_client_software_version("0.1.0".into())
            .into(),
        ApiKey::CreateTopics => create_topics_request().into(),
        ApiKey::InitProducerId => InitProducerIdRequest::default()
            .with_transactional_id(Some(txn_id()))
            .with_transaction_timeout_ms(60_000)
            .with_producer_id(PRODUCER)
            .with_producer_epoch(EPOCH)
            .into(),
        ApiKey::AddPartitionsToTxn => AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(txn_id())
            .with_v3_and_below_producer_id(PRODUCER)
            .with_v3_and_below_producer_epoch(EPOCH)
            .with_v3_and_below_topics(vec![
                AddPartitionsToTxnTopic::default()
                    .with_name(topic())
                    .with_partitions(vec![0, 1, 2]),
            ])
            .into(),
        ApiKey::AddOffsetsToTxn => AddOffsetsToTxnRequest::default()
            .with_transactional_id(txn_id())
            .with_producer_id(PRODUCER)
            .with_producer_epoch(EPOCH)
            .with_group_id(GroupId("readers".into()))
            .into(),
        ApiKey::EndTxn => EndTxnRequest::default()
            .with_transactional_id(txn_id())
            .with_producer_id(PRODUCER)
            .with_producer_epoch(EPOCH)
            .with_committed(true)
            .into(),
        ApiKey::TxnOffsetCommit => txn_offset_commit_request().into(),
        ApiKey::DescribeConfigs => DescribeConfigsRequest::default()
            .with_resources(vec![
                DescribeConfigsResource::default()
                    .with_resource_type(2)
                    .with_resource_name("orders".into())
                    .with_configuration_keys(Some(vec!["cleanup.policy".into()])),
                DescribeConfigsResource::default().with_configuration_keys(None),
            ])
            .with_include_synonyms(true)
            .into(),
        ApiKey::OffsetFetch => offset_fetch_request(version).into(),
        ApiKey::WriteTxnMarkers => write_txn_markers_request().into(),
        ApiKey::DescribeProducers => DescribeProducersRequest::default()
            .with_topics(vec![
                TopicRequest::default()
                    .with_name(topic())
                    .with_partition_indexes(vec![0, 2]),
            ])
            .into(),
        ApiKey::DescribeTransactions => DescribeTransactionsRequest::default()
            .with_transactional_ids(vec![txn_id()])
            .into(),
        ApiKey::ListTransactions => list_transactions_request(version).into(),
        other => panic!("no sample for {other:?}: add one"),
    }
}

pub(crate) fn response(api: ApiKey, version: i16) -> ResponseBody {
    match api {
        ApiKey::Produce => ResponseBody::Produce(produce_response(version)),
        ApiKey::Fetch => ResponseBody::Fetch(fetch_response(version)),
        ApiKey::ListOffsets => ResponseBody::ListOffsets(list_offsets_response()),
        ApiKey::Metadata => ResponseBody::Metadata(metadata_response(version)),
        ApiKey::FindCoordinator => ResponseBody::FindCoordinator(find_coordinator_response()),
        ApiKey::ApiVersions => ResponseBody::ApiVersions(api_versions_response()),
        ApiKey::CreateTopics => ResponseBody::CreateTopics(create_topics_response()),
        ApiKey::InitProducerId => ResponseBody::InitProducerId(
            InitProducerIdResponse::default()
                .with_throttle_time_ms(3)
                .with_error_code(51)
                .with_producer_id(PRODUCER)
                .with_producer_epoch(EPOCH),
        ),
        ApiKey::AddPartitionsToTxn => ResponseBody::AddPartitionsToTxn(add_partitions_to_txn_response()),
        ApiKey::AddOffsetsToTxn => ResponseBody::AddOffsetsToTxn(
            AddOffsetsToTxnResponse::default()
                .with_throttle_time_ms(3)
                .with_error_code(16),
        ),
        ApiKey::EndTxn => ResponseBody::EndTxn(end_txn_response(version)),
        ApiKey::TxnOffsetCommit => ResponseBody::TxnOffsetCommit(txn_offset_commit_response()),
        ApiKey::DescribeConfigs => ResponseBody::DescribeConfigs(describe_configs_response()),
        ApiKey::OffsetFetch => ResponseBody::OffsetFetch(offset_fetch_response()),
        ApiKey::WriteTxnMarkers => ResponseBody::WriteTxnMarkers(write_txn_markers_response()),
        ApiKey::DescribeProducers => ResponseBody::DescribeProducers(describe_producers_response()),
        ApiKey::DescribeTransactions => ResponseBody::DescribeTransactions(describe_transactions_response()),
        ApiKey::ListTransactions => ResponseBody::ListTransactions(list_transactions_response()),
        other => panic!("no sample for {other:?}: add one"),
    }
}

fn key(version: i16) -> (&'static str, Uuid) {
    if version <= 12 {
        ("orders", Uuid::nil())
    } else {
        ("", Uuid::from_u128(77))
    }
}

fn endpoints(known: bool) -> Vec<NodeEndpoint> {
    let endpoint = NodeEndpoint {
        node: NodeId(2),
        host: "b2.local".into(),
        port: 9092,
        rack: Some("r1".into()),
    };
    if known {
        vec![
            NodeEndpoint {
                node: NodeId(3),
                rack: None,
                ..endpoint.clone()
            },
            endpoint,
        ]
    } else {
        vec![]
    }
}

const HINT: LeaderHint = LeaderHint {
    leader: NodeId(2),
    epoch: LeaderEpoch(11),
};

fn produce_request(version: i16) -> ProduceRequest {
    let (name, id) = key(version);
    ProduceRequest {
        transactional_id: Some("orders-source-0".into()),
        acks: -1,
        timeout_ms: 30_000,
        topics: vec![ProduceTopic {
            name: name.into(),
            id,
            partitions: vec![ProducePartition {
                index: 1,
                records: Bytes::from_static(&[1; 24]),
            }],
        }],
    }
}

fn produce_response(version: i16) -> ProduceResponse {
    let (name, id) = key(version);
    ProduceResponse {
        topics: vec![ProduceTopicResponse {
            name: name.into(),
            id,
            partitions: vec![ProducePartitionResponse {
                index: 1,
                error_code: ErrorCode::NOT_LEADER_OR_FOLLOWER,
                base_offset: 100,
                log_append_time_ms: 1_700_000_000_000,
                log_start_offset: 4,
                record_errors: vec![RecordError {
                    batch_index: 2,
                    message: Some("too old".into()),
                }],
                error_message: Some("not the leader".into()),
                current_leader: (version >= 10).then_some(HINT),
            }],
        }],
        throttle_time_ms: 3,
        node_endpoints: endpoints(version >= 10),
    }
}

fn fetch_request(version: i16) -> FetchRequest {
    let (name, id) = key(version);
    FetchRequest {
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 50_000_000,
        isolation_level: IsolationLevel::ReadCommitted,
        session_id: 9,
        session_epoch: 4,
        topics: vec![FetchTopic {
            name: name.into(),
            id,
            partitions: vec![FetchPartition {
                index: 1,
                current_leader_epoch: LeaderEpoch(11),
                fetch_offset: 1000,
                last_fetched_epoch: LeaderEpoch(10),
                max_bytes: 1_000_000,
            }],
        }],
        forgotten: vec![ForgottenTopic {
            name: name.into(),
            id,
            partitions: vec![2, 3],
        }],
        rack_id: "r1".into(),
    }
}

fn fetch_response(version: i16) -> FetchResponse {
    let (name, id) = key(version);
    FetchResponse {
        throttle_time_ms: 3,
        error_code: ErrorCode::NONE,
        session_id: 9,
        topics: vec![FetchTopicResponse {
            name: name.into(),
            id,
            partitions: vec![FetchPartitionResponse {
                index: 1,
                error_code: ErrorCode::NONE,
                high_watermark: 2000,
                last_stable_offset: 1900,
                log_start_offset: 4,
                diverging_epoch: Some(EpochEndOffset {
                    epoch: LeaderEpoch(3),
                    end_offset: 44,
                }),
                current_leader: Some(HINT),
                aborted_transactions: Some(vec![AbortedTransaction {
                    producer_id: OurProducerId(4000),
                    first_offset: 1001,
                }]),
                preferred_read_replica: Some(NodeId(3)),
                records: Bytes::from_static(&[2; 24]),
            }],
        }],
        node_endpoints: endpoints(version >= 16),
    }
}

fn list_offsets_request(version: i16) -> ListOffsetsRequest {
    let partition = ListOffsetsPartition::default()
        .with_partition_index(1)
        .with_current_leader_epoch(11)
        .with_timestamp(-2);
    ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_isolation_level(1)
        .with_topics(vec![
            ListOffsetsTopic::default()
                .with_name(topic())
                .with_partitions(vec![partition]),
        ])
        .with_timeout_ms(if version >= 10 { 30_000 } else { 0 })
}

fn list_offsets_response() -> ListOffsetsResponse {
    let partition = ListOffsetsPartitionResponse::default()
        .with_partition_index(1)
        .with_error_code(6)
        .with_timestamp(5)
        .with_offset(1000)
        .with_leader_epoch(11);
    ListOffsetsResponse::default()
        .with_throttle_time_ms(3)
        .with_topics(vec![
            ListOffsetsTopicResponse::default()
                .with_name(topic())
                .with_partitions(vec![partition]),
        ])
}

fn metadata_response(version: i16) -> MetadataResponse {
    let partition = MetadataResponsePartition::default()
        .with_error_code(5)
        .with_partition_index(1)
        .with_leader_id(BrokerId(2))
        .with_leader_epoch(11)
        .with_replica_nodes(vec![BrokerId(1), BrokerId(2), BrokerId(3)])
        .with_isr_nodes(vec![BrokerId(1), BrokerId(2)])
        .with_offline_replicas(vec![BrokerId(3)]);
    let topic = MetadataResponseTopic::default()
        .with_error_code(0)
        .with_name(Some(topic()))
        .with_topic_id(Uuid::from_u128(77))
        .with_is_internal(true)
        .with_partitions(vec![partition.clone(), partition.with_partition_index(2)])
        .with_topic_authorized_operations(9);
    MetadataResponse::default()
        .with_throttle_time_ms(3)
        .with_brokers(vec![
            MetadataResponseBroker::default()
                .with_node_id(BrokerId(2))
                .with_host("b2.local".into())
                .with_port(9092)
                .with_rack(Some("r1".into())),
        ])
        .with_cluster_id(Some("cluster".into()))
        .with_controller_id(BrokerId(1))
        .with_topics(vec![topic.clone(), topic.with_name(None)])
        .with_error_code(if version >= 13 { 129 } else { 0 })
}

fn find_coordinator_response() -> FindCoordinatorResponse {
    FindCoordinatorResponse::default()
        .with_throttle_time_ms(3)
        .with_coordinators(vec![
            Coordinator::default()
                .with_key("orders-source-0".into())
                .with_node_id(BrokerId(2))
                .with_host("b2.local".into())
                .with_port(9092)
                .with_error_code(15)
                .with_error_message(some_text()),
        ])
}

pub(crate) fn api_versions_response() -> ApiVersionsResponse {
    ApiVersionsResponse::default()
        .with_error_code(0)
        .with_api_keys(vec![
            ApiVersion::default()
                .with_api_key(0)
                .with_min_version(0)
                .with_max_version(13),
            ApiVersion::default()
                .with_api_key(18)
                .with_min_version(0)
                .with_max_version(4),
        ])
        .with_throttle_time_ms(3)
        .with_supported_features(vec![
            SupportedFeatureKey::default()
                .with_name("transaction.version".into())
                .with_max_version(2),
        ])
        .with_finalized_features_epoch(42)
        .with_finalized_features(vec![
            FinalizedFeatureKey::default()
                .with_name("metadata.version".into())
                .with_max_version_level(27)
                .with_min_version_level(27),
            FinalizedFeatureKey::default()
                .with_name("transaction.version".into())
                .with_max_version_level(2)
                .with_min_version_level(2),
        ])
        .with_zk_migration_ready(true)
}

fn create_topics_request() -> CreateTopicsRequest {
    let assignment = CreatableReplicaAssignment::default()
        .with_partition_index(0)
        .with_broker_ids(vec![BrokerId(1), BrokerId(2)]);
    let config = CreatableTopicConfig::default()
        .with_name("cleanup.policy".into())
        .with_value(Some("compact".into()));
    let topic = CreatableTopic::default()
        .with_name(topic())
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments(vec![assignment])
        .with_configs(vec![config]);
    CreateTopicsRequest::default()
        .with_topics(vec![topic])
        .with_timeout_ms(30_000)
        .with_validate_only(true)
}

fn create_topics_response() -> CreateTopicsResponse {
    let config = CreatableTopicConfigs::default()
        .with_name("cleanup.policy".into())
        .with_value(Some("compact".into()))
        .with_read_only(true)
        .with_config_source(1)
        .with_is_sensitive(true);
    let topic = CreatableTopicResult::default()
        .with_name(topic())
        .with_topic_id(Uuid::from_u128(77))
        .with_error_code(36)
        .with_error_message(some_text())
        .with_topic_config_error_code(29)
        .with_num_partitions(3)
        .with_replication_factor(2)
        .with_configs(Some(vec![config]));
    CreateTopicsResponse::default()
        .with_throttle_time_ms(3)
        .with_topics(vec![topic])
}

fn add_partitions_to_txn_response() -> AddPartitionsToTxnResponse {
    let partition = AddPartitionsToTxnPartitionResult::default()
        .with_partition_index(1)
        .with_partition_error_code(55);
    AddPartitionsToTxnResponse::default()
        .with_throttle_time_ms(3)
        .with_results_by_topic_v3_and_below(vec![
            AddPartitionsToTxnTopicResult::default()
                .with_name(topic())
                .with_results_by_partition(vec![partition]),
        ])
}

fn end_txn_response(version: i16) -> EndTxnResponse {
    let response = EndTxnResponse::default()
        .with_throttle_time_ms(3)
        .with_error_code(0);
    if version >= 5 {
        response.with_producer_id(PRODUCER).with_producer_epoch(EPOCH + 1)
    } else {
        response
    }
}

fn txn_offset_commit_request() -> TxnOffsetCommitRequest {
    let partition = TxnOffsetCommitRequestPartition::default()
        .with_partition_index(1)
        .with_committed_offset(1000)
        .with_committed_leader_epoch(11)
        .with_committed_metadata(Some("m".into()));
    TxnOffsetCommitRequest::default()
        .with_transactional_id(txn_id())
        .with_group_id(GroupId("readers".into()))
        .with_producer_id(PRODUCER)
        .with_producer_epoch(EPOCH)
        .with_generation_id(5)
        .with_member_id("member".into())
        .with_group_instance_id(Some("instance".into()))
        .with_topics(vec![
            TxnOffsetCommitRequestTopic::default()
                .with_name(topic())
                .with_partitions(vec![partition]),
        ])
}

fn txn_offset_commit_response() -> TxnOffsetCommitResponse {
    let partition = TxnOffsetCommitResponsePartition::default()
        .with_partition_index(1)
        .with_error_code(22);
    TxnOffsetCommitResponse::default()
        .with_throttle_time_ms(3)
        .with_topics(vec![
            TxnOffsetCommitResponseTopic::default()
                .with_name(topic())
                .with_partitions(vec![partition]),
        ])
}

fn describe_configs_response() -> DescribeConfigsResponse {
    let synonym = DescribeConfigsSynonym::default()
        .with_name("log.cleanup.policy".into())
        .with_value(Some("delete".into()))
        .with_source(5);
    let config = DescribeConfigsResourceResult::default()
        .with_name("cleanup.policy".into())
        .with_value(Some("compact".into()))
        .with_read_only(true)
        .with_config_source(1)
        .with_is_sensitive(true)
        .with_synonyms(vec![synonym])
        .with_config_type(7)
        .with_documentation(some_text());
    let result = DescribeConfigsResult::default()
        .with_error_code(0)
        .with_error_message(some_text())
        .with_resource_type(2)
        .with_resource_name("orders".into())
        .with_configs(vec![config]);
    DescribeConfigsResponse::default()
        .with_throttle_time_ms(3)
        .with_results(vec![result])
}

fn offset_fetch_request(version: i16) -> OffsetFetchRequest {
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(GroupId("readers".into()))
        .with_topics(Some(vec![
            OffsetFetchRequestTopics::default()
                .with_name(topic())
                .with_partition_indexes(vec![1]),
        ]));
    let group = if version >= 9 {
        group.with_member_id(Some("member".into())).with_member_epoch(4)
    } else {
        group
    };
    OffsetFetchRequest::default()
        .with_groups(vec![group])
        .with_require_stable(true)
}

fn offset_fetch_response() -> OffsetFetchResponse {
    let partition = OffsetFetchResponsePartitions::default()
        .with_partition_index(1)
        .with_committed_offset(1000)
        .with_committed_leader_epoch(11)
        .with_metadata(Some("m".into()))
        .with_error_code(88);
    OffsetFetchResponse::default()
        .with_throttle_time_ms(3)
        .with_groups(vec![
            OffsetFetchResponseGroup::default()
                .with_group_id(GroupId("readers".into()))
                .with_error_code(16)
                .with_topics(vec![
                    OffsetFetchResponseTopics::default()
                        .with_name(topic())
                        .with_partitions(vec![partition]),
                ]),
        ])
}

fn write_txn_markers_request() -> WriteTxnMarkersRequest {
    let marker = WritableTxnMarker::default()
        .with_producer_id(PRODUCER)
        .with_producer_epoch(EPOCH)
        .with_transaction_result(true)
        .with_coordinator_epoch(12)
        .with_topics(vec![
            WritableTxnMarkerTopic::default()
                .with_name(topic())
                .with_partition_indexes(vec![0, 2]),
        ]);
    WriteTxnMarkersRequest::default().with_markers(vec![marker])
}

fn write_txn_markers_response() -> WriteTxnMarkersResponse {
    let partition = WritableTxnMarkerPartitionResult::default()
        .with_partition_index(2)
        .with_error_code(6);
    let marker = WritableTxnMarkerResult::default()
        .with_producer_id(PRODUCER)
        .with_topics(vec![
            WritableTxnMarkerTopicResult::default()
                .with_name(topic())
                .with_partitions(vec![partition]),
        ]);
    WriteTxnMarkersResponse::default().with_markers(vec![marker])
}

fn describe_producers_response() -> DescribeProducersResponse {
    let producer = ProducerState::default()
        .with_producer_id(PRODUCER)
        .with_producer_epoch(7)
        .with_last_sequence(90)
        .with_last_timestamp(1_700_000_000_000)
        .with_coordinator_epoch(12)
        .with_current_txn_start_offset(55);
    let partition = PartitionResponse::default()
        .with_partition_index(2)
        .with_error_code(6)
        .with_error_message(some_text())
        .with_active_producers(vec![producer]);
    DescribeProducersResponse::default()
        .with_throttle_time_ms(3)
        .with_topics(vec![
            TopicResponse::default()
                .with_name(topic())
                .with_partitions(vec![partition]),
        ])
}

fn describe_transactions_response() -> DescribeTransactionsResponse {
    let state = TransactionState::default()
        .with_error_code(16)
        .with_transactional_id(txn_id())
        .with_transaction_state("Ongoing".into())
        .with_transaction_timeout_ms(60_000)
        .with_transaction_start_time_ms(1_700_000_000_000)
        .with_producer_id(PRODUCER)
        .with_producer_epoch(EPOCH)
        .with_topics(vec![
            TopicData::default()
                .with_topic(topic())
                .with_partitions(vec![0, 2]),
        ]);
    DescribeTransactionsResponse::default()
        .with_throttle_time_ms(3)
        .with_transaction_states(vec![state])
}

fn list_transactions_request(version: i16) -> ListTransactionsRequest {
    let request = ListTransactionsRequest::default()
        .with_state_filters(vec!["Ongoing".into()])
        .with_producer_id_filters(vec![PRODUCER]);
    let request = if version >= 1 {
        request.with_duration_filter(60_000)
    } else {
        request
    };
    if version >= 2 {
        request.with_transactional_id_pattern(Some("orders-.*".into()))
    } else {
        request
    }
}

fn list_transactions_response() -> ListTransactionsResponse {
    let state = ListedTransaction::default()
        .with_transactional_id(txn_id())
        .with_producer_id(PRODUCER)
        .with_transaction_state("Ongoing".into());
    ListTransactionsResponse::default()
        .with_throttle_time_ms(3)
        .with_error_code(14)
        .with_unknown_state_filters(vec!["Odd".into()])
        .with_transaction_states(vec![state])
}
