//! Random words and bytes.

use crate::{CheckOptions, ExplainContext, Severity, SourceText, check, explain};
use proptest::prelude::*;

/// Words of queries that are right and wrong, one line a kind.
const WORDS: &str = "select where groupby group by having order desc limit every over when while each for until let from last to \
    in not is null between like and or as across nodes sum count distinct avg min max stddev rate quantile entropy top prev offset \
    surely missing src_addr dst_addr addr port protocol total_byte bytes total_count vlan stime duration service conversation node_id \
    smac ploss_byte gap_p99 end_reason ( ) , ; : * / + - = != < <= > >= . q1 q2 x K1 TCP https 10.0.0.0/8 2001:db8::1 \
    02:00:5e:10:00:01 5 0.5 10K 5% 10s 1min 5Mbps 'text' \"2026-11-01\" -- # ' \"";

fn judge(text: &str) {
    let source = SourceText { name: "random", text };
    let checked = check(&source, &CheckOptions::default());
    let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    assert!(errors <= 51, "{errors}");
    for found in &checked.diagnostics {
        assert!(text.get(found.span.clone()).is_some(), "{found:?}");
    }
    if errors == 0 {
        let _ = explain(&checked, &ExplainContext::default()).to_string();
    }
}

fn words() -> Vec<&'static str> {
    WORDS.split_whitespace().chain(["\n"]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testbed::cases(2000), ..ProptestConfig::default() })]

    #[test]
    fn words_in_any_order_never_panic(words in prop::collection::vec(prop::sample::select(words()), 0..40)) {
        judge(&words.join(" "));
    }

    #[test]
    fn any_text_never_panics(text in any::<String>()) {
        judge(&text);
    }

    #[test]
    fn a_query_that_is_cut_anywhere_never_panics(at in 0usize..220, insert in prop::sample::select(words())) {
        let text = "q1: select count(src_addr) as n, dst_addr/24 groupby dst_addr/24 where vlan in (1, 2) or addr = 10.0.0.1 \
                    having n > 10K order by n desc limit 5 every 10s over 1min; q2: select total_byte when q1.n > 5;";
        let at = at.min(text.len());
        judge(&text[..at]);
        judge(&format!("{} {insert} {}", &text[..at], &text[at..]));
    }
}
