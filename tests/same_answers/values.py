"""Values of options: by the option's name what the program takes, and by the kind of the value what it refuses.

An option of the program that has no entry here ends the comparison with a line that names it: a new option is not forgotten.
"""

from .inputs import TASKS

KEYS = ["src_addr", "src_addr,dst_addr", "src_addr/24/64", "src_addr/24/64,dst_port", "dst_addr,protocol", "src_addr,dst_addr,protocol,src_port,dst_port", "dst_port"]
FIELDS = [
    "src_addr,dst_addr,total_count,total_byte",
    "stime,ltime,src_addr,src_port,wire_byte",
    "protocol,ip_ttl,ip_tos,tcp_flags,vlan,end_reason",
    "node_id,smac,dmac,tcp_seq,tcp_ack,tcp_win,total_count",
    "src_addr,flow_label,ip_ttl_min,ip_ttl_max",
]
BY = ["src_addr", "dst_addr", "src_addr/24", "dst_port", "src_addr,dst_port", "protocol", "conversation", "service", "port", "addr/16", "vlan"]
SORT = ["bytes", "packets", "flows", "count(src_addr)", "count(dst_addr)", "sum(wire_byte)", "max(total_byte)"]
STATISTICS = ["mean", "mean,stddev", "p50", "mean,p50,p99.9", "stddev,p5,p95"]
FILTERS = ["tcp", "udp", "not tcp", "tcp port 443", "host 10.0.0.1", "net 10.0.0.0/8 and udp", "ip6", "greater 500", "vlan", "icmp or icmp6", "src net 192.0.2.0/24"]
SPECS = [
    "packets=2k,flows=200,seed=1",
    "packets=3k,flows=500,zipf=uniform,ipv6=30%",
    "packets=4k,flows=300,rate=500,size=64:7/594:4/1518:1",
    "packets=3k,flows=100,tcp=handshake:5,plant=loss:connections=3:segments=50",
    "packets=5k,flows=1k,plant=flood:sources=100/scan:targets=50/elephant,snap=96",
    "packets=2k,flows=50,zipf=1.5,start=1704067203.25,rate=200",
]
PATHS = ["hops=2,lossy=1,loss=2%,connections=5,segments=20", "hops=3,lossy=2,loss=1%,connections=4,segments=30,over=5s", "hops=1,lossy=1,connections=3,segments=10"]

# Options that need what is not here: an interface, a card, a broker, a server. Their values are refused, or the build lacks them.
ELSEWHERE = {
    "--interface": ["nosuch0"],
    "--port": ["0000:ff:1f.7", "net_nosuch0"],
    "--eal": ["--no-such-argument", ""],
    "--export": ["ipfix://", "http://127.0.0.1:9", "ipfix://nowhere.invalid:4739"],
    "--kafka": ["127.0.0.1:9", "nowhere"],
    "--kafka-topics": ["edison", ""],
    "--kafka-rows": [None],
    "--kafka-wait": ["1s", "soon"],
    "--alertmanager": ["ftp://127.0.0.1", "nowhere"],
    "--alertmanager-label": ["severity=page", "=x"],
    "--alertmanager-page": ["http://127.0.0.1:8080", "x"],
    "--alertmanager-credentials": ["in/missing"],
    "--alertmanager-ca": ["in/missing.pem"],
    "--web": ["nowhere", "127.0.0.1:99999"],
    "--site": ["Chicago", "Chicago, IL", "x=Chicago", ""],
    "--at": ["41.88,-87.63", "-33.86,151.2", "91,0", "x=0,0", "NaN,0"],
    "--geo": ["in/missing.mmdb", "in/text.pcap"],
    "--controller": ["http://127.0.0.1:9", "ftp://127.0.0.1", "nowhere"],
    "--kind": ["fired", "burnt"],
    "--exec": ["true", "no-such-program", "a 'b", ""],
    "--exec-jobs": ["1", "0"],
    "--exec-time": ["1s", "never"],
    "--webhook": ["http://127.0.0.1:9/", "nowhere"],
    "--webhook-token-file": ["in/missing", "in/key"],
    "--webhook-ca": ["in/missing.pem", "in/text.pcap"],
    "--token-file": ["in/missing", "in/key"],
    "--ca": ["in/missing.pem", "in/text.pcap"],
    "--engine": ["duckdb", "oracle"],
    "--engine-url": ["http://127.0.0.1:9", "nowhere"],
    "--engine-program": ["in/missing"],
    "--engine-time": ["1s", "never"],
    "--engine-login": ["in/missing"],
    "--nodes": ["Node1", "Node1,Node2"],
    "--time": ["1s", "0s"],
    "--adapt": ["loss=0.1%", "loss=x", "gain=1%"],
    "--queues": ["2", "0"],
    "--tx": ["nosuch0", "lo"],
    "--rx": ["nosuch0", "lo"],
    "--link": ["1Mpps", "fast"],
    "--tests": ["latncy", "throughput"],
    "--sizes": ["63", "64,1518"],
    "--trial": ["0s", "1s"],
    "--latency-trial": ["0s", "1s"],
    "--latency-repeats": ["0", "2"],
    "--burst-repeats": ["0", "2"],
    "--tolerance": ["101%", "1%"],
    "--resolution": ["0%", "1%"],
    "--loss-step": ["0%", "50%"],
    "--settle": ["1ms", "100ms"],
    "--pause": ["0s", "1ms"],
    "--src-mac": ["02:00", "02:00:00:00:00:05"],
    "--dst-mac": ["ff:ff:ff:ff:ff:ff", "02:00:00:00:00:06"],
    "--next-hop": ["x", "02:00:00:00:00:07"],
    "--src-addr": ["::1", "198.18.0.9"],
    "--dst-addr": ["::1", "198.19.0.9"],
    "--router-addr": ["x", "198.19.0.1"],
    "--mempool": ["1023", "0"],
    "--host": ["localhost", ""],
    "--config": ["in/missing.toml", "in/wrong.toml", "in/wrong-value.toml", "in/no.toml", "in/probe.toml", "in/controller.toml"],
    "--no-promiscuous": [None],
    "--rate": ["10kpps", "fast"],
    "--from": ["192.0.2.0/24", "nowhere"],
    # Names of addresses come from the network.
    "--resolve": [],
}

# What the program takes. `--from` and `--to` of a query are times.
GOOD = {
    "--read": ["in/mixed.pcap", "in/gaps.pcap"],
    "--synthetic": SPECS,
    "--wire": ["queues=1", "queues=2", "queues=1,packets=3k"],
    "--every": ["1s", "5s", "10s", "20s", "1min", "500p", "1kp"],
    "--top": ["0", "1", "3", "5", "20", "100"],
    "--key": KEYS,
    "--loss": [None],
    "--headers": [None],
    "--task": TASKS,
    "--by": BY,
    "--sort": SORT,
    "--per": ["1s", "10s", "1min"],
    "--set": ["K1=10", "K2=1", "Rate=5", "Sources=3", "Tolerated=0"],
    "--tunnel": ["outer", "inner"],
    "--flows": ["f.csv", "f.jsonl", "f.parquet", "f.ipfix", "-"],
    "--report": ["r.json", "-"],
    "--json": [None],
    "--fields": FIELDS,
    "--rows": ["rows.parquet"],
    "--store": ["kept"],
    "--store-keep": ["rows=1d", "rows=1h,flows=7d", "flows=0", "1min=1d,1h=2y,size=1G"],
    # By time, a replay's files begin where the thread that writes is just then: seed 3, line 359 of 5s told it. By size they do not.
    "--rotate": ["20KiB", "5KiB"],
    "--anonymize": ["in/key"],
    "--captures": ["packets"],
    "--capture-bytes": ["1MiB", "2KiB"],
    "--capture-snap": ["headers", "64", "1514"],
    "--capture-rate": ["10", "10k"],
    "--node": ["NodeX", "Node1", "a-b_c.d"],
    "--packets": ["1", "100", "1k", "1M"],
    "--duration": ["1s", "7s", "1h"],
    "--cores": ["1", "2", "0,1"],
    "--memory": ["256MiB", "1GiB"],
    "--idle-exit": ["10s"],
    "--max-flows": ["1", "10", "100", "100k"],
    "--idle-timeout": ["off", "1s", "5s", "30s"],
    "--active-timeout": ["off", "2s", "10s", "5min"],
    "--biflow": [None],
    "--gap": STATISTICS,
    "--packet-size": STATISTICS,
    "--inter-arrival": STATISTICS,
    "--design": ["rss", "sync", "async", "pipeline", "cooperative", "1x1", "1x2", "1x3", "2x1"],
    "--tee": ["15%", "0.5", "100%"],
    "--split": ["hash", "position"],
    "--state": ["separate", "shared"],
    "--burst": ["1", "32", "64", "256"],
    "--ring": ["64", "1024"],
    "--preset": ["wu", "ares", "flowatcher"],
    "--seed": ["1", "7", "12345"],
    "--diff": [],
    "--to": ["2024-01-01 00:00:20", "2024-01-01T00:00:30Z", "2024-01-02"],
    "--answers": [None],
    "--sql": ["duckdb", "clickhouse", "spark"],
    "--sampling": ["10", "1000"],
    "--wait": ["1s", "5s"],
    "--truth": ["t.json"],
    "--path": PATHS,
    "--replace": [None],
    "--interval": ["1s"],
    "--query": [],
    "--file": [],
}
OF_COMMAND = {
    ("query", "--from"): ["2024-01-01", "2024-01-01 00:00:05", "2024-01-01T00:00:10Z"],
    ("dry-run", "--from"): ["2024-01-01", "2024-01-01 00:00:05"],
    ("events", "--query"): ["a"],
    ("watch", "--query"): ["a"],
}

# What no option of this kind takes, by the name of its value.
BAD = {
    "TIME": ["", "0s", "-1s", "10", "5parsecs", "99999999999h", "1e3s"],
    "TIME|PACKETSp": ["", "0s", "0p", "-1s", "10", "1.5p", "5parsecs", "99999999999h"],
    "TIME|SIZE|hup": ["", "0s", "hop", "-5"],
    "SIZE": ["", "0", "-1", "12XB", "1B", "99999999999999999999GiB"],
    "N": ["-1", "x", "1.5", "99999999999999999999", ""],
    "N|LIST": ["-1", "x", "0-", "3-1", "1,1", "9999", ""],
    "FIELDS": ["", "src_adr", "src_addr/33/129", "src_addr,src_addr", "totals", "srcip"],
    "LIST": ["", "src_adr", "p101", "mean,mean", "median", "stime,stime"],
    "ITEM": ["", "byte", "sum(", "count(src_adr)", "sum(src_addr)"],
    "TEXT": ["", "select", "select total_byt", "select count(*) groupby", "select src_addr where", "select top(src_addr) when a.b > 1", "selct count(*)"],
    "FILE": ["in/missing", "in", ""],
    "KEYFILE": ["in/missing", "in/short.key", "in"],
    "PATH": ["f.txt", "nowhere/f.csv", "in", "f"],
    "DIR": ["in/key", "nowhere/deep/folder", ""],
    "SPEC": ["packts=1", "", "packets=0", "heavy-hiters:key=src_addr", "entropy:key=src_adr", "queues=0", "packets=1k,packets=1k"],
    "NAME=VALUE": ["K1", "=1", "K1=", "1=2"],
    "NAME": ["", "a/b", "a b"],
    "WHICH": ["both", ""],
    "DESIGN": ["rs", "0x1", "2x", "1x999", ""],
    "SHARE": ["0", "101%", "x", "-5%"],
    "hash|position": ["hsh", ""],
    "separate|shared": ["shard", ""],
    "KEY=TIME,…": ["rows", "rows=x", "row=1d", "size=1s"],
    "BYTES|headers": ["header", "0", "-1"],
    "ENGINE": ["sqlite", ""],
    "RATE": ["fast", "0pps", ""],
}


def missing(helps):
    """The options of the program that have no values here."""
    return [
        f"{option} of {command}"
        for command, options in helps.items()
        for option in options
        if option not in GOOD and option not in ELSEWHERE and (command, option) not in OF_COMMAND
    ]


def good(command, option):
    """Values that the program takes; none where there are none."""
    return OF_COMMAND.get((command, option)) or GOOD.get(option) or ()


def bad(option):
    """Values that the program refuses: those of the kind, and those of what is not here."""
    names = option.values.strip(" =[]<>")
    return BAD.get(names, []) + [value for value in ELSEWHERE.get(option.long, []) if value is not None]
