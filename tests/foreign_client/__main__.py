"""tests/foreign_client STEP …: a client of the broker that is none of Edison's, with the rights of a probe. `tests/it/foreign_client.rs` calls it.
It prints what it did as one JSON object: how often the broker refused it, by name, and how often the controller has to."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True

import virtual_environment  # noqa: E402

virtual_environment.enter(ROOT, "foreign-client", ["pika==1.3.2", "zstandard==0.23.0"])

from foreign_client.main import main  # noqa: E402

sys.exit(main())
