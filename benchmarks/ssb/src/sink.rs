//! Where rows go: CSV lines, JSON lines, or nowhere.

/// Output format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// RFC 4180 with line feeds and without a header, as PostgreSQL's and
    /// DuckDB's CSV readers take it.
    Csv,
    /// One JSON object per line, the column names as keys.
    Jsonl,
}

/// Takes the fields of one row after another, in column order.
pub trait RowSink {
    /// A numeric field.
    fn int(&mut self, name: &'static str, value: u64);
    /// A text field.
    fn text(&mut self, name: &'static str, value: &str);
    /// The row is complete.
    fn end_row(&mut self);
}

/// Appends rows to a byte buffer.
pub struct Encoder {
    format: Format,
    buffer: Vec<u8>,
    first: bool,
}

impl Encoder {
    /// An empty buffer.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            buffer: Vec::new(),
            first: true,
        }
    }

    /// The bytes so far; complete rows only if called between rows.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Forgets the bytes so far, keeps the allocation.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    fn field(&mut self, name: &'static str) {
        match self.format {
            Format::Csv if self.first => {}
            Format::Csv => self.buffer.push(b','),
            Format::Jsonl => {
                self.buffer.extend_from_slice(if self.first { b"{\"" } else { b",\"" });
                self.buffer.extend_from_slice(name.as_bytes());
                self.buffer.extend_from_slice(b"\":");
            }
        }
        self.first = false;
    }
}

impl RowSink for Encoder {
    fn int(&mut self, name: &'static str, value: u64) {
        self.field(name);
        self.buffer
            .extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn text(&mut self, name: &'static str, value: &str) {
        self.field(name);
        match self.format {
            Format::Csv if value.bytes().any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r')) => {
                self.buffer.push(b'"');
                self.buffer.extend_from_slice(value.replace('"', "\"\"").as_bytes());
                self.buffer.push(b'"');
            }
            Format::Csv => self.buffer.extend_from_slice(value.as_bytes()),
            Format::Jsonl if value.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') => {
                self.buffer.push(b'"');
                self.buffer.extend_from_slice(value.as_bytes());
                self.buffer.push(b'"');
            }
            Format::Jsonl => {
                let escaped = serde_json::Value::from(value).to_string();
                self.buffer.extend_from_slice(escaped.as_bytes());
            }
        }
    }

    fn end_row(&mut self) {
        if self.format == Format::Jsonl {
            self.buffer.push(b'}');
        }
        self.buffer.push(b'\n');
        self.first = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(format: Format) -> String {
        let mut out = Encoder::new(format);
        for (number, text) in [(1, "plain"), (22, "a \"b\", c\\")] {
            out.int("n", number);
            out.text("t", text);
            out.end_row();
        }
        String::from_utf8(out.bytes().to_vec()).unwrap()
    }

    #[test]
    fn csv_quotes_only_where_it_must() {
        assert_eq!(encode(Format::Csv), "1,plain\n22,\"a \"\"b\"\", c\\\"\n");
    }

    #[test]
    fn json_escapes() {
        assert_eq!(
            encode(Format::Jsonl),
            "{\"n\":1,\"t\":\"plain\"}\n{\"n\":22,\"t\":\"a \\\"b\\\", c\\\\\"}\n"
        );
    }
}
