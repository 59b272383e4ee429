//! The table of error codes against the one of the `kafka-protocol` crate.

use std::collections::HashSet;

use kafka_protocol::error::ResponseError;
use sealwax_protocol::error_code::{ErrorClass, ErrorCode};

/// Where this client sees a code otherwise, and why.
const RETRIABLE_ONLY_HERE: [ErrorCode; 4] = [
    // Another broker, or the same one later, may answer.
    ErrorCode::BROKER_NOT_AVAILABLE,
    // The member joins again and then succeeds.
    ErrorCode::REBALANCE_IN_PROGRESS,
    // Retriable in Kafka's own client for years; the crate's table is older.
    ErrorCode::CONCURRENT_TRANSACTIONS,
    // Bootstrapping again is a refresh of metadata (KIP-1102).
    ErrorCode::REBOOTSTRAP_REQUIRED,
];

fn upper_snake(camel: &str) -> String {
    let mut snake = String::new();
    for letter in camel.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_uppercase());
    }
    snake
}

#[test]
fn names_and_retriability_are_kafkas() {
    let mut compared = 0;
    for code in (-1..=200).filter(|code| *code != 0).map(ErrorCode) {
        let Some(theirs) =
            ResponseError::try_from_code(code.0).filter(|error| !matches!(error, ResponseError::Unknown(_)))
        else {
            continue;
        };
        compared += 1;
        assert_eq!(code.name(), Some(upper_snake(&format!("{theirs:?}")).as_str()));
        let expected = theirs.is_retriable() || RETRIABLE_ONLY_HERE.contains(&code);
        assert_eq!(code.is_retriable(), expected, "{code}");
    }
    assert_eq!(compared, 134, "-1 and 1 to 133");
}

#[test]
fn every_known_code_has_a_name_of_its_own() {
    let names: HashSet<_> = ErrorCode::ALL.iter().map(|code| code.name().unwrap()).collect();
    assert_eq!(names.len(), ErrorCode::ALL.len());
    for code in ErrorCode::ALL {
        assert_eq!(code.to_string(), format!("{} ({})", code.name().unwrap(), code.0));
        assert_eq!(code.is_error(), *code != ErrorCode::NONE);
        assert_eq!(code.class() == ErrorClass::None, *code == ErrorCode::NONE);
    }
}

#[test]
fn an_unknown_code_is_carried() {
    let code = ErrorCode(4711);
    assert_eq!(code.name(), None);
    assert_eq!(code.class(), ErrorClass::Fatal);
    assert!(code.is_error() && !code.is_retriable());
    assert_eq!(code.to_string(), "error code 4711");
}

#[test]
fn classes_of_kip_1050() {
    let of = |class| {
        ErrorCode::ALL
            .iter()
            .filter(move |code| code.class() == class)
            .map(|code| code.0)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(ErrorClass::ApplicationRecoverable), [22, 25, 47, 49, 82, 90]);
    assert_eq!(
        of(ErrorClass::InvalidConfiguration),
        [17, 18, 21, 29, 30, 31, 33, 34, 35, 38, 43, 50, 53, 58, 65]
    );
    assert_eq!(of(ErrorClass::Abortable), [45, 46, 55, 59, 120]);
}
