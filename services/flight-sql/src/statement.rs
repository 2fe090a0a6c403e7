//! A statement as a client gives it: of which kind it is, what is refused, and how parameters get into it.

use std::ops::Range;

use tonic::Status;

use crate::lexer::{Kind, tokens};

/// What statements begin with that COPY takes.
const QUERIES: [&str; 4] = ["SELECT", "VALUES", "TABLE", "WITH"];
const CHANGES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];

/// What other statements begin with that leave nothing in a session.
const TRACELESS: [&str; 3] = ["EXPLAIN", "SHOW", "SAVEPOINT"];

/// What those begin with that change the session, not the database.
const SESSION: [&str; 9] = [
    "SET",
    "RESET",
    "PREPARE",
    "EXECUTE",
    "DEALLOCATE",
    "LISTEN",
    "UNLISTEN",
    "LOAD",
    "DISCARD",
];

/// How often parameters may be in a statement, and how long that may be with values in their place.
const PARAMETERS: usize = 65_535;
const LONGEST: usize = 256 << 20;

pub struct Statement<'a> {
    /// Without what surrounds it: blanks, comments, semicolons.
    text: &'a str,
    /// The words that it begins with, in capitals.
    words: Vec<String>,
    /// Where in the text parameters are, and their numbers, from 1.
    parameters: Vec<(Range<usize>, usize)>,
    writes: bool,
    client_copy: bool,
}

impl<'a> Statement<'a> {
    pub fn read(text: &'a str) -> Result<Self, Status> {
        let (mut start, mut end) = (None, 0);
        let (mut words, mut begins, mut before) = (Vec::new(), true, "");
        let (mut writes, mut client) = (false, false);
        let mut parameters = Vec::new();
        for token in tokens(text) {
            let piece = &text[token.range.clone()];
            if token.kind == Kind::Semicolon {
                begins &= start.is_none();
                continue;
            }
            let start = *start.get_or_insert(token.range.start);
            end = token.range.end;
            let is = |word: &str| piece.eq_ignore_ascii_case(word);
            match token.kind {
                Kind::Word => {
                    if begins && words.len() < 4 {
                        words.push(piece.to_ascii_uppercase());
                    }
                    // A column may be called update: then the statement is taken for one that writes, which is no harm.
                    // FOR [NO KEY] UPDATE locks.
                    let locks = ["FOR", "KEY"].iter().any(|word| before.eq_ignore_ascii_case(word));
                    writes |= !locks && CHANGES.iter().any(|word| is(word));
                    client |= is("STDIN") || is("STDOUT");
                    before = piece;
                }
                Kind::Parameter(number) => {
                    if parameters.len() == PARAMETERS {
                        return Err(Status::invalid_argument(format!(
                            "the statement has parameters at more than {PARAMETERS} places"
                        )));
                    }
                    parameters.push((token.range.start - start..end - start, usize::from(number)));
                    begins = false;
                }
                // Queries may be in brackets.
                _ => begins &= piece == "(" && words.is_empty(),
            }
        }
        let start = start.ok_or_else(|| Status::invalid_argument("the statement is empty"))?;
        Ok(Self {
            text: &text[start..end],
            client_copy: client && words.first().is_some_and(|first| first == "COPY"),
            words,
            parameters,
            writes,
        })
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Whether COPY takes it, if it has a result.
    pub fn is_copyable(&self) -> bool {
        self.begins_with(&QUERIES) || self.begins_with(&CHANGES)
    }

    /// Whether it may change rows by more than functions that it calls.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether a connection had better not be used again.
    pub fn leaves_traces(&self) -> bool {
        !self.is_copyable() && !self.begins_with(&TRACELESS)
    }

    /// Refuses what would leave us in the dark about transactions, what would be lost without a word, and what needs another protocol.
    pub fn check(&self, in_transaction: bool) -> Result<(), Status> {
        let word = |at: usize| self.words.get(at).map_or("", String::as_str);
        let ends = match word(0) {
            "BEGIN" | "START" | "END" | "ABORT" => true,
            "COMMIT" => word(1) != "PREPARED",
            "ROLLBACK" => match word(1) {
                "PREPARED" | "TO" => false,
                "WORK" | "TRANSACTION" => word(2) != "TO",
                _ => true,
            },
            "PREPARE" => word(1) == "TRANSACTION",
            _ => false,
        };
        if ends {
            return Err(Status::failed_precondition(
                "transactions are begun and ended by Flight SQL's actions, which drivers have calls for, not by statements",
            ));
        }
        if self.client_copy {
            return Err(Status::failed_precondition(
                "COPY from and to the client has no way through Flight: use bulk ingestion, or a query",
            ));
        }
        if !in_transaction && self.begins_with(&SESSION) {
            return Err(Status::failed_precondition(format!(
                "{} has no effect outside of a transaction, as each statement may have another connection: use it within one, or ALTER ROLE … SET",
                word(0)
            )));
        }
        Ok(())
    }

    /// The text with these expressions where its parameters are.
    pub fn with(&self, expressions: &[String]) -> Result<String, Status> {
        let found = self.parameters.iter().map(|(range, number)| {
            let expression = number.checked_sub(1).and_then(|at| expressions.get(at));
            let missing = || Status::invalid_argument(format!("parameter ${number} is not bound"));
            Ok((range, expression.ok_or_else(missing)?))
        });
        let found: Vec<_> = found.collect::<Result<_, Status>>()?;
        let length = self.text.len() + found.iter().map(|(_, expression)| expression.len()).sum::<usize>();
        if length > LONGEST {
            return Err(Status::resource_exhausted(format!(
                "with its parameters the statement is longer than {} MB",
                LONGEST >> 20
            )));
        }
        let mut text = String::with_capacity(length);
        let mut end = 0;
        for (range, expression) in found {
            text += &self.text[end..range.start];
            text += expression;
            end = range.end;
        }
        text += &self.text[end..];
        Ok(text)
    }

    fn begins_with(&self, words: &[&str]) -> bool {
        self.words.first().is_some_and(|first| words.contains(&first.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Statement<'_> {
        Statement::read(text).unwrap()
    }

    #[test]
    fn what_surrounds_it_is_left_out() {
        assert_eq!(read(" ; -- a\n SELECT 1 ; /* b */ ; -- c").text(), "SELECT 1");
        assert_eq!(read("SELECT 1; SELECT 2;").text(), "SELECT 1; SELECT 2");
        assert!(Statement::read(" ; -- a").is_err());
        assert!(Statement::read("").is_err());
    }

    #[test]
    fn kinds() {
        for query in [
            "select 1",
            "((SELECT 1))",
            "/* */with a AS (select 1) TABLE a",
            "VALUES (1)",
            "TABLE t",
        ] {
            assert!(
                read(query).is_copyable() && !read(query).writes() && !read(query).leaves_traces(),
                "{query}"
            );
        }
        for query in [
            "insert INTO t VALUES (1)",
            "WITH a AS (DELETE FROM t RETURNING 1) SELECT",
        ] {
            assert!(read(query).is_copyable() && read(query).writes(), "{query}");
        }
        assert!(!read("SELECT 'update' FROM t FOR NO KEY UPDATE").writes());
        for statement in ["CREATE TABLE t ()", "CALL p()", "DO ''", "SET a = 1"] {
            assert!(read(statement).leaves_traces(), "{statement}");
        }
    }

    #[test]
    fn transactions_are_not_ended_by_statements() {
        for end in [
            "BEGIN",
            ";commit",
            "/* a */ END",
            "-- a\nROLLBACK AND CHAIN",
            "rollback work",
            "ABORT",
            "START TRANSACTION",
            "PREPARE TRANSACTION 'a'",
            "COMMIT; SELECT 1",
        ] {
            assert!(
                read(end).check(true).is_err() && read(end).check(false).is_err(),
                "{end}"
            );
        }
        for fine in [
            "ROLLBACK TO a",
            "ROLLBACK TRANSACTION TO a",
            "ROLLBACK PREPARED 'a'",
            "SAVEPOINT a",
            "PREPARE a AS SELECT 1",
        ] {
            assert!(read(fine).check(true).is_ok(), "{fine}");
        }
    }

    #[test]
    fn settings_are_for_transactions() {
        assert!(read("SET a = 1").check(true).is_ok());
        assert!(read("SET a = 1").check(false).is_err());
        assert!(read("COPY t FROM STDIN").check(true).is_err());
        assert!(read("COPY t FROM '/stdin'").check(true).is_ok());
    }

    #[test]
    fn parameters_are_replaced() {
        let with = |text: &str| read(text).with(&["a".into(), "b".into()]).map_err(|_| ());
        assert_eq!(with(" SELECT $2, '$1', $1;"), Ok("SELECT b, '$1', a".into()));
        assert_eq!(with("SELECT $3"), Err(()));
        assert_eq!(with("SELECT $0"), Err(()));
        let long = ["x".repeat(1 << 20)];
        assert!(read(&"$1 ".repeat(300)).with(&long).is_err());
        assert!(Statement::read(&"$1 ".repeat(PARAMETERS + 1)).is_err());
    }
}
