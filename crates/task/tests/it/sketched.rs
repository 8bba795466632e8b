//! Answers of tasks that answer queries have the queries' names and columns, also where there was nothing to count.

use crate::support::{Packet, answer, stream};
use arena::Limits;
use model::{AnswerStatus, Class, Value};
use packet::{KeySpec, Seed};
use task::query::{Aggregate, Expression, GroupField, OutputColumn, Query, ValueWeight};
use task::rows::PlanContext;
use task::sketched::{Counting, task_of};
use task::{Generation, RunProperties, Size, TaskRows, TaskRunner, TaskSet, Tasks, WindowId};

fn planned() -> Tasks {
    let bytes = Query::new("most", [GroupField::from_field("dst_addr")], [OutputColumn::sum("total_byte")]);
    let columns =
        vec![OutputColumn::new("b", bytes.columns[1].value.clone()), OutputColumn::field("dst_addr")];
    let entropy =
        Aggregate::Entropy(GroupField::from_field("dst_port"), ValueWeight::Sum("total_count".to_owned()));
    let queries = [
        Query { columns, ..bytes },
        Query::new("bits", [], [OutputColumn::new("even", Expression::Aggregate(entropy))]),
    ];
    let counting = Counting {
        structure: None,
        size: Size::Memory(64 << 10),
        depth: None,
        width: None,
        packets: Some(1_000),
    };
    let specs = queries.map(|query| task_of(&query, &counting, &KeySpec::FIVE_TUPLE).expect("a task"));
    let setting = RunProperties {
        key: KeySpec::FIVE_TUPLE,
        is_paired: false,
        packets: None,
        workers: 1,
        scatters: false,
        shares: false,
        seed: Seed::new(1),
    };
    Tasks::plan(&specs, &setting).expect("structures")
}

#[test]
fn a_window_without_packets_has_answers() {
    let mut desk = TaskRunner::new(planned(), 1);
    let answers = desk.report(WindowId::default(), Some(0));
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.into_answer(None)).collect();
    let [most, bits] = &answers[..] else { panic!("{answers:?}") };
    let names = |answer: &model::Answer| -> Vec<String> {
        answer.columns.iter().map(|column| column.name.clone()).collect()
    };
    assert_eq!((most.query.as_str(), names(most)), ("most", vec!["b".to_owned(), "dst_addr".to_owned()]));
    assert_eq!((most.rows.len(), most.status, most.class), (0, AnswerStatus::Complete, Class::Sketch));
    assert_eq!((bits.query.as_str(), names(bits)), ("bits", vec!["even".to_owned()]));
    assert_eq!(bits.rows, [vec![Value::Null]], "a query without groups has one row");
}

/// Where nothing was counted, no group has anything, whatever the structure knows of groups that it does not list.
#[test]
fn a_window_without_packets_lacks_no_group() {
    for structure in ["k-ary", "count-sketch", "count-min", "mv-sketch", "exact"] {
        let text = format!("heavy-hitters:structure={structure},count=30,memory=64KiB");
        let most = |packets: &[Packet]| {
            let TaskRows::Flows { most_unlisted, .. } = answer(&text, packets).rows else { panic!("{text}") };
            most_unlisted
        };
        assert_eq!(most(&[]), Some(0), "{text}");
        let knows = !matches!(structure, "k-ary" | "count-sketch" | "mv-sketch");
        assert_eq!(most(&stream(1, 500)).is_some(), knows, "{text}");
    }
}

#[test]
fn runs_of_empty_windows_have_answers_without_rows() {
    let site = PlanContext::new(KeySpec::FIVE_TUPLE, Seed::new(1), Limits::new(1 << 20, 1));
    let set = TaskSet::plan(Generation::new(1), &[], Some(planned()), &site).expect("a set");
    let answers: Vec<_> = set.empty_answers().collect();
    let names: Vec<_> = answers.iter().map(|answer| (answer.query.as_str(), answer.rows.len())).collect();
    assert_eq!(names, [("most", 0), ("bits", 0)]);
    assert!(answers.iter().all(|answer| answer.class == Class::Sketch));
}
