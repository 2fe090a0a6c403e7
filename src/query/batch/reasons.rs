//! EXPLAIN (VERBOSE): what PostgreSQL evaluates of a query's expressions, and why.

use super::explain::Conditions;
use super::rows::Rows;
use crate::encoding::{of_utf8, shown};
use crate::pg::explain::ExplainState;
use crate::query::expr::why::why;
use std::ffi::CStr;

/// An expression and its reason.
pub fn line(expression: &CStr, reason: &str) -> String {
    format!("{} ({reason})", shown(expression.to_bytes()))
}

/// Those of expressions over the columns of `rows`.
pub fn of_rows(rows: &Rows, shown_as: &Conditions<'_>) -> Vec<String> {
    let evaluated = rows.pg_exprs.iter().filter(|evaluated| !evaluated.is_constant());
    evaluated
        .map(|evaluated| {
            let node = evaluated.written.node();
            let mut reason = why(node, &rows.entries);
            if evaluated.is_of_values() {
                reason.push_str(", once for each value");
            }
            line(shown_as.text(node), &reason)
        })
        .collect()
}

pub fn show(lines: Vec<String>, es: &ExplainState) {
    let mut shown: Vec<String> = Vec::new();
    for line in lines {
        if !shown.contains(&line) {
            shown.push(line);
        }
    }
    es.list(c"Evaluated by PostgreSQL", shown.iter().map(|line| of_utf8(line)));
}
