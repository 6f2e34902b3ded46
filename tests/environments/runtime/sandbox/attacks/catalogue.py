"""The hostile tools of the attack suite that are told by their outcome alone."""

from tests.environments.runtime.sandbox.attacks.model import (
    ABSENT,
    BIG,
    CRASH,
    FAILED,
    KILLED,
    PROTOCOL,
    REFUSED,
    SLOW,
    VIOLATION,
    Attack,
)

NONE = frozenset({"none"})
LIVE = SLOW | CRASH | frozenset({"none"})

ATTACKS: tuple[Attack, ...] = (
    Attack(1, "open /etc/passwd with the real open", "return attempt(lambda: OPEN('/etc/passwd').read(10))", REFUSED),
    Attack(
        2,
        "own /proc entries",
        "return attempt(*[lambda p=p: OPEN('/proc/self/' + p).read(10) for p in ('environ', 'mem', 'maps')])",
        REFUSED,
    ),
    Attack(
        3,
        "the host's /proc entries",
        "return attempt(*[lambda p=p: OPEN(f'/proc/{host}/{p}').read(10) for p in ('environ', 'mem', 'cmdline')])",
        REFUSED,
    ),
    Attack(
        4,
        "secrets in the environment",
        """
left = set(os.environ) - {"PYTHONHASHSEED", "LC_ALL", "TZ", "LC_CTYPE"}
LIBC.getenv.restype = C.c_char_p
left |= {n for n in ("DJANGO_SECRET_KEY", "DATABASE_URL") if LIBC.getenv(n.encode()) is not None}
environ = C.POINTER(C.c_char_p).in_dll(LIBC, "environ")
index = 0
while environ[index]:
    name = environ[index].split(b"=")[0].decode()
    left |= {name} - {"PYTHONHASHSEED", "LC_ALL", "TZ", "LC_CTYPE"}
    index += 1
return " ".join(sorted(left)) or "none"
""",
        NONE,
    ),
    Attack(
        5,
        "the host's secret among all objects and in the heap",
        """
mark = "".join(("cana", "ry-"))
found = []
for thing in gc.get_objects():
    values = list(thing.values()) if type(thing) is dict else list(thing) if type(thing) in (list, tuple, set) else []
    found += [1 for v in values if type(v) in (str, bytes) and mark in (v if type(v) is str else v.decode("latin-1"))
              and len(v) > len(mark)]
low = id(found) & ~0xFFFFF
raw = C.string_at(low, 1 << 16) if low else b""
return "none" if not found and mark.encode() not in raw else "FOUND"
""",
        NONE | CRASH,
    ),
    Attack(
        6,
        "folders",
        "return attempt(lambda: os.listdir('/'), lambda: os.stat('/root'), lambda: os.chdir('/tmp'), "
        "lambda: os.mkdir('/tmp/' + MARK), lambda: os.chroot('/'))",
        REFUSED,
    ),
    Attack(
        7,
        "create and append files",
        "return attempt(*[lambda p=p, m=m: OPEN(p + '/' + MARK, m).write('x') "
        "for p in ('/tmp', '/dev/shm', '.') for m in ('w', 'a')], lambda: syscall(319, b'efx_attack', 0))",
        REFUSED,
    ),
    Attack(
        8,
        "links and renames",
        "a, b = '/etc/passwd', '/tmp/' + MARK\n"
        "return attempt(lambda: os.symlink(a, b), lambda: os.link(a, b), lambda: os.rename(a, b), lambda: OPEN(b))",
        REFUSED,
    ),
    Attack(
        9,
        "TCP to a listener",
        "return attempt(lambda: _socket.socket(2, 1).connect(('127.0.0.1', tcp)), lambda: syscall(41, 2, 1, 0))",
        REFUSED,
    ),
    Attack(
        10,
        "UDP and names",
        "first = attempt(lambda: _socket.socket(2, 2).sendto(b'x', ('127.0.0.1', udp)), lambda: syscall(41, 2, 2, 0), "
        "lambda: syscall(41, 16, 3, 0))\n"
        "names = attempt(lambda: _socket.getaddrinfo('example.invalid', 80))\n"
        "return first if names in ('gaierror', 'PermissionError', 'UnicodeError') else names",
        REFUSED,
    ),
    Attack(
        11,
        "Unix sockets",
        "return attempt(lambda: _socket.socket(1, 1).connect('/var/run/docker.sock'), "
        "lambda: _socket.socket(1, 1).connect(b'\\0efx_attack'), lambda: _socket.socketpair())",
        REFUSED,
    ),
    Attack(
        12,
        "twenty forks, vfork, clone, clone3",
        "def fork():\n    if os.fork() == 0:\n        os._exit(0)\n"
        "many = attempt(*[fork] * 20, lambda: syscall(58), lambda: syscall(56, 17, 0, 0, 0, 0))\n"
        "return many if attempt(lambda: syscall(435, 0, 0)) in ('OSError', 'PermissionError') else 'CLONE3'",
        REFUSED,
    ),
    Attack(
        13,
        "programs",
        "code = os.system('touch /tmp/' + MARK)\n"
        "if code == 0:\n    return 'RAN'\n"
        "return attempt(lambda: os.posix_spawn('/bin/true', ['true'], {}), lambda: os.execve('/bin/sh', ['sh'], {}))",
        REFUSED,
    ),
    Attack(
        14,
        "signals to others",
        "return attempt(lambda: os.kill(host, 9), lambda: os.kill(-1, 9), lambda: os.kill(1, 0), "
        "lambda: os.killpg(host, 9), lambda: syscall(234, host, host, 9), lambda: syscall(129, host, 9, 0))",
        REFUSED,
    ),
    Attack(15, "a null pointer", "return C.string_at(0)", CRASH),
    *(
        Attack(16, name, f"return attempt(lambda: syscall({number}, host, 0, 0, 0, 0, 0))", VIOLATION)
        for name, number in (
            ("ptrace", 101),
            ("process_vm_readv", 310),
            ("bpf", 321),
            ("io_uring_setup", 425),
            ("userfaultfd", 323),
            ("unshare", 272),
            ("setns", 308),
        )
    ),
    Attack(17, "an x32 number", "return attempt(lambda: syscall(0x40000002, b'/etc/passwd', 0))", VIOLATION),
    Attack(17, "an unknown number", "return attempt(lambda: syscall(1000), lambda: syscall(599))", REFUSED),
    Attack(
        17,
        "32-bit machine code",
        "LIBC.mmap.restype = C.c_long\n"
        "where = LIBC.mmap(0, 4096, 7, 0x22, -1, 0)\n"
        "if where == -1:\n    raise SystemExit\n"
        "C.memmove(where, b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3', 8)\n"
        "return C.CFUNCTYPE(C.c_long)(where)()",
        FAILED,
    ),
    Attack(
        18,
        "writable and executable memory",
        "return attempt(lambda: syscall(9, 0, 4096, 7, 0x22, -1, 0), lambda: syscall(9, 0, 4096, 5, 0x22, -1, 0), "
        "lambda: syscall(10, id(host) & ~4095, 4096, 7))",
        REFUSED,
    ),
    Attack(
        18,
        "writing into code",
        "C.memmove(C.cast(LIBC.getpid, C.c_void_p).value, b'\\xc3', 1)\nreturn 'WRITTEN'",
        CRASH,
    ),
    Attack(
        19,
        "root and limits again",
        "return attempt(lambda: os.setresuid(0, 0, 0), lambda: os.setgroups([0]), "
        "lambda: syscall(302, 0, 9, 0, 0), lambda: syscall(160, 9, 0), lambda: syscall(317, 1, 0, 0), "
        "lambda: syscall(157, 38, 0, 0, 0, 0), lambda: syscall(126, 0, 0))",
        REFUSED,
    ),
    Attack(20, "4 GB at once", "return attempt(lambda: bytearray(4 << 30), lambda: ('x' * 10**6) * 10**6)", BIG),
    Attack(20, "a growing list", "x = []\nwhile True:\n    x.append('a' * 1000000 + str(len(x)))", BIG),
    Attack(20, "a growing tree", "x = {}\nwhile True:\n    x = {i: x.copy() for i in range(50)}", BIG),
    Attack(21, "for ever", "while True:\n    pass", SLOW),
    Attack(
        21,
        "for ever, catching everything",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        KILLED,
    ),
    Attack(21, "for ever, timer disarmed", "signal.setitimer(signal.ITIMER_REAL, 0)\nwhile True:\n    pass", KILLED),
    Attack(
        21,
        "for ever, signal ignored",
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass",
        KILLED,
    ),
    Attack(22, "a catastrophic pattern", "return bool(re.match('(a|aa)+$', 'a' * 60 + 'b'))", SLOW),
    Attack(22, "a sum in C", "return sum(range(10**11))", KILLED),
    Attack(22, "digits", "sys.set_int_max_str_digits(0)\nreturn int('9' * 3000000) % 7", SLOW),
    Attack(22, "a power", "return 7 ** (10**8) % 3", SLOW | BIG),
    Attack(
        22,
        "an evil key",
        "class K:\n    def __lt__(self, other):\n        while True:\n            pass\nreturn sorted([K(), K()])",
        SLOW,
    ),
    Attack(23, "sleep", "return attempt(lambda: IMP('time').sleep(10**6))", REFUSED),
    Attack(
        23,
        "wait without using time",
        "signal.setitimer(signal.ITIMER_REAL, 0)\n"
        "lock = IMP('_thread').allocate_lock()\nlock.acquire()\nlock.acquire()\nreturn 'WAITED'",
        CRASH | KILLED,
    ),
    Attack(
        23,
        "wait for signals and descriptors",
        "return attempt(lambda: signal.sigwait([10]), lambda: syscall(34), lambda: syscall(7, 0, 0, 10**6), "
        "lambda: syscall(23, 0, 0, 0, 0, 0), lambda: syscall(202, C.byref(C.c_int(0)), 0, 0, 0, 0, 0))",
        REFUSED,
    ),
    Attack(24, "recursion", "def f(n):\n    return f(n + 1)\nreturn f(0)", FAILED),
    Attack(
        24,
        "recursion in C",
        "sys.setrecursionlimit(10**9)\nclass X:\n    def __repr__(self):\n        return repr(self)\nreturn repr(X())",
        CRASH | FAILED,
        is_poison=True,
    ),
    Attack(24, "nested JSON", "return attempt(lambda: json.loads('[' * 200000))", frozenset({"RecursionError"})),
    Attack(
        25,
        "threads",
        "return attempt(lambda: IMP('_thread').start_new_thread(lambda: None, ()))",
        frozenset({"RuntimeError", "error"}),
    ),
    Attack(25, "an event loop", "return attempt(lambda: IMP('asyncio').new_event_loop())", REFUSED | ABSENT),
    Attack(
        26,
        "a signal handler",
        "signal.signal(signal.SIGALRM, lambda *a: None)\nreturn 'none'",
        frozenset({"HarnessTampered"}),
        NONE,
    ),
    Attack(26, "no collector", "gc.disable()\nreturn 'none'", frozenset({"HarnessTampered"}), NONE),
    Attack(
        26,
        "a trace function",
        "sys.settrace(lambda *a: None)\nreturn 'none'",
        frozenset({"HarnessTampered"}),
        NONE,
    ),
    Attack(
        26,
        "things that go off later",
        "class Bomb:\n    def __del__(self):\n        OPEN('/tmp/' + MARK, 'w')\n"
        "def later():\n    OPEN('/tmp/' + MARK, 'w')\n"
        "if 'atexit' in sys.modules:\n    sys.modules['atexit'].register(later)\n"
        "_here.bomb = Bomb()\nIMP('json').bomb = Bomb()\nreturn 'none'",
        NONE,
        is_poison=True,
    ),
    Attack(
        27,
        "the harness itself",
        "s = sys.modules['environments.runtime.sandbox.serve']\n"
        "f = sys.modules['environments.runtime.sandbox.frames']\n"
        "old = f.from_record\n"
        'lie = lambda r, *more: f.Recorded(r.status, None, \'{"outcome":"pwned"}\', (), r.reads, r.writes, '
        "r.condition_reads, 0.0)\n"
        "f.from_record = lie\nIMP('json').dumps = lambda *a, **k: '\"pwned\"'\nIMP('orjson')\nreturn 'none'",
        NONE | frozenset({"pwned"}),
        is_poison=True,
    ),
    Attack(30, "60 MB", "return 'x' * (60 << 20)", FAILED | BIG),
    Attack(30, "a long list", "return [0] * 20000000", FAILED | BIG),
    Attack(30, "a generator", "return (i for i in iter(int, 1))", FAILED),
    Attack(30, "a list in itself", "x = []\nx.append(x)\nreturn x", FAILED | BIG),
    Attack(30, "no number", "return float('nan')", FAILED),
    Attack(30, "a large integer", "return 2**70", FAILED),
    Attack(30, "half a character", "return '\\ud800'", FAILED),
    Attack(30, "bytes", "return b'x'", FAILED),
    Attack(
        30,
        "an object with traps",
        "class E(str):\n    def __str__(self):\n        while True:\n            pass\n"
        "    __iter__ = __repr__ = __str__\n"
        "return E()",
        FAILED | SLOW,
    ),
    Attack(31, "100 MB printed", "for _ in range(1000):\n    print('x' * 100000)\nreturn 'none'", NONE | BIG),
    Attack(
        31,
        "100 MB to descriptors 1 and 2",
        "done = 0\n"
        "for d in (1, 2):\n"
        "    for _ in range(50):\n"
        "        try:\n            os.write(d, b'x' * (1 << 20))\n"
        "        except OSError:\n            done += 1\n"
        "return 'none'",
        NONE,
    ),
    Attack(
        32,
        "a huge message",
        "class E(Exception):\n    def __str__(self):\n        return 'y' * (1 << 28)\nraise E",
        FAILED | BIG,
    ),
    Attack(
        32,
        "a message without end",
        "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\nraise E",
        SLOW,
    ),
    Attack(33, "SystemExit", "raise SystemExit(0)", FAILED),
    Attack(33, "KeyboardInterrupt", "raise KeyboardInterrupt", FAILED),
    Attack(33, "os._exit(0)", "os._exit(0)", CRASH),
    Attack(33, "abort", "os.abort()", CRASH),
    Attack(
        34, "garbage on the channel", "for d in channels():\n    os.write(d, b'\\xff' * 64)\nreturn 'none'", PROTOCOL
    ),
    Attack(
        34,
        "a huge length",
        "for d in channels():\n    os.write(d, (1 << 30).to_bytes(4, 'little') + b'x')\nreturn 'none'",
        PROTOCOL,
    ),
    Attack(34, "closing the channel", "return attempt(*[lambda d=d: os.close(d) for d in channels()])", REFUSED),
    Attack(
        34,
        "stealing the next frame",
        "signal.setitimer(signal.ITIMER_REAL, 0)\nreturn [len(os.read(d, 1000)) for d in channels()]",
        KILLED,
        FAILED,
    ),
    Attack(
        35,
        "descriptors",
        "many = attempt(*[lambda: os.dup(0)] * 64, lambda: os.dup2(0, 9), os.pipe, lambda: os.fstat(3))\n"
        "return many if len(channels()) == 1 else f'{channels()} are open'",
        REFUSED,
    ),
    Attack(
        36,
        "files through SQLite, guard removed",
        "c = [c for c in apsw.connections()][-1]\n"
        "c.authorizer = None\nc.limit(7, 10)\n"
        "where = '/tmp/' + MARK + '.db'\n"
        "def attach():\n"
        "    if c.in_transaction:\n        c.execute('COMMIT')\n"
        "    c.execute('ATTACH ? AS x', (where,))\n    c.execute('CREATE TABLE x.t (a)')\n"
        "def extension():\n"
        "    c.enable_load_extension(True)\n    c.load_extension('/lib/x86_64-linux-gnu/libz.so.1')\n"
        "seen = attempt(attach, lambda: c.execute('VACUUM INTO ?', (where,)), extension, "
        "lambda: apsw.Connection(where).execute('CREATE TABLE t (a)'), "
        "lambda: c.backup('main', apsw.Connection(where), 'main'))\n"
        "return 'none' if 'ALLOWED' not in seen else seen",
        NONE,
        is_poison=True,
    ),
    Attack(
        36,
        "files through the tool's own door",
        "seen = attempt(*[lambda s=s: ctx.db.run(s) for s in (\"ATTACH '/tmp/efx_attack' AS x\", "
        "\"VACUUM INTO '/tmp/efx_attack'\", \"SELECT load_extension('x')\", \"SELECT readfile('/etc/passwd')\")])\n"
        "return 'none' if 'ALLOWED' not in seen else seen",
        NONE | FAILED,
    ),
    Attack(
        37,
        "pragmas, definitions, transactions",
        "seen = attempt(*[lambda s=s: ctx.db.run(s) for s in ('PRAGMA writable_schema=1', 'PRAGMA foreign_keys=0', "
        "'PRAGMA max_page_count=100000', 'DROP TABLE seeds', 'ALTER TABLE seeds ADD x TEXT', 'COMMIT', 'BEGIN', "
        "'ROLLBACK', 'RELEASE call', 'SAVEPOINT mine', 'CREATE TABLE more (a)', 'DELETE FROM sqlite_master')])\n"
        "return 'none' if 'ALLOWED' not in seen else seen",
        NONE | FAILED,
    ),
    *(
        # SQLite itself may be quick enough, as with LIKE: then the answer is one word.
        Attack(38, name, f"ctx.db.all({sql!r})\nreturn 'bounded'", SLOW | BIG | frozenset({"bounded"}))
        for name, sql in (
            ("rows for ever", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"),
            (
                "a cross join",
                "SELECT count(*) FROM seeds a, seeds b, seeds c, seeds d, seeds e, seeds f, seeds g, seeds h",
            ),
            ("a LIKE bomb", "SELECT ('" + "a" * 5000 + "' LIKE '" + "%a" * 90 + "%b') AS x FROM seeds"),
            ("a format bomb", "SELECT printf('%.*c', 900000000, 'x') AS x"),
            ("a zero bomb", "SELECT length(zeroblob(900000000)) AS x"),
        )
    ),
    Attack(
        40,
        "bombs that unpack",
        "text = '[' + '0,' * 30000000 + '0]'\nreturn len(json.loads(text))",
        BIG,
    ),
    Attack(40, "base64", "b = IMP('binascii')\nx = b'A' * 1000000\nwhile True:\n    x = b.a2b_base64(x * 4) * 4", BIG),
    Attack(
        41,
        "pickle",
        "p = IMP('pickle') if 'pickle' in sys.modules else IMP('_pickle')\n"
        "return str(p.loads(b\"cposix\\nsystem\\n(S'touch /tmp/efx_attack'\\ntR.\"))",
        FAILED | frozenset({"-1", "32512"}),
    ),
    Attack(
        41,
        "marshal",
        "m = IMP('marshal')\nseen = attempt(lambda: m.loads(b'(' + b'\\xff' * 40), lambda: m.loads(b'[' * 5000))\n"
        "return 'none' if 'ALLOWED' not in seen else seen",
        NONE | CRASH | BIG,
    ),
    Attack(
        41,
        "compiler bombs",
        "c = _real['compile']\n"
        "seen = attempt(lambda: c('(' * 5000 + ')' * 5000, 'x', 'eval'), lambda: c('-' * 100000 + '1', 'x', 'eval'))\n"
        "return 'none' if 'ALLOWED' not in seen else seen",
        NONE | CRASH | BIG,
    ),
    Attack(
        42,
        "colliding keys",
        "m = (1 << 61) - 1\nd = {}\nfor i in range(10**6):\n    d[i * m] = i\nreturn len(d)",
        SLOW | BIG,
    ),
    Attack(
        42, "a long text, built badly", "s = []\nfor i in range(10**8):\n    s = s + [i]\nreturn len(s)", SLOW | BIG
    ),
    Attack(
        42,
        "many decimals",
        "c = IMP('_decimal')\nx = c.Context(prec=10**8)\nwhile True:\n    x.divide(c.Decimal(1), c.Decimal(3))",
        SLOW | BIG,
    ),
)
