//! Random texts of the whole grammar, most of which have no errors.

/// A query that others may refer to.
struct Known {
    label: String,
    /// What it groups by, in the order of the text.
    keys: Vec<String>,
    /// Names of its columns that are numbers, as they are written behind `QUERY.`.
    numbers: Vec<String>,
    every: &'static str,
    /// Whether the answers of a sketch and of the past start nothing.
    is_plain: bool,
}

/// Names of columns and of queries that mean something else, too.
const ALIASES: [&str; 32] = [
    "proto",
    "bytes",
    "packets",
    "srcip",
    "src_addr",
    "total_byte",
    "total_count",
    "sum",
    "distinct",
    "each",
    "missing",
    "same",
    "once",
    "nodes",
    "by",
    "to",
    "window",
    "x",
    "n",
    "q1",
    "K1",
    "Node",
    "a b",
    "it's",
    "say \"x\"",
    "select",
    "limit 5",
    "10",
    "iat_p99.9",
    "sum(total_byte)",
    "count(*)",
    "é",
];
const LABELS: [&str; 26] = [
    "a", "b", "bytes", "proto", "dst_addr", "flows", "between", "in", "like", "is", "as", "or", "and",
    "each", "distinct", "same", "missing", "last", "when", "order", "K1", "sum", "surely", "once", "to",
    "q9",
];
const VARIABLES: [&str; 8] = ["K1", "K2", "Node", "distinct", "once", "Text", "x", "by"];
const KEYS: [&[&str]; 12] = [
    &["src_addr", "srcip", "SRC_ADDR"],
    &["dst_addr", "dstip", "DstIP"],
    &["protocol", "proto"],
    &["src_port", "sport"],
    &["dst_port", "dport", "Dst_Port"],
    &["vlan"],
    &["protocol_name"],
    &["service"],
    &["conversation"],
    &["src_addr/24", "srcip/24/64", "SRC_ADDR/8"],
    &["addr"],
    &["port"],
];
const NUMBERS: [&[&str]; 6] = [
    &["total_byte", "bytes", "Bytes"],
    &["total_count", "packets", "PACKETS"],
    &["ploss_byte"],
    &["duration"],
    &["last_ip_ttl"],
    &["bytes_per_packet"],
];
const COUNTERS: [&[&str]; 3] = [&["total_byte", "bytes"], &["total_count", "packets"], &["retrans_byte"]];
const AMOUNTS: [&str; 12] =
    ["10", "1.5K", "0.5", "1e3", "1e-7", "2Ki", "123456789012", "5%", "1e21", "0", "7.25", "18446744073709"];
const EVERY: [&str; 4] = ["1s", "10s", "1min", "2h"];
const TEXTS: [&str; 6] = ["'x'", "\"it's\"", "'say \"x\"'", "'a''b'", "tcp", "https"];

/// Draws texts.
pub(super) struct Generator {
    state: u64,
    known: Vec<Known>,
    labels: Vec<String>,
    variables: Vec<&'static str>,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { state, known: Vec::new(), labels: Vec::new(), variables: Vec::new() }
    }

    fn below(&mut self, most: usize) -> usize {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % most as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// True so often of a hundred times.
    fn often(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn spelled(&mut self, of: &[&[&'static str]]) -> &'static str {
        let names = self.one(of);
        self.one(names)
    }

    /// A text of one to four queries, and what is set from outside.
    pub(super) fn text(mut self) -> (String, Vec<(String, String)>) {
        let mut statements = Vec::new();
        let mut set = Vec::new();
        for _ in 0..self.below(3) {
            let name = self.one(&VARIABLES);
            if self.variables.contains(&name) {
                continue;
            }
            let number = self.one(&AMOUNTS);
            let value = match self.below(6) {
                0 => self.one(&TEXTS).to_owned(),
                1 => self.one(&["bytes", "proto", "Node1", "K1", "K2"]).to_owned(),
                2 => format!("-{number}"),
                _ => number.to_owned(),
            };
            if self.often(20) {
                set.push((name.to_owned(), value.clone()));
            }
            if set.is_empty() || self.often(80) {
                statements.push(format!("let {name} = {value}"));
            }
            self.variables.push(name);
        }
        for _ in 0..1 + self.below(4) {
            let query = match self.below(10) {
                0..2 => self.derived(),
                2..4 => self.of_flows(),
                4 => self.sketch(),
                _ => self.grouped(),
            };
            statements.push(query);
        }
        (statements.join("; "), set)
    }

    /// `LABEL: ` or nothing, and the name.
    fn label(&mut self) -> (String, String) {
        let label = self.one(&LABELS).to_owned();
        if self.often(25) || self.labels.contains(&label) {
            return (String::new(), String::new());
        }
        self.labels.push(label.clone());
        (format!("{label}: "), label)
    }

    /// A name in quotes where it needs them.
    fn quoted(&mut self, name: &str) -> String {
        if crate::names::is_identifier(name) && self.often(80) {
            return name.to_owned();
        }
        let quote = self.one(&['\'', '"']);
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }

    fn alias(&mut self, taken: &mut Vec<String>) -> Option<String> {
        let alias = self.one(&ALIASES).to_owned();
        if self.often(35) || taken.contains(&alias) {
            return None;
        }
        taken.push(alias.clone());
        Some(alias)
    }

    /// A number that stands in conditions.
    fn amount(&mut self) -> String {
        if !self.variables.is_empty() && self.often(20) {
            let variables = self.variables.clone();
            return self.one(&variables).to_owned();
        }
        let amount = self.one(&AMOUNTS);
        match self.below(8) {
            0 => format!("-{amount}"),
            1 => format!("+{amount}"),
            _ => amount.to_owned(),
        }
    }

    fn comparison(&mut self, value: &str) -> String {
        let amount = self.amount();
        match self.below(7) {
            0 => format!("{value} between {amount} and {}", self.amount()),
            1 => format!("{value} not in ({amount}, {})", self.amount()),
            2 => format!("{value} in {amount}"),
            3 => format!("{value} is {}null", self.one(&["", "not "])),
            4 => format!("{amount} {} {value}", self.one(&["<", ">=", "<>", "=="])),
            _ => format!("{value} {} {amount}", self.one(&["=", "!=", "<", "<=", ">", ">="])),
        }
    }

    /// Conditions joined.
    fn joined(&mut self, deep: usize, leaf: &mut dyn FnMut(&mut Self) -> String) -> String {
        if deep == 0 || self.often(50) {
            return leaf(self);
        }
        let (a, b) = (self.joined(deep - 1, leaf), self.joined(deep - 1, leaf));
        match self.below(6) {
            0 => format!("{a} AND {b}"),
            1 => format!("({a} or {b})"),
            2 => format!("{a} and ({b} or {a})"),
            3 => format!("not ({a})"),
            4 => format!("(({a} or {b}), {a})"),
            _ => format!("Not {a}"),
        }
    }

    fn of_row(&mut self) -> String {
        match self.below(16) {
            0 => format!(
                "{} in {}",
                self.one(&["src_addr", "srcip", "addr", "DSTIP"]),
                self.one(&["10.0.0.0/8", "'10.0.0.0/8'", "('::1', 10.1.2.3)"])
            ),
            1 => format!("{} not in (10.0.0.1, 2001:db8::/32)", self.one(&["dst_addr", "dstip"])),
            2 => {
                format!("{} = {}", self.one(&["proto", "protocol"]), self.one(&["tcp", "UDP", "'tcp'", "47"]))
            }
            3 => {
                format!("{} in (53, https, 'http')", self.one(&["dport", "dst_port", "\"port\"", "`dport`"]))
            }
            4 => "srcip = dst_addr".to_owned(),
            5 => format!(
                "{} {} {}",
                self.one(&["service", "protocol_name"]),
                self.one(&["like", "not ilike"]),
                self.one(&["'ht%'", "\"a''%\"", "'%\"_'"])
            ),
            6 => "stime >= '2024-01-01T00:00:05'".to_owned(),
            7 => "smac != 02:00:5e:10:00:01".to_owned(),
            8 => format!(
                "node_id {} {}",
                self.one(&["=", "!="]),
                self.one(&["bytes", "Node1", "'n 1'", "proto", "Node"])
            ),
            9 => "node_id not in (bytes, Node1, \"n'1\")".to_owned(),
            10 => "node_id like 'N%'".to_owned(),
            11 => "duration < 1h30m".to_owned(),
            12 => "bps > 5Mbps".to_owned(),
            13 => {
                let (a, b) = (self.spelled(&NUMBERS), self.spelled(&NUMBERS));
                let value = match self.below(4) {
                    0 => format!("{a} / {b}"),
                    1 => format!("-({a} - -{b})"),
                    2 => format!("({a} * 2) / ({b} * 3)"),
                    _ => format!("{a} - ({a} - 1) * 2"),
                };
                self.comparison(&value)
            }
            _ => {
                let field = self.spelled(&NUMBERS);
                self.comparison(field)
            }
        }
    }

    fn aggregate(&mut self) -> String {
        let (number, key) = (self.spelled(&NUMBERS), self.spelled(&KEYS));
        let counter = self.spelled(&COUNTERS);
        match self.below(14) {
            0 => "count(*)".to_owned(),
            1 => format!("count({key})"),
            2 => format!("COUNT(distinct {key})"),
            3 => format!("max({number} * 2)"),
            4 => format!("quantile({number}, {})", self.one(&["0.5", "99%"])),
            5 => format!("entropy({key})"),
            6 => format!("entropy({key}, {counter})"),
            7 => format!("rate({counter})"),
            8 => format!("sum({counter}) / sum({})", self.spelled(&COUNTERS)),
            9 => format!("-sum({number})"),
            10 => format!("(avg({number}) + 1) * 2 - stddev({number})"),
            11 => "max(ltime) - min(stime)".to_owned(),
            _ => format!("{}({number})", self.one(&["sum", "avg", "min", "max"])),
        }
    }

    fn grouped(&mut self) -> String {
        let (label, name) = self.label();
        let mut keys: Vec<&str> = Vec::new();
        for _ in 0..self.below(3) {
            let key = self.spelled(&KEYS);
            let field =
                |key: &str| crate::names::field_name(key.split('/').next().unwrap_or_default()).to_owned();
            if !keys.iter().any(|known| field(known) == field(key)) {
                keys.push(key);
            }
        }
        let every = self.one(&EVERY);
        let (mut items, mut taken, mut numbers, mut having, mut order) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for key in &keys {
            match self.below(4) {
                0 => {}
                1 => match self.alias(&mut taken) {
                    Some(alias) => items.push(format!("{key} as {}", self.quoted(&alias))),
                    None => items.push((*key).to_owned()),
                },
                _ => items.push((*key).to_owned()),
            }
            order.push((*key).to_owned());
        }
        if !items.is_empty() {
            order.push("1".to_owned());
        }
        for _ in 0..1 + self.below(3) {
            let of =
                if self.often(10) { format!("top(3, {})", self.spelled(&KEYS)) } else { self.aggregate() };
            let is_number = !of.starts_with("top") && !of.starts_with("max(ltime");
            let of = match self.below(12) {
                0 if is_number => format!("prev({of})"),
                1 if is_number => format!("avg_over({of}, 1d)"),
                2 if is_number => format!("({of}) offset 1d"),
                _ => of,
            };
            match self.alias(&mut taken) {
                Some(alias) => {
                    let quoted = self.quoted(&alias);
                    items.push(format!("{of} as {quoted}"));
                    if is_number {
                        let is_plain = crate::names::is_identifier(&alias);
                        numbers.push(if is_plain { alias.clone() } else { quoted });
                        if is_plain {
                            having.push(alias.clone());
                        }
                        order.push(if is_plain && self.often(80) {
                            alias
                        } else {
                            format!("'{}'", alias.replace('\'', "''"))
                        });
                    }
                }
                None => {
                    if is_number && self.often(50) {
                        having.push(of.clone());
                        order.push(of.clone());
                    }
                    items.push(of);
                }
            }
        }
        let mut clauses = vec![format!("select {}", items.join(", "))];
        if !keys.is_empty() {
            clauses.push(format!("{} {}", self.one(&["groupby", "group by", "GROUP BY"]), keys.join(", ")));
        }
        if self.often(50) {
            clauses.push(format!("where {}", self.joined(2, &mut Self::of_row)));
        }
        if self.often(40) && !having.is_empty() {
            let mut leaf = |generator: &mut Self| {
                let at = generator.below(having.len());
                generator.comparison(&having[at])
            };
            clauses.push(format!("having {}", self.joined(2, &mut leaf)));
        }
        if self.often(50) && !order.is_empty() {
            let by = order[self.below(order.len())].clone();
            clauses.push(format!("order by {by}{}", self.one(&["", " asc", " DESC"])));
        }
        if self.often(30) {
            clauses.push(format!("limit {}", self.one(&["1", "10", "K1"])));
        }
        let is_windowed = self.often(85);
        if is_windowed {
            clauses.push(format!("every {every}"));
            if self.often(10) {
                clauses.push("over 4h".to_owned());
            }
        }
        let mut is_plain = is_windowed;
        if self.often(10) {
            clauses.push(format!("across nodes by {}", self.one(&["sum", "max"])));
        }
        if self.often(8) {
            clauses.push("export as metric".to_owned());
        }
        if self.often(8) {
            clauses.push(self.one(&["last 1d", "from -1h to -1min", "from '2026-11-01'"]).to_owned());
            is_plain = false;
        }
        if self.often(45) {
            clauses.extend(self.trigger());
        }
        // Clauses stand in any order.
        for at in (1..clauses.len()).rev() {
            let other = self.below(at + 1);
            clauses.swap(at, other);
        }
        if !name.is_empty() && !numbers.is_empty() {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            self.known.push(Known { label: name, keys, numbers, every, is_plain });
        }
        format!("{label}{}", clauses.join(" "))
    }

    /// An item of a query that others may read.
    fn item(&mut self) -> Option<String> {
        let known: Vec<usize> = (0..self.known.len()).filter(|at| self.known[*at].is_plain).collect();
        if known.is_empty() {
            return None;
        }
        let at = self.one(&known);
        let number = self.below(self.known[at].numbers.len());
        Some(format!("{}.{}", self.known[at].label, self.known[at].numbers[number]))
    }

    /// `when` and what belongs to it.
    fn trigger(&mut self) -> Vec<String> {
        let Some(item) = self.item() else { return Vec::new() };
        let label = item.split('.').next().unwrap_or_default().to_owned();
        let mut leaf = |generator: &mut Self| match generator.below(8) {
            0 if crate::names::is_identifier(&label) => format!("{label} is missing"),
            1 => format!("surely({})", generator.comparison(&item)),
            2 => generator.comparison(&format!("{item} * 2")),
            _ => generator.comparison(&item),
        };
        let condition = self.joined(1, &mut leaf);
        let kind = self.one(&["when", "when", "when", "when each", "while"]);
        let mut text = format!("{kind} {condition}");
        if kind == "when" {
            if self.often(30) {
                text.push_str(" for 3s");
            }
            if self.often(20) {
                text.push_str(&format!(" until {}", self.joined(1, &mut leaf)));
            }
            if self.often(20) {
                text.push_str(" cooldown 5min");
            }
        }
        let mut clauses = vec![text];
        match self.below(8) {
            0 => clauses.push("run once".to_owned()),
            1 => clauses.push("run 90s".to_owned()),
            2..5 if kind != "while" => clauses.push("in same window".to_owned()),
            _ => {}
        }
        if self.often(15) {
            clauses.push("within 1w".to_owned());
        }
        if self.often(15) {
            clauses.push("capture 100 packets".to_owned());
        }
        if !item.contains('"') && self.often(15) {
            clauses.push(format!("say \"{{{item}}} at {{node}} is \"\"much\"\" {{{{}}}}\""));
        }
        clauses
    }

    fn of_flows(&mut self) -> String {
        let (label, name) = self.label();
        let (mut items, mut taken, mut order, mut numbers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..1 + self.below(3) {
            let field = if self.often(50) {
                self.spelled(&NUMBERS)
            } else {
                self.one(&["srcip", "src_addr", "proto", "vlan", "tcp_flags", "stime", "ltime - stime"])
            };
            order.push(field.to_owned());
            match self.alias(&mut taken) {
                Some(alias) => {
                    items.push(format!("{field} as {}", self.quoted(&alias)));
                    if crate::names::is_identifier(&alias) {
                        order.push(alias.clone());
                        numbers.push(alias);
                    }
                }
                None => items.push(field.to_owned()),
            }
        }
        let mut text = format!("{label}select {}", items.join(", "));
        if self.often(60) {
            text.push_str(&format!(" where {}", self.joined(2, &mut Self::of_row)));
        }
        if self.often(60) {
            let by = order[self.below(order.len())].clone();
            text.push_str(&format!(" order by {by}, {}", self.one(&["bytes desc", "proto", "packets asc"])));
        }
        if self.often(70) {
            text.push_str(" every 1s");
            if !name.is_empty() && !numbers.is_empty() && self.often(30) {
                let keys =
                    ["src_addr", "dst_addr", "protocol", "src_port", "dst_port"].map(str::to_owned).to_vec();
                self.known.push(Known { label: name, keys, numbers, every: "1s", is_plain: true });
            }
        }
        text
    }

    fn sketch(&mut self) -> String {
        let (label, _) = self.label();
        let by = self.one(&["src_addr", "srcip", "dst_addr/24", "dport"]);
        let of = self.one(&["sum(bytes)", "sum(total_count) as bytes", "sum(packets) as \"a b\""]);
        let how = match self.below(4) {
            0 => "using space-saving(memory=128KiB)".to_owned(),
            1 => "using space_saving(memory=1MiB, packets=1000000)".to_owned(),
            2 => format!("error {}", self.one(&["1%", "0.5%", "2.25%"])),
            _ => "using exact".to_owned(),
        };
        format!("{label}select {by}, {of} groupby {by} limit 10 {how}")
    }

    fn derived(&mut self) -> String {
        let known: Vec<usize> = (0..self.known.len()).filter(|at| self.known[*at].is_plain).collect();
        if known.is_empty() {
            return self.grouped();
        }
        let first = self.one(&known);
        let (label, name) = self.label();
        let Known { label: of, keys, numbers, every, .. } = &self.known[first];
        let (of, keys, numbers, every) = (of.clone(), keys.clone(), numbers.clone(), *every);
        let number = format!("{of}.{}", numbers[self.below(numbers.len())]);
        let value = match self.below(5) {
            0 => format!("prev({number})"),
            1 => format!("{number} / 2"),
            2 => format!("{number} - avg_over({number}, 1d)"),
            _ => number.clone(),
        };
        let mut taken = Vec::new();
        let mut text = label;
        text.push_str("select ");
        keys.iter().filter(|key| !key.contains('/')).for_each(|key| text.push_str(&format!("{key}, ")));
        text.push_str(&value);
        let alias = self.alias(&mut taken);
        if let Some(alias) = &alias {
            text.push_str(&format!(" as {}", self.quoted(alias)));
        }
        text.push_str(&format!(" from {of}"));
        let plain = alias.filter(|alias| crate::names::is_identifier(alias));
        let ranked = plain.clone().unwrap_or(number);
        if self.often(50) {
            let having = self.comparison(&ranked);
            text.push_str(&format!(" having {having}"));
        }
        if self.often(50) {
            text.push_str(&format!(" order by {ranked} desc"));
        }
        if let (false, Some(alias)) = (name.is_empty(), plain) {
            self.known.push(Known { label: name, keys, numbers: vec![alias], every, is_plain: true });
        }
        text
    }
}
