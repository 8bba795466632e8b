"""What the command lines read: captures, flow files, stores, queries, settings and datagrams. All of it is made once, by the program that is the oracle."""

import gzip
import os
import random
import re
import subprocess
from pathlib import Path

from equery_oracle import captures, generator, packets

# Real captures that are larger than this take too long for a thousand lines.
LARGEST = 64 * 1024
REAL = 120
PAGES = ["equery", "cookbook", "tour", "captures", "use"]
TASKS = [
    "heavy-hitters:key=src_addr,share=1%",
    "heavy-hitters:key=src_addr+dst_port,count=20,structure=count-min,memory=64KiB",
    "heavy-hitters:key=dst_addr,share=2%,structure=space-saving",
    "heavy-hitters:key=src_addr,by=bytes,top=5,structure=simple-hash-table,memory=64KiB",
    "heavy-hitters:key=src_addr,share=5%,prefixes=8/16/24",
    "super-spreaders:key=src_addr,of=dst_addr,count=3",
    "super-spreaders:key=dst_addr,of=src_addr,count=2,structure=spread-sketch",
    "flow-sizes:key=src_addr",
    "flow-sizes:key=src_addr+dst_addr,structure=size-array",
    "change:key=src_addr,share=5%",
    "change:key=src_addr,count=5,structure=k-ary",
    "entropy:key=src_addr",
    "entropy:key=dst_port,by=bytes",
    "entropy:memory=64KiB",
    "quantiles:key=size,at=1%/50%/99%",
    "quantiles:key=dst_port,structure=dyadic",
    "quantiles:key=size,structure=ddsketch",
]
NFDUMP = """ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt
2024-01-01 00:00:01.000,2024-01-01 00:00:02.500,1.500,10.0.0.1,192.0.2.10,50000,443,TCP,...AP.SF,0,0,10,4200,0,0
2024-01-01 00:00:03.000,2024-01-01 00:00:13.000,10.000,10.0.0.2,192.0.2.10,50001,53,UDP,........,0,0,2,140,0,0
"""


class Inputs:
    """The inputs, by kind, as paths that begin with `in/`: so each line names them, in whatever folder it runs."""

    def __init__(self, folder, program, seed, root):
        self.folder = folder
        self.program = program
        self.root = root
        draw = random.Random(f"{seed} inputs")
        made = captures.make(folder, 20, seed, program)
        self.captures = [self.linked(path, name) for name, path in made]
        self.one_receiver = {f"in/{name}.pcap" for name in captures.ONE_RECEIVER}
        self.real = self.of_test_data(draw)
        self.damaged = self.make_damaged()
        self.path_taps = self.make_path()
        self.files()
        self.recorded()
        sample = []
        for _, path in made:
            measured = [frame for frame in packets.read(path) if not frame.reason]
            sample += draw.sample(measured, min(100, len(measured)))
        drawn = generator.generate(300, seed, sample)
        self.questions = [query.text for query in drawn]
        self.blocks = self.of_pages()
        self.question_files = self.write_questions(draw)
        self.datagrams = self.of_hex()

    def path(self, name):
        return self.folder / name

    def linked(self, path, name):
        """A capture as `in/NAME.pcap`."""
        link = self.folder / f"{name if name.endswith('.pcap') else name + '.pcap'}"
        if path != link:
            link.symlink_to(path.resolve())
        return f"in/{link.name}"

    def of_test_data(self, draw):
        """Small captures of EDISON_TEST_DATA, real ones and damaged ones: a sample, and all of its cases."""
        data = os.environ.get("EDISON_TEST_DATA")
        if not data:
            return []
        kinds = (".pcap", ".pcapng", ".trace", ".gz")
        all_files = sorted(path for path in Path(data).rglob("*") if path.suffix in kinds and path.stat().st_size <= LARGEST)
        cases = [path for path in all_files if path.parent.name == "cases"]
        others = [path for path in all_files if path.parent.name != "cases"]
        chosen = cases + draw.sample(others, min(REAL, len(others)))
        names = []
        (self.folder / "real").mkdir()
        for at, path in enumerate(chosen):
            link = self.folder / "real" / f"{at}-{path.name}"
            link.symlink_to(path.resolve())
            names.append(f"in/real/{link.name}")
        return names

    def make_damaged(self):
        """Files that are no captures, or end early."""
        whole = (self.folder / "mixed.pcap").read_bytes()
        damaged = {
            "cut.pcap": whole[: len(whole) // 2 + 7],
            "cut-header.pcap": whole[:30],
            "no-magic.pcap": b"\0\0\0\0" + whole[4:],
            "length.pcap": whole[:32] + b"\xff\xff\xff\x7f" + whole[36:],
            "empty.pcap": b"",
            "text.pcap": b"This is no capture.\n",
            "none.pcap": whole[:24],
            "mixed.pcap.gz": gzip.compress(whole, mtime=0),
            "cut.pcap.gz": gzip.compress(whole, mtime=0)[:-2000],
        }
        for name, content in damaged.items():
            self.path(name).write_bytes(content)
        return [f"in/{name}" for name in damaged]

    def make_path(self):
        """The taps of a path that loses packets."""
        self.run("generate", "in/path.pcap", "--path", "connections=30,segments=40,over=12s,hops=3,lossy=2,loss=2%")
        return [f"in/path.tap{tap}.pcap" for tap in range(4)]

    def files(self):
        """Keys, settings and tables by other programs."""
        self.path("key").write_text("00112233445566778899aabbccddeeff" * 2 + "\n")
        self.path("short.key").write_text("0011\n")
        self.path("nfdump.csv").write_text(NFDUMP)
        self.path("wrong.toml").write_text('evry = "1s"\n')
        self.path("wrong-value.toml").write_text('every = "soon"\n')
        self.path("no.toml").write_text("every = [\n")
        self.path("probe.toml").write_text('broker = "amqp://edison@127.0.0.1:9"\nnode = "Node1"\ninterface = ["nosuch0"]\nevery = "1s"\n')
        self.path("controller.toml").write_text('broker = "amqp://edison@127.0.0.1:9"\nevry = "1s"\n')

    def recorded(self):
        """Flow records in each format, window rows and stores."""
        more = {"mixed": [], "generated_handshakes": ["--loss"], "long_flows": ["--active-timeout", "20s", "--idle-timeout", "5s"]}
        self.flow_files, self.row_files, self.stores = [], [], []
        for capture, options in more.items():
            for suffix in ("csv", "jsonl", "parquet", "ipfix"):
                name = f"in/{capture}.flows.{suffix}"
                self.run("run", f"in/{capture}.pcap", "--flows", name, "--json", *options)
                self.flow_files.append(name)
            name = f"in/{capture}.rows.parquet"
            self.run("run", f"in/{capture}.pcap", "--rows", name, "--every", "1s", "--json", *options)
            self.row_files.append(name)
        self.run("run", "Node1=in/path.tap1.pcap", "Node2=in/path.tap2.pcap", "--rows", "in/nodes.rows.parquet", "--every", "1s", "--loss", "--json")
        # Each node has a file of its own.
        self.row_files += sorted(f"in/{path.name}" for path in self.folder.glob("nodes.rows*.parquet"))
        for name, words in {
            "one.store": ["in/mixed.pcap"],
            "gaps.store": ["in/gaps.pcap"],
            "nodes.store": ["Node1=in/path.tap1.pcap", "Node2=in/path.tap2.pcap", "--loss"],
        }.items():
            self.run("run", *words, "--store", f"in/{name}", "--every", "1s", "--json")
            self.stores.append(f"in/{name}")
        whole = self.path("mixed.flows.parquet").read_bytes()
        self.path("cut.flows.parquet").write_bytes(whole[: len(whole) // 2])
        lines = self.path("mixed.flows.csv").read_text().splitlines(keepends=True)
        self.path("damaged.flows.csv").write_text("".join([*lines[:20], "x,y\n", *lines[20:40]]))
        lines = self.path("mixed.flows.jsonl").read_text().splitlines(keepends=True)
        self.path("damaged.flows.jsonl").write_text("".join([*lines[:20], "{\n", *lines[20:40]]))
        self.damaged_flows = ["in/cut.flows.parquet", "in/damaged.flows.csv", "in/damaged.flows.jsonl", "in/empty.pcap", "in/text.pcap"]

    def of_pages(self):
        """The blocks of Equery on the pages of the documentation."""
        blocks = []
        for page in PAGES:
            text = (self.root / "docs" / f"{page}.md").read_text()
            blocks += re.findall(r"^```equery[^\n]*\n(.*?)^```$", text, re.M | re.S)
        return blocks + [path.read_text() for path in sorted((self.root / "examples").glob("*.eq"))]

    def write_questions(self, draw):
        """Files of queries: those of the pages, random ones, and some that are wrong."""
        names = []
        for at, block in enumerate(self.blocks):
            self.path(f"page{at}.eq").write_text(block)
            names.append(f"in/page{at}.eq")
        for at in range(20):
            texts = draw.sample(self.questions, draw.randrange(1, 5))
            self.path(f"random{at}.eq").write_text("".join(f"q{number}: {text};\n" for number, text in enumerate(texts)))
            names.append(f"in/random{at}.eq")
        return names

    def of_hex(self):
        """Datagrams of routers: files whose lines are a sender and bytes in hexadecimal."""
        data = os.environ.get("EDISON_TEST_DATA")
        files = sorted((Path(data) / "cases").glob("*.hex")) if data else []
        # A file of more datagrams takes seconds to send.
        return [path for path in files if len(path.read_text().splitlines()) <= 100]

    def text(self, name):
        """The text of a file that a line names."""
        return (self.folder.parent / name).read_text()

    def run(self, *words):
        """Has the oracle make an input. It must succeed."""
        place = self.folder.parent
        environment = {"PATH": os.environ["PATH"], "TZ": "UTC", "EDISON_SEED": "1"}
        done = subprocess.run([self.program, *words], cwd=place, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
        if done.returncode:
            raise SystemExit(f"same-answers: '{' '.join(words)}' makes no input: {done.stderr.strip()}")
