//! A decoder's panics over damaged files are errors, and print nothing. The hook is that of the process: the test runs alone in one.

use crate::sample;
use flow::RowValue;
use record::read::{FlowFile, Wanted};
use record::{Format, Parts, Selection};
use std::cell::Cell;
use std::panic::{catch_unwind, set_hook};
use std::path::Path;
use testbed::process::alone;

thread_local! {
    static PRINTED: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn panics_of_the_decoder_print_nothing_and_others_still_do() {
    alone(|| {
        set_hook(Box::new(|_| PRINTED.set(PRINTED.get() + 1)));
        let bytes = sample::Bytes::default();
        let selection = Selection::parse("src_addr,total_count", &Parts::default()).unwrap();
        let mut writer = Format::Parquet.writer(Box::new(bytes.clone()), "node", &selection).unwrap();
        writer.write(&sample::records(20)).unwrap();
        writer.finish().unwrap();
        let whole = bytes.take();
        let wanted =
            Wanted { members: vec!["src_addr"], columns: vec![RowValue::Packets], ..Wanted::default() };
        let mut panics = 0;
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                let mut error = None;
                match FlowFile::of_bytes(Path::new("flows.parquet"), damaged) {
                    Ok(mut file) => {
                        for part in 0..file.contents().parts.len() {
                            error = error.or(file.read_part(part, &wanted, &mut |_| true).err());
                        }
                    }
                    Err(refused) => error = Some(refused),
                }
                let text = error.map(|error| error.to_string()).unwrap_or_default();
                panics += u32::from(text.contains("breaks the rules of its format"));
            }
        }
        assert!(panics > 0, "no damage makes the decoder panic: the guard is not needed any more");
        assert_eq!(PRINTED.get(), 0);
        catch_unwind(|| panic!("of another kind")).unwrap_err();
        assert_eq!(PRINTED.get(), 1);
    });
}
