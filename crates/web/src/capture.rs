//! The view of a capture.

use crate::address::PREFIX;
use archive::{CaptureFileState, StoredCapture};
use model::Capture;
use model::view::CaptureView;
use notation::encoded;

/// A capture as it is told.
pub(crate) fn capture_view(stored: StoredCapture) -> CaptureView {
    let reason = why_not(&stored);
    let StoredCapture { capture, at_ns, story, .. } = stored;
    let Capture { event, node, query, packets, bytes, file, ended_by, dropped, cut, .. } = capture;
    let href = || format!("{PREFIX}/captures/{}/{}", encoded(&event), encoded(&node));
    let href = reason.is_none().then(href);
    CaptureView {
        event,
        node,
        query,
        at_ns,
        story,
        packets,
        bytes,
        file,
        ended_by,
        dropped,
        cut,
        href,
        reason,
    }
}

/// Returns the reason why the file of a capture is not here, if it is not.
pub(crate) fn why_not(stored: &StoredCapture) -> Option<String> {
    let Capture { node, file, refused, .. } = &stored.capture;
    let at_node = || match file {
        Some(file) => format!("{node} has it: {file}"),
        None => format!("{node} may have it"),
    };
    match (stored.content, refused) {
        (CaptureFileState::Kept, _) => None,
        (_, Some(refused)) => Some(refused.clone()),
        (CaptureFileState::TooLarge, _) => Some(format!("it is too large to be sent along; {}", at_node())),
        (CaptureFileState::Dropped, _) => Some(format!("it made room for later ones; {}", at_node())),
        (CaptureFileState::None, _) => Some("nothing was captured".to_owned()),
    }
}

/// The name under which a browser stores the file: what could mean something in a header or to a file system is `_`.
pub(crate) fn file_name(event: &str, node: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let plain = |text: &str| text.chars().take(100).map(plain).collect::<String>();
    format!("{}.{}.pcapng", plain(event), plain(node))
}
