//! Kafka's error codes as data: number, name and what kind of reaction an error calls for in general (KIP-1050).
//!
//! What a code means for one particular API is decided where that API's answer is read; this table is their common ground.

use std::fmt;

/// An error code from a broker. Unknown codes are carried as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorCode(pub i16);

/// What kind of reaction an error calls for (KIP-1050).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// No error.
    None,
    /// The same request may be sent again.
    Retriable,
    /// The same request may be sent again after the metadata or coordinator was looked up anew.
    RefreshRetriable,
    /// The transaction must be aborted; the producer stays usable.
    Abortable,
    /// The producer, or the membership, must be set up anew by the application.
    ApplicationRecoverable,
    /// A setting, a name or a permission must be changed by a person.
    InvalidConfiguration,
    /// Nothing more can be done with this client object.
    Fatal,
}

macro_rules! error_codes {
    ($($number:literal $name:ident $class:ident;)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!("Error code ", stringify!($number), ".")]
                pub const $name: Self = Self($number);
            )*

            /// Kafka's name of the code; `None` if the code is not known here.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// The general class of the code. A code that is not known here counts as fatal.
            #[must_use]
            pub const fn class(self) -> ErrorClass {
                match self.0 {
                    $($number => ErrorClass::$class,)*
                    _ => ErrorClass::Fatal,
                }
            }

            /// Every code that is known here.
            pub const ALL: &'static [Self] = &[$(Self($number),)*];
        }
    };
}

error_codes! {
    -1 UNKNOWN_SERVER_ERROR Fatal;
    0 NONE None;
    1 OFFSET_OUT_OF_RANGE Fatal;
    2 CORRUPT_MESSAGE Retriable;
    3 UNKNOWN_TOPIC_OR_PARTITION RefreshRetriable;
    4 INVALID_FETCH_SIZE Fatal;
    5 LEADER_NOT_AVAILABLE RefreshRetriable;
    6 NOT_LEADER_OR_FOLLOWER RefreshRetriable;
    7 REQUEST_TIMED_OUT Retriable;
    8 BROKER_NOT_AVAILABLE RefreshRetriable;
    9 REPLICA_NOT_AVAILABLE RefreshRetriable;
    10 MESSAGE_TOO_LARGE Fatal;
    11 STALE_CONTROLLER_EPOCH Fatal;
    12 OFFSET_METADATA_TOO_LARGE Fatal;
    13 NETWORK_EXCEPTION RefreshRetriable;
    14 COORDINATOR_LOAD_IN_PROGRESS Retriable;
    15 COORDINATOR_NOT_AVAILABLE RefreshRetriable;
    16 NOT_COORDINATOR RefreshRetriable;
    17 INVALID_TOPIC_EXCEPTION InvalidConfiguration;
    18 RECORD_LIST_TOO_LARGE InvalidConfiguration;
    19 NOT_ENOUGH_REPLICAS Retriable;
    20 NOT_ENOUGH_REPLICAS_AFTER_APPEND Retriable;
    21 INVALID_REQUIRED_ACKS InvalidConfiguration;
    22 ILLEGAL_GENERATION ApplicationRecoverable;
    23 INCONSISTENT_GROUP_PROTOCOL Fatal;
    24 INVALID_GROUP_ID Fatal;
    25 UNKNOWN_MEMBER_ID ApplicationRecoverable;
    26 INVALID_SESSION_TIMEOUT Fatal;
    27 REBALANCE_IN_PROGRESS Retriable;
    28 INVALID_COMMIT_OFFSET_SIZE Fatal;
    29 TOPIC_AUTHORIZATION_FAILED InvalidConfiguration;
    30 GROUP_AUTHORIZATION_FAILED InvalidConfiguration;
    31 CLUSTER_AUTHORIZATION_FAILED InvalidConfiguration;
    32 INVALID_TIMESTAMP Fatal;
    33 UNSUPPORTED_SASL_MECHANISM InvalidConfiguration;
    34 ILLEGAL_SASL_STATE InvalidConfiguration;
    35 UNSUPPORTED_VERSION InvalidConfiguration;
    36 TOPIC_ALREADY_EXISTS Fatal;
    37 INVALID_PARTITIONS Fatal;
    38 INVALID_REPLICATION_FACTOR InvalidConfiguration;
    39 INVALID_REPLICA_ASSIGNMENT Fatal;
    40 INVALID_CONFIG Fatal;
    41 NOT_CONTROLLER RefreshRetriable;
    42 INVALID_REQUEST Fatal;
    43 UNSUPPORTED_FOR_MESSAGE_FORMAT InvalidConfiguration;
    44 POLICY_VIOLATION Fatal;
    45 OUT_OF_ORDER_SEQUENCE_NUMBER Abortable;
    46 DUPLICATE_SEQUENCE_NUMBER Abortable;
    47 INVALID_PRODUCER_EPOCH ApplicationRecoverable;
    48 INVALID_TXN_STATE Fatal;
    49 INVALID_PRODUCER_ID_MAPPING ApplicationRecoverable;
    50 INVALID_TRANSACTION_TIMEOUT InvalidConfiguration;
    51 CONCURRENT_TRANSACTIONS Retriable;
    52 TRANSACTION_COORDINATOR_FENCED Fatal;
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED InvalidConfiguration;
    54 SECURITY_DISABLED Fatal;
    55 OPERATION_NOT_ATTEMPTED Abortable;
    56 KAFKA_STORAGE_ERROR RefreshRetriable;
    57 LOG_DIR_NOT_FOUND Fatal;
    58 SASL_AUTHENTICATION_FAILED InvalidConfiguration;
    59 UNKNOWN_PRODUCER_ID Abortable;
    60 REASSIGNMENT_IN_PROGRESS Fatal;
    61 DELEGATION_TOKEN_AUTH_DISABLED Fatal;
    62 DELEGATION_TOKEN_NOT_FOUND Fatal;
    63 DELEGATION_TOKEN_OWNER_MISMATCH Fatal;
    64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED Fatal;
    65 DELEGATION_TOKEN_AUTHORIZATION_FAILED InvalidConfiguration;
    66 DELEGATION_TOKEN_EXPIRED Fatal;
    67 INVALID_PRINCIPAL_TYPE Fatal;
    68 NON_EMPTY_GROUP Fatal;
    69 GROUP_ID_NOT_FOUND Fatal;
    70 FETCH_SESSION_ID_NOT_FOUND Retriable;
    71 INVALID_FETCH_SESSION_EPOCH Retriable;
    72 LISTENER_NOT_FOUND RefreshRetriable;
    73 TOPIC_DELETION_DISABLED Fatal;
    74 FENCED_LEADER_EPOCH RefreshRetriable;
    75 UNKNOWN_LEADER_EPOCH RefreshRetriable;
    76 UNSUPPORTED_COMPRESSION_TYPE Fatal;
    77 STALE_BROKER_EPOCH Fatal;
    78 OFFSET_NOT_AVAILABLE Retriable;
    79 MEMBER_ID_REQUIRED Fatal;
    80 PREFERRED_LEADER_NOT_AVAILABLE RefreshRetriable;
    81 GROUP_MAX_SIZE_REACHED Fatal;
    82 FENCED_INSTANCE_ID ApplicationRecoverable;
    83 ELIGIBLE_LEADERS_NOT_AVAILABLE RefreshRetriable;
    84 ELECTION_NOT_NEEDED RefreshRetriable;
    85 NO_REASSIGNMENT_IN_PROGRESS Fatal;
    86 GROUP_SUBSCRIBED_TO_TOPIC Fatal;
    87 INVALID_RECORD Fatal;
    88 UNSTABLE_OFFSET_COMMIT Retriable;
    89 THROTTLING_QUOTA_EXCEEDED Retriable;
    90 PRODUCER_FENCED ApplicationRecoverable;
    91 RESOURCE_NOT_FOUND Fatal;
    92 DUPLICATE_RESOURCE Fatal;
    93 UNACCEPTABLE_CREDENTIAL Fatal;
    94 INCONSISTENT_VOTER_SET Fatal;
    95 INVALID_UPDATE_VERSION Fatal;
    96 FEATURE_UPDATE_FAILED Fatal;
    97 PRINCIPAL_DESERIALIZATION_FAILURE Fatal;
    98 SNAPSHOT_NOT_FOUND Fatal;
    99 POSITION_OUT_OF_RANGE Fatal;
    100 UNKNOWN_TOPIC_ID RefreshRetriable;
    101 DUPLICATE_BROKER_REGISTRATION Fatal;
    102 BROKER_ID_NOT_REGISTERED Fatal;
    103 INCONSISTENT_TOPIC_ID RefreshRetriable;
    104 INCONSISTENT_CLUSTER_ID Fatal;
    105 TRANSACTIONAL_ID_NOT_FOUND Fatal;
    106 FETCH_SESSION_TOPIC_ID_ERROR Retriable;
    107 INELIGIBLE_REPLICA Fatal;
    108 NEW_LEADER_ELECTED Fatal;
    109 OFFSET_MOVED_TO_TIERED_STORAGE Fatal;
    110 FENCED_MEMBER_EPOCH Fatal;
    111 UNRELEASED_INSTANCE_ID Fatal;
    112 UNSUPPORTED_ASSIGNOR Fatal;
    113 STALE_MEMBER_EPOCH Fatal;
    114 MISMATCHED_ENDPOINT_TYPE Fatal;
    115 UNSUPPORTED_ENDPOINT_TYPE Fatal;
    116 UNKNOWN_CONTROLLER_ID Fatal;
    117 UNKNOWN_SUBSCRIPTION_ID Fatal;
    118 TELEMETRY_TOO_LARGE Fatal;
    119 INVALID_REGISTRATION Fatal;
    120 TRANSACTION_ABORTABLE Abortable;
    121 INVALID_RECORD_STATE Fatal;
    122 SHARE_SESSION_NOT_FOUND Retriable;
    123 INVALID_SHARE_SESSION_EPOCH Retriable;
    124 FENCED_STATE_EPOCH Fatal;
    125 INVALID_VOTER_KEY Fatal;
    126 DUPLICATE_VOTER Fatal;
    127 VOTER_NOT_FOUND Fatal;
    128 INVALID_REGULAR_EXPRESSION Fatal;
    129 REBOOTSTRAP_REQUIRED RefreshRetriable;
    130 STREAMS_INVALID_TOPOLOGY Fatal;
    131 STREAMS_INVALID_TOPOLOGY_EPOCH Fatal;
    132 STREAMS_TOPOLOGY_FENCED Fatal;
    133 SHARE_SESSION_LIMIT_REACHED Retriable;
    134 GROUP_DELETION_FAILED Fatal;
}

impl ErrorCode {
    /// Whether this is an error at all.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.0 != 0
    }

    /// Whether the same request may succeed if it is sent again.
    #[must_use]
    pub const fn is_retriable(self) -> bool {
        matches!(self.class(), ErrorClass::Retriable | ErrorClass::RefreshRetriable)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "error code {}", self.0),
        }
    }
}
