//! Titles of what fires: what `say` takes, and the condition in words.

use super::{checked, query, said};
use crate::{Chain, ChainSite, CheckedText, SaidPart};
use events::{EventSettings, TitleForm, TitlePart};

/// A query that fires, and one that it starts with this clause.
fn with_say(say: &str) -> String {
    format!(
        "q1: select dst_addr, sum(total_count) as packets groupby dst_addr every 1s;\n\
         q2: select src_addr, sum(total_byte) where src_addr = q1.dst_addr groupby src_addr every 1s\n\
         when q1.packets > 1000 {say};"
    )
}

fn chain(checked: &CheckedText) -> Chain {
    assert!(!checked.has_errors(), "{:#?}", checked.diagnostics);
    let site = ChainSite {
        nodes: &["Node1".to_owned()],
        key: &[],
        window_ns: 1_000_000_000,
        base_ns: 1_000_000_000,
        settings: EventSettings::default(),
    };
    Chain::new(&checked.queries, &site).expect("a chain")
}

/// The form of the titles of the last query of a text.
fn title(text: &str) -> TitleForm {
    let chain = chain(&checked(text));
    let last = chain.graph.queries.iter().rev().find_map(|query| query.trigger.as_ref());
    last.expect("a query that is started").title.clone()
}

/// The condition of a query in words.
fn in_words(parents: &str, condition: &str) -> String {
    let form = title(&format!("{parents} last: select count(*) every 1s when {condition};"));
    assert!(!form.is_said);
    let [TitlePart::Text(text), TitlePart::Key, TitlePart::Text(at), TitlePart::Node] = &form.parts[..]
    else {
        panic!("{form:?}")
    };
    assert_eq!(at, " at ");
    text.clone()
}

#[test]
fn names_in_braces_are_columns_of_what_fires() {
    let text = |text: &str| TitlePart::Text(text.to_owned());
    let form = |say: &str| {
        let form = title(&with_say(say));
        assert!(form.is_said, "{say}");
        form.parts
    };
    assert_eq!(
        form("say \"{packets} to {dst_addr} at {node}, {{so}}\""),
        [TitlePart::Item(1), text(" to "), TitlePart::Item(0), text(" at "), TitlePart::Node, text(", {so}")]
    );
    // Names with their query, with blanks, in any spelling of a field; what is pinned; texts in either quotes.
    assert_eq!(form("say '{q1.dst_addr}{ dstip }{src_addr}'"), [0, 0, 0].map(TitlePart::Item));
    assert_eq!(form("say 'it''s \"{packets}\"'"), [text("it's \""), TitlePart::Item(1), text("\"")]);
    assert_eq!(form("say '{node_id}'"), [TitlePart::Node]);
    let two = "a: select dst_port, sum(total_byte) groupby dst_port every 1s; \
        b: select dst_port, count(*) as n, sum(total_byte) groupby dst_port every 1s; \
        c: select count(*) every 1s when a.sum(total_byte) > 5 and b.n > 5 ";
    assert_eq!(
        title(&format!("{two} say '{{dst_port}} {{n}} {{a.sum(total_byte)}} {{b.sum(total_byte)}}';")).parts,
        [0, 3, 1, 4].map(|item| [TitlePart::Item(item), text(" ")]).concat()[..7]
    );
    let lines = said(&format!("{two} say '{{sum(total_byte)}}';"));
    assert!(
        lines[0].contains("'sum(total_byte)' is of a and of b; write '{a.sum(total_byte)}'"),
        "{lines:?}"
    );
}

#[test]
fn a_query_that_fires_says_it_for_those_that_it_starts() {
    let text = "q1: select dst_addr, sum(total_count) as packets groupby dst_addr every 1s say '{packets} there';\n\
        q2: select count(*) every 1s when q1.packets > 5;\n\
        q3: select count(*) every 1s when q1.packets > 5 say 'mine';";
    let chain = chain(&checked(text));
    let of = |name: &str| {
        let query = chain.graph.queries.iter().find(|query| query.name == name).expect("a query");
        query.trigger.as_ref().expect("it is started").title.parts.clone()
    };
    assert_eq!(of("q2"), [TitlePart::Item(1), TitlePart::Text(" there".to_owned())]);
    assert_eq!(of("q3"), [TitlePart::Text("mine".to_owned())]);
    // What is said changes no query.
    let without = checked(&text.replace(" say '{packets} there'", "").replace(" say 'mine'", ""));
    let texts =
        |chain: &Chain| chain.graph.queries.iter().map(|query| query.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&chain), texts(&self::chain(&without)));
    let printed = &checked(text).queries[0];
    assert!(printed.text.ends_with("every 1s say \"{packets} there\";"), "{}", printed.text);
    assert_eq!(printed.firing.title.as_ref().map(Vec::len), Some(2));
    assert_eq!(
        checked(text).queries[2].firing.title,
        Some(vec![SaidPart::Text("mine".to_owned())]),
        "its own goes first"
    );
    assert_eq!(query("select count(*)").firing.title, None);
}

/// The parent's own answers are what it says something of: not that there are none, what re-arms a query, or another query that fires it.
#[test]
fn a_query_titles_only_what_fires_by_its_own_answers() {
    let parents = "q1: select dst_addr, sum(total_count) as packets groupby dst_addr every 1s say '{packets} there';\n\
        q2: select dst_addr, sum(total_byte) as bytes groupby dst_addr every 1s;\n\
        q3: select count(*) every 1s when q1.packets > 5;\n";
    for (when, is_titled) in [
        ("q1.packets > 5 and q2.bytes > 5", true),
        ("not (q1.packets < 5 or q2.bytes > 5)", true),
        ("q1.packets > 5 or q1.packets < 2 and q2.bytes > 5", true),
        ("surely(q2.bytes > q1.packets)", true),
        ("q1 is missing", false),
        ("q1 is missing or q1.packets > 5", false),
        ("q1.packets > 5 or q2.bytes > 5", false),
        ("not (q1.packets < 5 and q2.bytes > 5)", false),
        ("q2.bytes > 5 until q1.packets < 3", false),
    ] {
        let form = title(&format!("{parents} last: select count(*) every 1s when {when};"));
        assert_eq!(form.is_said, is_titled, "{when}");
    }
    let lines = said(&format!("{parents} last: select count(*) every 1s when q2.bytes > 5;"));
    assert_eq!(lines, Vec::<String>::new());
    // Nothing is titled by it.
    let in_vain = format!("{parents} last: select count(*) every 1s when q1.packets > 5 or q2.bytes > 5;");
    let lines = said(&in_vain.replace("when q1.packets > 5;", "when q2.bytes > 9;"));
    assert!(lines[0].contains("each condition that concerns 'q1' may hold whatever it answers"), "{lines:?}");
}

/// What fires because there is no answer has no columns.
#[test]
fn a_name_is_an_error_where_no_answer_fires() {
    let text = |when: &str, say: &str| {
        format!(
            "q1: select dst_addr, sum(total_count) as packets groupby dst_addr every 1s;\n\
             q2: select count(*) every 1s when {when} say '{say}';"
        )
    };
    assert_eq!(said(&text("q1 is missing", "Nothing at {node}")), Vec::<String>::new());
    let lines = said(&text("q1 is missing", "{packets} at {node}"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("what fires has no column 'packets'; its columns are node"), "{lines:?}");
    // The query that is not there is the error.
    let lines = said(&text("q9.packets > 5", "{packets} at {node}"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("q9"), "{lines:?}");
}

#[test]
fn errors_of_say_have_their_place() {
    let one = |say: &str| {
        let lines = said(&with_say(say));
        assert_eq!(lines.len(), 1, "{say}: {lines:?}");
        lines[0].clone()
    };
    assert_eq!(
        one("say \"{paket} at {node}\""),
        "3:30: error: what fires has no column 'paket'; 'packets' may be meant; its columns are dst_addr, packets, src_addr, node"
    );
    // Its own answer is not there yet when it fires.
    assert!(one("say '{sum(total_byte)}'").contains("what fires has no column 'sum(total_byte)'"));
    assert!(one("say 'it''s {x'").starts_with("3:35: error: '{' without '}' behind it: '{x'; end the name"));
    assert!(one("say 'a {b {node}'").starts_with("3:31: error: '{' without '}' behind it"));
    assert!(one("say 'a }'").starts_with("3:31: error: '}' without '{' before it; write '}}'"));
    assert!(one("say '{ }'").starts_with("3:29: error: no name in '{}'"));
    assert!(one("say ''").contains("the text of say is empty"));
    assert!(one("say 'a\tb'").contains("the text of say has the control character \\u{9}"));
    assert!(
        one(&format!("say '{}'", "x".repeat(201)))
            .contains("the text of say has 201 characters: at most 200")
    );
    assert!(
        one(&format!("say '{}'", "{node}".repeat(17))).contains("the text of say has 17 columns: at most 16")
    );
    assert!(one("say packets").contains("expected a text in quotes behind say"));
    assert!(one("say 'a' say 'b'").contains("'say' stands here for the second time"));
    let lines = said("q1: select count(*) as n every 1s say '{n}';");
    assert_eq!(
        lines,
        [
            "1:35: error: 'say' titles what fires, but no condition concerns 'q1'; write it in a query with 'when q1.…', or remove it"
        ]
    );
    // Whether there are answers is nothing that an answer has.
    let missing =
        "q1: select count(*) as n every 1s say '{n}'; q2: select count(*) every 1s when q1 is missing;";
    assert!(said(missing)[0].contains("no condition concerns 'q1'"));
    // One error is enough: what is broken is not said to lack columns.
    let broken = said(&with_say("say '{packets}'").replace("groupby dst_addr", "groupby dst_adr"));
    assert_eq!(broken.len(), 1, "{broken:?}");
}

#[test]
fn a_condition_in_words_names_no_query() {
    let parents = "q1: select dst_addr, count(src_addr) as n, sum(total_byte) as b, sum(ploss_byte) as lost_before, \
        avg(rtt_avg) as delay, entropy(src_port) as e, sum(total_count), avg_over(sum(total_byte), 10s) as usual \
        groupby dst_addr every 1s;";
    let words = |condition: &str| in_words(parents, condition);
    for (condition, expected) in [
        ("q1.n > 1000", "More than 1,000 sources"),
        ("q1.b >= 1.5M", "At least 1,500,000 bytes"),
        ("q1.sum(total_count) < 1", "Less than 1 packet"),
        ("q1.sum(total_count) = 0", "No packets"),
        ("q1.lost_before > 0 and q1.b <= 5", "More than 0 bytes lost before and at most 5 bytes"),
        ("q1.delay > 100ms", "Delay above 100 ms"),
        ("q1.e < 0.25", "E below 0.25 bits"),
        ("q1.b > 4 * q1.usual", "Bytes above 4 × usual"),
        (
            "q1.b > 5 or q1.n != 3 and not q1.n < 2",
            "More than 5 bytes or (not 3 sources and at least 2 sources)",
        ),
        ("surely(q1.n > 1000)", "Surely more than 1,000 sources"),
        ("q1 is missing", "No answers"),
        ("q1.dst_addr in (10.0.0.0/8, 192.0.2.1)", "Destination in 10.0.0.0/8 or 192.0.2.1"),
    ] {
        assert_eq!(words(condition), expected, "{condition}");
    }
    let long = vec!["q1.lost_before > 1000000"; 20].join(" and ");
    assert_eq!(words(&long).chars().count(), 202);
}
