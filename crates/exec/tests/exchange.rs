//! Processes that send one another rows compute what one process does.

use std::collections::{BTreeMap, BTreeSet};

use amax_exec::rows::{Rows, owners};
use amax_exec::{Aggregator, By, Function, Input, Output, Scalar, Type, Vector, VectorBuilder};

const KEYS: [Type; 2] = [Type::Text, Type::Int];
const FUNCTIONS: [(Function, Option<Type>); 4] = [
    (Function::Count, None),
    (Function::CountDistinct, Some(Type::Text)),
    (Function::Sum, Some(Type::Int)),
    (Function::CountDistinct, Some(Type::Int)),
];
/// The aggregate that has a FILTER.
const FILTERED: usize = 1;

#[derive(Clone, Debug)]
struct Row {
    keys: (Option<String>, i64),
    text: Option<String>,
    number: Option<i64>,
    filter: bool,
}

struct Case {
    keys: usize,
    functions: usize,
    by: By,
    rows: Vec<Row>,
    limit: usize,
}

impl Case {
    fn new(rng: &mut fastrand::Rng) -> Case {
        let keys = rng.usize(..=KEYS.len());
        let by = if keys > 0 && rng.bool() { By::Keys } else { By::Values };
        // Only one set of distinct values can be shared out.
        let functions = if by == By::Keys { rng.usize(1..=4) } else { 3 };
        let (groups, values) = (rng.u32(1..200), rng.u32(1..2000));
        let text =
            |rng: &mut fastrand::Rng, n: u32| rng.u8(..10).checked_sub(1).map(|_| format!("value {}", rng.u32(..n)));
        let rows = (0..rng.usize(..4000))
            .map(|_| Row {
                keys: (text(rng, groups), i64::from(rng.u32(..3))),
                text: text(rng, values),
                number: rng.u8(..5).checked_sub(1).map(|_| i64::from(rng.u32(..values))),
                filter: rng.u8(..3) > 0,
            })
            .collect();
        let limit = if rng.bool() {
            usize::MAX
        } else {
            rng.usize(5_000..100_000)
        };
        Case {
            keys,
            functions,
            by,
            rows,
            limit,
        }
    }

    fn aggregator(&self, limit: usize) -> Aggregator {
        Aggregator::new(&KEYS[..self.keys], &FUNCTIONS[..self.functions], limit).expect("functions")
    }

    fn types(&self) -> Vec<Type> {
        KEYS[..self.keys]
            .iter()
            .copied()
            .chain([Type::Text, Type::Int])
            .collect()
    }

    fn filters(&self) -> Vec<bool> {
        (0..self.functions).map(|i| i == FILTERED).collect()
    }

    fn batch(&self, rows: &[Row]) -> Rows<'static> {
        let texts = |of: fn(&Row) -> &Option<String>| {
            let mut column = VectorBuilder::new(Type::Text);
            rows.iter().for_each(|row| match of(row) {
                Some(text) => column.push_text(text.as_bytes()),
                None => column.push_null(),
            });
            column.finish()
        };
        let numbers = |of: fn(&Row) -> Option<i64>| {
            let mut column = VectorBuilder::new(Type::Int);
            rows.iter().for_each(|row| match of(row) {
                Some(number) => column.push_word(number),
                None => column.push_null(),
            });
            column.finish()
        };
        let keys = [texts(|row| &row.keys.0), numbers(|row| Some(row.keys.1))];
        let arguments = [texts(|row| &row.text), numbers(|row| row.number)];
        let filter: Vec<bool> = rows.iter().map(|row| row.filter).collect();
        let filters = self.filters().into_iter();
        Rows {
            len: rows.len(),
            columns: keys.into_iter().take(self.keys).chain(arguments).collect(),
            filters: filters.map(|there| there.then(|| filter.clone().into())).collect(),
        }
    }

    fn add(&self, aggregator: &mut Aggregator, rows: &Rows<'_>) {
        let (keys, arguments) = rows.columns.split_at(self.keys);
        let argument = |function: usize| match FUNCTIONS[function].1? {
            Type::Text => Some(&arguments[0]),
            _ => Some(&arguments[1]),
        };
        let inputs: Vec<Input<'_>> = (0..self.functions)
            .map(|i| Input {
                argument: argument(i),
                filter: rows.filters[i].as_deref(),
                ..Input::default()
            })
            .collect();
        aggregator.update(rows.len, keys, &inputs).expect("update");
    }

    fn shared<'a>(&self, rows: &'a Rows<'a>) -> Vec<&'a Vector<'a>> {
        match self.by {
            By::Keys => rows.columns[..self.keys].iter().collect(),
            By::Values => vec![&rows.columns[self.keys]],
        }
    }
}

type Groups = BTreeMap<Vec<String>, Vec<String>>;

fn model(case: &Case) -> Groups {
    let mut groups: BTreeMap<Vec<String>, Vec<&Row>> = BTreeMap::new();
    if case.keys == 0 {
        groups.insert(Vec::new(), Vec::new());
    }
    for row in &case.rows {
        let keys = [
            format!("{:?}", row.keys.0.as_deref()),
            format!("{:?}", Some(row.keys.1)),
        ];
        groups.entry(keys[..case.keys].to_vec()).or_default().push(row);
    }
    let result = |rows: &[&Row], function: usize| match function {
        0 => rows.len().to_string(),
        1 => {
            let kept = rows.iter().filter(|row| row.filter).filter_map(|row| row.text.as_ref());
            kept.collect::<BTreeSet<_>>().len().to_string()
        }
        2 => {
            let numbers: Vec<i64> = rows.iter().filter_map(|row| row.number).collect();
            match &numbers[..] {
                [] => "NULL".into(),
                numbers => numbers.iter().sum::<i64>().to_string(),
            }
        }
        _ => rows
            .iter()
            .filter_map(|row| row.number)
            .collect::<BTreeSet<_>>()
            .len()
            .to_string(),
    };
    let results = |rows: Vec<&Row>| (0..case.functions).map(|i| result(&rows, i)).collect();
    groups.into_iter().map(|(keys, rows)| (keys, results(rows))).collect()
}

fn collect(case: &Case, aggregator: &Aggregator, groups: &mut Groups) {
    for group in 0..aggregator.grouping().len() {
        let key = |column| match aggregator.grouping().key(column, group) {
            Scalar::Null => "None".into(),
            Scalar::Text(text) => format!("{:?}", Some(std::str::from_utf8(text).expect("text"))),
            Scalar::Int(number) => format!("{:?}", Some(number)),
            other => panic!("{other:?}"),
        };
        let result = |at| match aggregator.output(at, group).expect("output") {
            Output::Null => "NULL".into(),
            Output::Count(n) => n.to_string(),
            Output::IntSum { sum, .. } => sum.to_string(),
            other => panic!("{other:?}"),
        };
        let keys = (0..case.keys).map(key).collect();
        let before = groups.insert(keys, (0..case.functions).map(result).collect());
        assert!(before.is_none(), "a group came twice");
    }
}

enum Message {
    Rows(Vec<u8>),
    Groups(Vec<u8>),
}

struct Process {
    aggregator: Aggregator,
    on: bool,
    spilled: bool,
    inbox: Vec<Message>,
}

/// One pass over all rows by so many processes, of which the first leads; without exchange each has its own groups.
fn scan(case: &Case, leader: Aggregator, parts: usize, exchange: bool, rng: &mut fastrand::Rng) -> Aggregator {
    let mut processes: Vec<Process> = (0..parts)
        .map(|_| Process {
            aggregator: case.aggregator(usize::MAX),
            on: false,
            spilled: false,
            inbox: Vec::new(),
        })
        .collect();
    processes[0].aggregator = leader;
    let turned_on = rng.usize(..case.rows.len() / 2 + 1);
    let turn_on = |processes: &mut Vec<Process>, me: usize| {
        if !std::mem::replace(&mut processes[me].on, true) {
            let divided = processes[me].aggregator.divide(case.by, parts as u32, me as u32);
            for (to, groups) in divided.expect("divide") {
                processes[to as usize].inbox.push(Message::Groups(groups));
            }
        }
    };
    let mut done = 0;
    for rows in case.rows.chunks(100) {
        let me = rng.usize(..parts);
        let batch = case.batch(rows);
        done += rows.len();
        if !exchange || done < turned_on {
            case.add(&mut processes[me].aggregator, &batch);
            continue;
        }
        turn_on(&mut processes, me);
        let owners = owners(&case.shared(&batch), batch.len, parts as u32);
        for (to, process) in processes.iter_mut().enumerate() {
            let of_part = |&row: &u32| owners[row as usize] as usize == to;
            let rows: Vec<u32> = (0..batch.len as u32).filter(of_part).collect();
            if to == me {
                case.add(&mut process.aggregator, &batch.pick(&rows));
            } else {
                let mut bytes = Vec::new();
                batch.write(&rows, &mut bytes).expect("bytes");
                process.inbox.push(Message::Rows(bytes));
            }
        }
        if me > 0 && rng.u8(..20) == 0 {
            // Its memory is full.
            let groups = processes[me].aggregator.serialize(false).unwrap();
            processes[me].aggregator.restart();
            processes[me].spilled = true;
            processes[0].inbox.push(Message::Groups(groups));
        }
    }
    if exchange {
        (0..parts).for_each(|me| turn_on(&mut processes, me));
    }
    for process in &mut processes {
        for message in process.inbox.drain(..) {
            match message {
                Message::Rows(bytes) => {
                    let rows = Rows::read(&bytes, &case.types(), &case.filters()).expect("rows");
                    case.add(&mut process.aggregator, &rows);
                }
                Message::Groups(bytes) => {
                    let sent = process.aggregator.deserialize(&bytes).expect("groups");
                    process.aggregator.merge(&sent).expect("merge");
                }
            }
        }
    }
    let mut processes = processes.into_iter();
    let mut leader = processes.next().expect("a leader").aggregator;
    for worker in processes {
        let bytes = worker.aggregator.serialize(exchange && !worker.spilled).unwrap();
        let sent = leader.deserialize(&bytes).expect("groups");
        leader.merge(&sent).expect("merge");
    }
    leader
}

#[test]
fn processes_compute_what_one_does() {
    let mut spoiled = 0;
    for seed in 0..400 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let case = Case::new(&mut rng);
        let parts = rng.usize(2..5);
        let mut aggregator = case.aggregator(case.limit);
        let mut groups = Groups::new();
        let mut exchange = true;
        let mut passes = 0;
        loop {
            aggregator = scan(&case, aggregator, parts, exchange, &mut rng);
            if aggregator.is_spoiled() {
                spoiled += 1;
                exchange = false;
                aggregator.begin_again();
                continue;
            }
            passes += 1;
            assert!(passes < 10_000, "passes do not end");
            if aggregator.scan_again() {
                exchange = false;
                continue;
            }
            collect(&case, &aggregator, &mut groups);
            if !aggregator.next_pass() {
                break;
            }
        }
        assert_eq!(groups, model(&case), "seed {seed}");
    }
    assert!(spoiled > 0);
}
