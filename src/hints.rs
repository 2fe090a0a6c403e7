//! Hints for errors of PostgreSQL's that people meet who use amax as they would use heap, or as other extensions.

use crate::options;
use crate::pg::report::Report;
use crate::pg::settings::is_parquet_claimed;

/// Before an error is reported that nobody has caught.
pub fn add_to(report: &Report) {
    if !report.is_error() {
        return;
    }
    let said = |word| has_word(&report.message(), word);
    if report.is_of(c"COPY format \"%s\" not recognized") && said("parquet") && is_parquet_claimed() {
        report.set_hint(c"The format is pg_parquet's where pg_parquet.enable_copy_hooks is on, and pg_parquet has not taken the statement. SET pg_parquet.enable_copy_hooks = off gives it to amax.");
    } else if report.is_of(c"COPY format \"%s\" not recognized") && (said("arrow") || said("parquet")) {
        // Otherwise the statement would have been ours.
        report.set_hint(c"The library amax was loaded by this statement, and knows the format from the next one on. SELECT amax.load() loads it before, session_preload_libraries = 'amax' for each session.");
    } else if report.is_of(c"unrecognized parameter \"%s\"") && options::names().any(said) {
        report.set_hint(c"If the table uses access method amax, this is an option of amax: SELECT amax.set_options('my_table', '{\"compression\": \"zstd\"}') when the table is there.");
    } else if report.is_of(c"cannot drop %s because other objects depend on it")
        && said("amax")
        && has_word(&report.detail(), "amax")
    {
        report.set_hint(
            c"ALTER TABLE ... SET ACCESS METHOD heap keeps a table's rows. DROP ... CASCADE drops the tables.",
        );
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|w| w == word)
}
