//! The engines whose SQL is written, and each thing that they write differently.

use std::collections::BTreeMap;
use std::path::Path;

/// The SQL of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// DuckDB's.
    #[default]
    DuckDb,
    /// ClickHouse's.
    ClickHouse,
    /// Spark's.
    Spark,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::DuckDb, Self::ClickHouse, Self::Spark];

    /// Returns the name of the dialect on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::ClickHouse => "clickhouse",
            Self::Spark => "spark",
        }
    }

    /// Returns the name of the dialect for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::DuckDb => "DuckDB",
            Self::ClickHouse => "ClickHouse",
            Self::Spark => "Spark",
        }
    }

    /// The dialect of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// A name in its quotes.
    pub fn identifier(self, name: &str) -> String {
        match self {
            Self::DuckDb => format!("\"{}\"", name.replace('"', "\"\"")),
            Self::ClickHouse => format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`")),
            Self::Spark => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// A text in quotes.
    pub fn text(self, value: &str) -> String {
        match self {
            Self::DuckDb => format!("'{}'", value.replace('\'', "''")),
            Self::ClickHouse | Self::Spark => {
                format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
            }
        }
    }

    /// A pattern of ILIKE, in which a backslash is a letter as any other.
    pub fn pattern(self, pattern: &str) -> String {
        match self {
            Self::DuckDb => self.text(pattern),
            Self::ClickHouse | Self::Spark => self.text(&pattern.replace('\\', "\\\\")),
        }
    }

    /// A floating point number: with a point alone it is a decimal one to Spark.
    pub fn float(self, number: f64) -> String {
        match self {
            Self::DuckDb | Self::ClickHouse => format!("{number:?}"),
            Self::Spark => format!("{number:e}"),
        }
    }

    /// A number as text.
    pub fn as_text(self, value: &str) -> String {
        match self {
            Self::DuckDb => format!("{value}::VARCHAR"),
            Self::ClickHouse => format!("toString({value})"),
            Self::Spark => format!("CAST({value} AS STRING)"),
        }
    }

    /// An unsigned column of the files as one to calculate with: 64 bits without sign are decimal numbers to Spark.
    pub fn number(self, column: &str) -> String {
        match self {
            Self::DuckDb | Self::ClickHouse => column.to_owned(),
            Self::Spark => format!("CAST({column} AS BIGINT)"),
        }
    }

    /// A whole number with a sign, and room for what is made of it.
    pub fn wide(self, value: &str) -> String {
        match self {
            Self::DuckDb => format!("{value}::HUGEINT"),
            // It widens by itself.
            Self::ClickHouse => value.to_owned(),
            Self::Spark => format!("CAST({value} AS BIGINT)"),
        }
    }

    /// Returns true if the numbers in files must be converted before the engine can calculate with them.
    pub fn has_own_numbers(self) -> bool {
        self == Self::Spark
    }

    /// A time as microseconds since the epoch.
    pub fn micros(self, time: &str) -> String {
        match self {
            Self::DuckDb => format!("epoch_us({time})"),
            Self::ClickHouse => format!("toUnixTimestamp64Micro(toDateTime64({time}, 6))"),
            Self::Spark => format!("unix_micros({time})"),
        }
    }

    /// Microseconds since the epoch as a time.
    pub fn time(self, micros: &str) -> String {
        match self {
            Self::DuckDb => format!("make_timestamp({micros})"),
            Self::ClickHouse => format!("fromUnixTimestamp64Micro(toInt64({micros}), 'UTC')"),
            Self::Spark => format!("timestamp_micros({micros})"),
        }
    }

    /// A table `shifts` whose column `shift` counts from 0.
    pub fn series(self, length: u64) -> String {
        match self {
            Self::DuckDb => format!("(SELECT range AS shift FROM range({length})) AS shifts"),
            Self::ClickHouse => {
                format!("(SELECT toInt64(number) AS shift FROM numbers({length})) AS shifts")
            }
            Self::Spark => format!("(SELECT id AS shift FROM range({length})) AS shifts"),
        }
    }

    /// The bitwise or of all values.
    pub fn bit_or(self, value: &str) -> String {
        match self {
            Self::DuckDb | Self::Spark => format!("bit_or({value})"),
            Self::ClickHouse => format!("groupBitOr({value})"),
        }
    }

    /// The value of the row whose `by` is least, or greatest; null where that row has none.
    pub fn at_end(self, value: &str, by: &str, is_greatest: bool) -> String {
        let end = |least, greatest| if is_greatest { greatest } else { least };
        match self {
            // Both pass over values that are null: a structure that has one is none.
            Self::DuckDb => {
                let function = end("arg_min", "arg_max");
                format!("struct_extract({function}(struct_pack(v := {value}), {by}), 'v')")
            }
            Self::ClickHouse => {
                format!("tupleElement({}(tuple({value}), {by}), 1)", end("argMin", "argMax"))
            }
            Self::Spark => format!("{}({value}, {by})", end("min_by", "max_by")),
        }
    }

    /// Returns one of the values of a group, which are all equal.
    pub fn any(self, value: &str) -> String {
        match self {
            Self::DuckDb | Self::Spark => format!("any_value({value})"),
            Self::ClickHouse => format!("any({value})"),
        }
    }

    /// Returns the text that follows a table in FROM to repeat each row for each of its two ends, or once where the ends are equal. `name`:
    /// the name of the end.
    pub fn either_end(self, name: &str, fields: &[&str]) -> String {
        let end = |end: &str| {
            let parts = fields.iter().map(|field| match self {
                Self::DuckDb => format!("{field} := {end}_{field}"),
                Self::ClickHouse => format!("{end}_{field}"),
                Self::Spark => format!("'{field}', {end}_{field}"),
            });
            parts.collect::<Vec<_>>().join(", ")
        };
        let [source, destination] = ["src", "dst"].map(end);
        match self {
            Self::DuckDb => {
                format!(
                    ", unnest(list_distinct([struct_pack({source}), struct_pack({destination})])) AS {name}s({name})"
                )
            }
            Self::ClickHouse => {
                format!(" ARRAY JOIN arrayDistinct([tuple({source}), tuple({destination})]) AS {name}")
            }
            Self::Spark => format!(
                " LATERAL VIEW explode(array_distinct(array(named_struct({source}), named_struct({destination})))) {name}s AS \
                 {name}"
            ),
        }
    }

    /// A field of an end of that name.
    pub fn end_field(self, name: &str, field: &str, fields: &[&str]) -> String {
        match self {
            Self::DuckDb | Self::Spark => format!("{name}.{field}"),
            Self::ClickHouse => {
                let at = fields.iter().position(|known| *known == field).unwrap_or(0);
                format!("tupleElement({name}, {})", at + 1)
            }
        }
    }

    /// An address of 16 bytes behind the number of its family, so that 10.0.0.1 and ::ffff:10.0.0.1 are two, and those of IPv4 come first.
    pub fn with_family(self, address: &str) -> String {
        let family = "CASE ip_version WHEN 4 THEN unhex('04') ELSE unhex('06') END";
        match self {
            Self::DuckDb => format!("({family} || {address})"),
            Self::ClickHouse | Self::Spark => format!("concat({family}, {address})"),
        }
    }

    /// The first bits of an address of 16 bytes, the others zero.
    pub fn first_bits(self, address: &str, [v4, v6]: [u8; 2]) -> String {
        let [v4, v6] = [96 + usize::from(v4.min(32)), usize::from(v6.min(128))];
        let cut = |length: usize| match self {
            Self::DuckDb => {
                format!("{}::BIT", self.text(&format!("{}{}", "1".repeat(length), "0".repeat(128 - length))))
            }
            Self::ClickHouse => {
                let mask = u128::MAX.checked_shl(128 - length as u32).unwrap_or(0);
                format!("toFixedString(unhex('{mask:032X}'), 16)")
            }
            Self::Spark => first_bits_of_binary(address, length),
        };
        let cut = format!("CASE ip_version WHEN 4 THEN {} ELSE {} END", cut(v4), cut(v6));
        match self {
            Self::DuckDb => format!("({address}::BIT & {cut})::BLOB"),
            Self::ClickHouse => format!("bitAnd({address}, {cut})"),
            Self::Spark => cut,
        }
    }

    /// Returns the SELECT list that makes a line of JSON of each row, of values and their names. ClickHouse has a format for this.
    pub fn line(self, values: &[(String, &str)]) -> String {
        let pairs =
            || values.iter().map(|(value, name)| format!("'{name}', {value}")).collect::<Vec<_>>().join(", ");
        match self {
            Self::DuckDb => format!("json_object({}) AS line", pairs()),
            Self::ClickHouse => {
                values.iter().map(|(value, name)| format!("{value} AS {name}")).collect::<Vec<_>>().join(", ")
            }
            Self::Spark => {
                format!("to_json(named_struct({}), map('ignoreNullFields', 'false')) AS line", pairs())
            }
        }
    }

    /// Returns the end of a statement. With it, null values follow the SQL standard, and a name means a column before it means an alias.
    pub fn ending(self) -> &'static str {
        match self {
            Self::DuckDb | Self::Spark => "",
            Self::ClickHouse => {
                "\nSETTINGS join_use_nulls = 1, aggregate_functions_null_for_empty = 1, prefer_column_name_to_alias = 1"
            }
        }
    }

    /// The rows of Parquet files, as tables that stand in FROM: all of them together are the rows.
    ///
    /// # Errors
    /// One line: the engine cannot be told a name.
    pub fn files(self, paths: &[impl AsRef<Path>]) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for path in paths {
            let path = path.as_ref();
            let name = path.to_str().ok_or_else(|| {
                format!("{}: the name is not UTF-8, and no SQL can have it", path.display())
            })?;
            names.push(name);
        }
        let escaped = |name: &str, special: &[char], escape: &dyn Fn(char) -> String| {
            let plain = |letter| if special.contains(&letter) { escape(letter) } else { letter.to_string() };
            name.chars().map(plain).collect::<String>()
        };
        Ok(match self {
            Self::DuckDb => {
                let name = |name: &&str| {
                    self.text(&escaped(name, &['*', '?', '['], &|letter| format!("[{letter}]")))
                };
                let names: Vec<_> = names.iter().map(name).collect();
                vec![format!("read_parquet([{}], union_by_name = true)", names.join(", "))]
            }
            Self::ClickHouse => {
                if let Some(name) = names.iter().find(|name| name.contains(['*', '?', '{', '}', ','])) {
                    return Err(format!(
                        "{name}: ClickHouse takes * ? {{ }} and the comma in names of files for patterns: ask the store by another path"
                    ));
                }
                // Its patterns name files of one folder.
                let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
                for name in names {
                    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
                    folders.entry(folder).or_default().push(file);
                }
                let table = |(folder, files): (&str, Vec<&str>)| {
                    let files = braced(&files);
                    format!("file({}, 'Parquet')", self.text(&format!("{folder}/{files}")))
                };
                folders.into_iter().map(table).collect()
            }
            Self::Spark => {
                let special = ['*', '?', '[', ']', '{', '}', ',', '\\', '^'];
                let name = |name: &&str| {
                    escaped(name.trim_start_matches('/'), &special, &|letter| format!("\\{letter}"))
                };
                let names: Vec<_> = names.iter().map(name).collect();
                vec![format!("parquet.{}", self.identifier(&format!("file:/{}", braced(&names))))]
            }
        })
    }
}

/// Returns the one name, or the pattern of any of several names.
fn braced(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [one] => (*one).to_owned(),
        names => format!("{{{}}}", names.join(",")),
    }
}

/// Spark has no operators on bits of binary values: whole bytes, the byte in which the prefix ends, and zeros.
fn first_bits_of_binary(address: &str, length: usize) -> String {
    let (whole, bits) = (length / 8, length % 8);
    let mut parts = vec![format!("substring({address}, 1, {whole})")];
    if bits != 0 {
        let mask = 0xff00_u32 >> bits & 0xff;
        let byte = format!("CAST(conv(hex(substring({address}, {}, 1)), 16, 10) AS BIGINT)", whole + 1);
        parts.push(format!("unhex(lpad(hex({byte} & {mask}), 2, '0'))"));
    }
    let zeros = 16 - whole - usize::from(bits != 0);
    if zeros != 0 {
        parts.push(format!("unhex('{}')", "00".repeat(zeros)));
    }
    if whole == 16 { address.to_owned() } else { format!("concat({})", parts.join(", ")) }
}
