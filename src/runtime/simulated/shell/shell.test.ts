import { expect, describe, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { type Outcome, runProgram } from '../run.ts';
import { FileSystem } from './file-system.ts';
import { Input, type Output } from './io.ts';
import type { UnknownPolicy } from './kernel.ts';

interface Run {
  /** The output; lines of stderr begin with '!'. */
  readonly out: string;
  readonly outcome: Outcome;
  /** The virtual time that it took. */
  readonly ms: number;
}

interface Setting {
  readonly stdin?: string | Buffer;
  readonly unknown?: UnknownPolicy;
  readonly files?: FileSystem;
  readonly raw?: Buffer[];
}

async function run(
  command: readonly string[],
  { stdin = '', unknown = 'fail', files, raw }: Setting = {},
): Promise<Run> {
  const clock = new VirtualClock();
  const start = clock.monotonic();
  let out = '';
  const output = (mark: string): Output => ({
    write: (bytes) => {
      raw?.push(Buffer.from(bytes));
      const text = Buffer.from(bytes).toString();
      out += mark === '' ? text : text.replaceAll(/^(?=.)/gm, mark);
      return Promise.resolve();
    },
  });
  const context = {
    clock,
    random: new SeededRandom('shell'),
    hostname: 'web-0',
    uid: 0,
    env: { GREETING: 'hello world', N: '3' },
    workingDir: '/',
    files: () => (files ??= new FileSystem({ now: () => clock.now(), hostname: 'web-0' })),
    unknown,
  };
  const streams = { stdin: Input.of(Buffer.from(stdin)), stdout: output(''), stderr: output('!') };
  let outcome: Outcome | undefined;
  let ended = start;
  const running = runProgram(command, context, streams, new AbortController().signal).then(
    (value) => {
      outcome = value;
      ended = clock.monotonic();
    },
  );
  await clock.runUntil(() => outcome !== undefined, '48h');
  await running;
  return { out, outcome: outcome as unknown as Outcome, ms: ended - start };
}

const sh = (script: string, setting?: Setting): Promise<Run> =>
  run(['/bin/sh', '-c', script], setting);

/** Script, output, exit code. */
const CASES: readonly (readonly [script: string, out: string, outcome: Outcome])[] = [
  ['exit 3', '', 3],
  ['true && echo yes || echo no', 'yes\n', 0],
  ['false && echo yes || echo no', 'no\n', 0],
  ['false || exit 4; echo never', '', 4],
  ['echo "$GREETING" $GREETING \'$GREETING\' ${N}', 'hello world hello world $GREETING 3\n', 0],
  ['echo one; echo two >&2', 'one\n!two\n', 0],
  ['echo one 1>&2', '!one\n', 0],
  ['echo kept 2>/dev/null; echo gone >/dev/null', 'kept\n', 0],
  ['# a comment\necho a#b # more', 'a#b\n', 0],
  ['false; echo $?', '1\n', 0],
  ['! false && echo inverted', 'inverted\n', 0],
  // Command substitution and loops.
  ['for i in $(seq 1 3); do echo $i; done', '1\n2\n3\n', 0],
  ['for i in `seq 3`; do echo -n $i; done', '123', 0],
  ['for i in 1 2 $N; do echo -n $i; done; exit $N', '123', 3],
  ['echo "$(echo "nested $(echo deep)")"', 'nested deep\n', 0],
  ['i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done', '1\n2\n3\n', 0],
  ['until true; do :; done; echo end', 'end\n', 0],
  ['for i in 1 2 3; do if [ $i = 2 ]; then continue; fi; echo $i; done', '1\n3\n', 0],
  ['while true; do while true; do break 2; done; done; echo out', 'out\n', 0],
  ['i=5\nif false; then exit 1; elif true; then echo $i; else exit 2; fi', '5\n', 0],
  ['case abc in x) echo 1;; a*) echo 2;; *) echo 3;; esac', '2\n', 0],
  ['case "$N" in [0-9]) echo digit ;; esac', 'digit\n', 0],
  // Pipes.
  ['echo hello | tr a-z A-Z', 'HELLO\n', 0],
  ['seq 1 5 | while read x; do echo got $x; done', 'got 1\ngot 2\ngot 3\ngot 4\ngot 5\n', 0],
  ['seq 1 100000 | head -n 2', '1\n2\n', 0],
  ['yes | head -n 2', 'y\ny\n', 0],
  ['printf "b\\na\\nb\\n" | sort | uniq -c', '      1 a\n      2 b\n', 0],
  ['printf "a b c\\n" | wc -w', '3\n', 0],
  ['echo a,b,c | cut -d, -f2', 'b\n', 0],
  ['cat /etc/hostname | grep web', 'web-0\n', 0],
  ['echo x | grep y', '', 1],
  ['echo "12.5 ms" | grep -Eo "[0-9]+\\.[0-9]+"', '12.5\n', 0],
  ['printf "a1\nb\n" | grep "[[:digit:]]"', 'a1\n', 0],
  ['false | true', '', 0],
  ['set -o pipefail; false | true', '', 1],
  ['echo abc | sed s/b/X/', 'aXc\n', 0],
  ['echo a1b2 | sed "s/[0-9]/<&>/g"', 'a<1>b<2>\n', 0],
  ['echo 1 2 3 | xargs -n 1 echo item', 'item 1\nitem 2\nitem 3\n', 0],
  // Files.
  ['echo hi > /tmp/f && cat /tmp/f && wc -c < /tmp/f', 'hi\n3\n', 0],
  ['echo a > f; echo b >> f; cat f', 'a\nb\n', 0],
  ['cat /nonexistent', '!cat: /nonexistent: No such file or directory\n', 1],
  ['mkdir -p /a/b && touch /a/b/c && ls /a/b && [ -f /a/b/c ] && echo file', 'c\nfile\n', 0],
  ['cd /tmp && touch x.txt y.txt z && echo *.txt', 'x.txt y.txt\n', 0],
  ['echo hi > /no/such/f', "!sh: can't create /no/such/f: No such file or directory\n", 1],
  ['cat <<EOF\n$GREETING\nEOF', 'hello world\n', 0],
  ["cat <<'EOF'\n$GREETING\nEOF", '$GREETING\n', 0],
  [
    'cp /etc/hostname /tmp/h && mv /tmp/h /tmp/i && rm /tmp/i && test ! -e /tmp/i && echo gone',
    'gone\n',
    0,
  ],
  ['printf "#!/bin/sh\\necho script $1\\n" > /tmp/s && chmod +x /tmp/s && /tmp/s', 'script\n', 0],
  // Parameters.
  ['echo ${X:-default} ${N:+set} ${#GREETING}', 'default set 11\n', 0],
  ['f=/a/b.txt; echo ${f##*/} ${f%.txt} ${f#/a}', 'b.txt /a/b /b.txt\n', 0],
  ['set -- a "b c"; for x in "$@"; do echo "<$x>"; done; echo $#', '<a>\n<b c>\n2\n', 0],
  ['X="a  b"; echo $X "$X"', 'a b a  b\n', 0],
  ['echo ${MISSING?is needed}', '!sh: MISSING: is needed\n', 2],
  ['echo $((2 + 3 * 4)) $(( (2+3) * 4 )) $((7 % 3))', '14 20 1\n', 0],
  ['echo $((1/0))', '!sh: divide by zero\n', 2],
  // Functions, subshells, jobs.
  ['greet() { echo hi $1; return 4; }; greet you; echo $?', 'hi you\n4\n', 0],
  ['X=1; (X=2; echo $X); echo $X', '2\n1\n', 0],
  ['(exit 5); echo $?', '5\n', 0],
  ['sleep 2 & echo first; wait; echo last', 'first\nlast\n', 0],
  ['set -e; false; echo never', '', 1],
  ['set -e; if false; then :; fi; false || true; echo on', 'on\n', 0],
  ['trap "echo bye" EXIT; echo hi; exit 3', 'hi\nbye\n', 3],
  ['set -u; echo $MISSING', '!sh: MISSING: parameter not set\n', 2],
  ['f() { f; }; f', '!sh: function calls are nested too deeply\n', 2],
  // Programs.
  ['echo -e "a\\tb"; echo -n c', 'a\tb\nc', 0],
  ['printf "%s-%03d\\n" a 7', 'a-007\n', 0],
  ['printf "%s\\n" a b', 'a\nb\n', 0],
  ['hostname; id -u; whoami; pwd', 'web-0\n0\nroot\n/\n', 0],
  ['printenv N; env | grep GREETING', '3\nGREETING=hello world\n', 0],
  ['A=1 env | grep ^A=', 'A=1\n', 0],
  ['basename /a/b.txt .txt; dirname /a/b.txt', 'b\n/a\n', 0],
  ['echo secret | base64 | base64 -d', 'secret\n', 0],
  [
    'echo -n abc | sha256sum',
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\n',
    0,
  ],
  ['tail -n 1 /etc/passwd | cut -d: -f3; head -1 /etc/passwd | cut -d: -f7', '65534\n/bin/sh\n', 0],
  ['timeout 2 sleep 100', '', 124],
  ['which ls; command -v nothere', '/bin/ls\n', 1],
  ['kill -TERM 1; echo never', '', 143],
  ['exec sh -c "exit 9"', '', 9],
  ['eval "echo a; echo b"', 'a\nb\n', 0],
  // Errors have a message.
  ['nginx -v', '!sh: nginx: not found\n', 127],
  ['wget -qO- http://web', '!wget: network connections are not simulated\n', 1],
  ['curl http://web', '!curl: network connections are not simulated\n', 7],
  ['ls --nonsense', '!ls: unrecognized option: nonsense\n', 1],
  ['if true', '!sh: syntax error: unexpected end of file\n', 2],
  ['echo )', '!sh: syntax error: unexpected ")"\n', 2],
  ['a=(1 2)', '!sh: arrays are not supported by the simulated shell\n', 2],
  ['[[ a == a ]]', '!sh: [[ is not supported by the simulated shell\n', 2],
  ['sleep nonsense', "!sleep: invalid number 'nonsense'\n", 1],
];

describe('scripts', () => {
  test.each(CASES)('%j', async (script, out, outcome) => {
    const { ms: _, ...result } = await sh(script);
    expect(result).toEqual({ out, outcome });
  });

  test.each<[script: string, ms: number]>([
    ['sleep 1m; sleep 0.5', 60_500],
    ['sleep 3 & sleep 5 & wait', 5000],
    ['for i in 1 2 3; do sleep 1; done', 3000],
    ['(sleep 2; echo x) | cat', 2000],
    ['timeout 2 sleep 100', 2000],
  ])('%j takes %i ms of the clock', async (script, ms) => {
    expect((await sh(script)).ms).toBe(ms);
  });

  test('commands read their input', async () => {
    expect(await sh('read x; echo got $x', { stdin: 'line one\nline two\n' })).toMatchObject({
      out: 'got line one\n',
      outcome: 0,
    });
    expect((await sh('read a b; echo "$b/$a"; cat', { stdin: '1 2 3\nrest' })).out).toBe(
      '2 3/1\nrest',
    );
    expect((await sh('while read l; do echo "[$l]"; done', { stdin: 'a\nb\n' })).out).toBe(
      '[a]\n[b]\n',
    );
    expect((await sh('read x', { stdin: '' })).outcome).toBe(1);
    expect((await run(['cat'], { stdin: 'copied' })).out).toBe('copied');
  });

  test('a shell without a script runs commands from its input', async () => {
    const stdin =
      'echo test string 1\necho test string 2 >&2\nfor i in 1 2\ndo echo $i\ndone\nnothere\nexit 3\necho never\n';
    expect(await run(['sh'], { stdin })).toMatchObject({
      out: 'test string 1\n!test string 2\n1\n2\n!sh: nothere: not found\n',
      outcome: 3,
    });
  });
});

describe('programs that are not simulated', () => {
  test('fail in a user’s session', async () => {
    expect(await run(['redis-cli', 'ping'])).toMatchObject({
      out: '!exec: "redis-cli": executable file not found in $PATH\n',
      outcome: 127,
    });
  });

  test('are treated as servers in the first process', async () => {
    for (const script of [
      'nginx -g "daemon off;"',
      'echo first; ./server --port 80',
      'sleep infinity',
      'exec java -jar app.jar',
    ]) {
      expect((await sh(script, { unknown: 'serve' })).outcome).toBe('forever');
    }
    expect((await sh('echo first; ./server', { unknown: 'serve' })).out).toBe('first\n');
    expect((await sh('arr=(a b); server', { unknown: 'serve' })).outcome).toBe('forever');
  });

  test('succeed as probes and hooks', async () => {
    expect(await sh('pg_isready -U postgres || exit 1', { unknown: 'succeed' })).toMatchObject({
      out: '',
      outcome: 0,
    });
  });
});

describe('limits', () => {
  test.each([
    'while true; do :; done',
    'while :; do echo x; done',
    'f() { f & }; while true; do true; done',
    'until false; do true; done',
    'yes',
    'seq 1 1000000000',
    'cat /dev/zero',
  ])('%j runs forever without holding up anything', async (script) => {
    let turns = 0;
    let ended = false;
    const watch = (): void => {
      turns++;
      if (!ended) setImmediate(watch);
    };
    setImmediate(watch);
    const { outcome } = await sh(`${script} > /dev/null`, { unknown: 'serve' });
    ended = true;
    expect(outcome).toBe('forever');
    expect(turns).toBeGreaterThan(100);
  });

  test.each([
    ['x=a; while true; do x="$x$x"; done', 'out of memory'],
    ['echo $(yes)', 'out of memory'],
    ['while true; do cat /etc/passwd /f /f >> /f 2>/dev/null || exit 1; done; ', ''],
    ['('.repeat(5000), 'nested too deeply'],
    [`echo ${'$('.repeat(5000)}`, 'nested too deeply'],
    [`echo ${'${a:-'.repeat(5000)}`, 'nested too deeply'],
    [`echo $((${'('.repeat(2000)}1${')'.repeat(2000)}))`, 'nested too deeply'],
    ['printf %99999999d 1', 'width is too large'],
    ['dd if=/dev/zero of=/x bs=1G count=5', 'at most 16 MiB'],
    ['echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! | grep -E "(a+)+$"', 'takes too long'],
    [`echo $((${'1+'.repeat(100_000)}1))`, 'too long'],
  ])('%.60s fails', async (script, message) => {
    const { out, outcome } = await sh(script);
    expect(outcome).toBeGreaterThan(0);
    expect(out).toContain(message);
  });
});

describe('tar', () => {
  const script =
    'mkdir -p /src/dir && echo one > /src/a && echo two > /src/dir/b && tar cf - -C / src';

  test('a written archive can be read', async () => {
    const raw: Buffer[] = [];
    expect((await sh(script, { raw })).outcome).toBe(0);
    const archive = Buffer.concat(raw);
    expect(archive.length % 512).toBe(0);
    const { out, outcome } = await sh(
      'mkdir /t && tar -xmf - -C /t && cat /t/src/a /t/src/dir/b && ls -a /t/src',
      {
        stdin: archive,
      },
    );
    expect([out, outcome]).toEqual(['one\ntwo\n.\n..\na\ndir\n', 0]);
    expect((await sh('tar tf -', { stdin: archive })).out).toBe(
      'src/\nsrc/a\nsrc/dir/\nsrc/dir/b\n',
    );
  });

  test('long names survive, and no name leaves the directory', async () => {
    const name = 'n'.repeat(150);
    const raw: Buffer[] = [];
    await sh(`echo x > /${name} && tar czf - -C / ${name}`, { raw });
    expect(
      (await sh(`mkdir /t && tar xzf - -C /t && cat /t/${name}`, { stdin: Buffer.concat(raw) }))
        .out,
    ).toBe('x\n');
    const evil: Buffer[] = [];
    await sh('mkdir -p /a && echo evil > /x && cd /a && tar cf - ../x', { raw: evil });
    expect(
      (await sh('mkdir -p /b/c && tar xf - -C /b/c; ls /b', { stdin: Buffer.concat(evil) })).out,
    ).toBe('c\n');
  });

  test.each([
    ['tar xf -', 'not an archive at all', 'short read'],
    ['tar cf - /nothere', '', '/nothere: No such file or directory'],
    ['tar --wildcards -xf -', '', 'unrecognized option'],
    ['tar xf - -C /nothere', '', "can't change directory"],
  ])('%s fails', async (command, stdin, message) => {
    const { out, outcome } = await sh(command, { stdin });
    expect(outcome).toBe(1);
    expect(out).toContain(message);
  });
});
