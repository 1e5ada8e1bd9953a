// Tests the runner: how it reads names, reports and results. The suite itself is not needed.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseTestList, requiredVersion } from './binaries.ts';
import { conformanceDocument, othersDocument, parseCauses } from './document.ts';
import { parseNeeds, readNeeds, runsSimulated, sigOf, testKey } from './needs.ts';
import {
  formatResult,
  mergeResults,
  oneLine,
  parseReport,
  parseResults,
  type TestResult,
} from './results.ts';
import { mountsBelow, removeCgroup } from './clean-up.ts';
import { asMachine, networkOf } from './machines.ts';
import { runEach } from './run-each.ts';
import { focusOf, progressReader, type RunConfig } from './run.ts';
import { chooseTests, doneTests, parseSelection } from './selection.ts';
import { smokeTests } from './smoke.ts';

const name = '[sig-node] Pods [Serial] should *not* start (yet) [NodeConformance] [Conformance]';

describe('the table of needs', () => {
  test('is read completely: every test has one set', () => {
    const needs = readNeeds();
    expect(needs.size).toBeGreaterThan(400);
    expect(needs.get('[sig-node] Pods should get a host IP')).toBe('P');
    expect(
      [...needs.keys()].filter((key) => testKey(key) !== key || sigOf(key) === 'no sig'),
    ).toEqual([]);
  });

  test('has the nodes of tests that need others than usual', () => {
    const { nodes } = parseNeeds(
      'N\ta\ncsi\tb\t2\nN\tc\t6\ndefault\td\tworkers\ndefault\te\tlocal\n',
    );
    expect([...nodes]).toEqual([
      ['b', 2],
      ['c', 6],
      ['d', 'workers'],
      ['e', 'local'],
    ]);
  });

  test.each(['Q\t[sig-node] a', 'A', 'A\ta\nC\ta', 'N\ta\t7', 'N\ta\t'])('refuses %j', (table) => {
    expect(() => parseNeeds(table)).toThrow(/needs.tsv, line/);
  });

  test('labels do not identify a test; other brackets do', () => {
    expect(testKey(name)).toBe('[sig-node] Pods should *not* start (yet)');
    expect(testKey('[sig-node] Sysctls [LinuxOnly] [NodeConformance] x [Conformance]')).toBe(
      '[sig-node] Sysctls [LinuxOnly] x',
    );
  });
});

describe('choosing tests', () => {
  const needs = new Map([
    ['[sig-a] one', 'A'],
    ['[sig-a] two', 'K'],
  ] as const);
  const tests = [
    '[sig-a] one [Conformance]',
    '[sig-a] [Serial] two [Conformance]',
    '[sig-a] three [Conformance]',
  ];

  test('by set, focus and skip; without a set, tests in no set are chosen too', () => {
    expect(chooseTests(tests, needs, parseSelection({}))).toEqual(tests);
    expect(chooseTests(tests, needs, parseSelection({ set: 'A,K' }))).toEqual(tests.slice(0, 2));
    expect(chooseTests(tests, needs, parseSelection({ set: 'A,K', skip: 'Serial' }))).toEqual(
      tests.slice(0, 1),
    );
    expect(chooseTests(tests, needs, parseSelection({ focus: 't(wo|hree)' }))).toEqual(
      tests.slice(1),
    );
  });

  test('of nodes by their label, from each set', () => {
    const ofNodes = '[sig-node] four [NodeConformance]';
    expect(chooseTests([...tests, ofNodes], needs, parseSelection({ set: 'node' }))).toEqual([
      ofNodes,
    ]);
    expect(chooseTests([...tests, ofNodes], needs, parseSelection({ set: 'A,node' }))).toEqual([
      tests[0],
      ofNodes,
    ]);
  });

  test('without those that have passed or were skipped', () => {
    const result = (name: string, outcome: TestResult['outcome']): TestResult => ({
      name,
      outcome,
      seconds: 1,
      reason: '',
    });
    const done = doneTests([
      result('[sig-a] one', 'passed'),
      result('[sig-a] two', 'failed'),
      result('[sig-a] three [Slow]', 'skipped'),
    ]);
    expect(chooseTests(tests, needs, parseSelection({}), done)).toEqual(tests.slice(1, 2));
  });

  test('the smoke set is twenty tests of several SIGs that need no real container', () => {
    const known = readNeeds();
    const sets = [...smokeTests].map((key) => known.get(key));
    expect(sets).toHaveLength(20);
    expect(sets.filter((set) => set === undefined || !runsSimulated(set))).toEqual([]);
    expect(new Set([...smokeTests].map(sigOf)).size).toBeGreaterThan(7);
    const one = '[sig-apps] Job should delete a job';
    expect(
      chooseTests([`${one} [Conformance]`, ...tests], needs, parseSelection({ smoke: true })),
    ).toEqual([`${one} [Conformance]`]);
  });

  test('the error names the flag that cannot be read', () => {
    expect(() => parseSelection({ set: 'A,X' })).toThrow("--set: there is no set 'X'");
    expect(() => parseSelection({ focus: '(' })).toThrow('--focus:');
  });

  test('the focus matches names completely and literally', () => {
    const focus = new RegExp(focusOf([name]));
    expect(focus.test(`Kubernetes e2e suite ${name}`)).toBe(true);
    expect(focus.test(`Kubernetes e2e suite ${name} twice`)).toBe(false);
    expect(focus.test(`Kubernetes e2e suite ${name.replace('*not*', 'nott')}`)).toBe(false);
  });

  test('the list of the binary', () => {
    const list =
      'The following spec names can be used with …:\n    test/a.go:12: [sig-b] b ' +
      '[Conformance]\n    test/a.go:9: [sig-a] a\n    test/a.go:9: [sig-a] c [Slow]\n';
    expect(parseTestList(list, new Set(['[sig-a] c']))).toEqual([
      '[sig-a] c [Slow]',
      '[sig-b] b [Conformance]',
    ]);
  });

  test('all staging modules of go.mod have its version', () => {
    const goMod = readFileSync(new URL('./go.mod', import.meta.url), 'utf8');
    const replaced = [...goMod.matchAll(/^\tk8s\.io\/\S+ => \S+ v0(\S+)$/gm)].map(
      (match) => match[1],
    );
    expect(replaced.length).toBeGreaterThan(25);
    expect(new Set(replaced.map((version) => `v1${version}`))).toEqual(
      new Set([requiredVersion(goMod)]),
    );
  });
});

describe('results', () => {
  const spec = (leaf: string, state: string, message = '', type = 'It') => ({
    ContainerHierarchyTexts: ['[sig-a] A'],
    LeafNodeType: type,
    LeafNodeText: leaf,
    State: state,
    RunTime: 1_260_000_000,
    Failure: { Message: message },
  });

  test('are read from the report, without unselected and interrupted tests', () => {
    const report = parseReport(
      JSON.stringify([
        {
          SpecialSuiteFailureReasons: ['Interrupted by User'],
          SpecReports: [
            spec('passes', 'passed'),
            spec(
              'fails',
              'failed',
              'Unexpected error:\n    <*errors.StatusError | 0xc00012>: \n    no',
            ),
            spec('panics', 'panicked'),
            spec(
              'dumps',
              'failed',
              'Resize. Pod: {\n  "metadata": {\n    "name": "a"\n  }\n}\n: [\n  no limit\n]',
            ),
            spec('is not for here', 'skipped', 'needs a cloud'),
            spec('was not chosen', 'skipped'),
            spec('later', 'pending'),
            spec('was going on', 'interrupted', 'Interrupted by User'),
            spec('', 'failed', 'no nodes', 'SynchronizedBeforeSuite'),
          ],
        },
      ]),
    );
    expect(report.suiteFailures).toEqual([
      'SynchronizedBeforeSuite: no nodes',
      'Interrupted by User',
    ]);
    expect(report.results.map(formatResult)).toEqual([
      'passed\t1.3\t[sig-a] A passes',
      'failed\t1.3\t[sig-a] A fails\tUnexpected error: <*errors.StatusError>: no',
      'failed\t1.3\t[sig-a] A panics\tpanicked',
      'failed\t1.3\t[sig-a] A dumps\tResize. [ no limit ]',
      'skipped\t1.3\t[sig-a] A is not for here\tneeds a cloud',
    ]);
    expect(parseResults(`# a comment\n${report.results.map(formatResult).join('\n')}\n`)).toEqual(
      report.results,
    );
  });

  test('a test that returned before it tested anything has not passed', () => {
    const said =
      'Unexpected error while creating CustomResourceDefinition: the server could not find the requested resource\nbye';
    const { results } = parseReport(
      JSON.stringify([
        { SpecReports: [{ ...spec('mutates', 'passed'), CapturedGinkgoWriterOutput: said }] },
      ]),
    );
    expect(results.map(({ outcome, reason }) => `${outcome}: ${reason}`)).toEqual([
      'failed: it returned before it had tested anything: Unexpected error while creating ' +
        'CustomResourceDefinition: the server could not find the requested resource',
    ]);
  });

  test('are reported one by one from the output of ginkgo', () => {
    const calls: string[] = [];
    const read = progressReader(
      ['[sig-a] A one [Conformance]', '[sig-a] A two'],
      (test_, outcome) => calls.push(`${outcome} ${test_}`),
    );
    const printed = [
      '------------------------------',
      '• [0.150 seconds]',
      '[sig-a] A one [Conformance] [sig-a, Conformance]',
      '• [FAILED] [60.012 seconds]',
      '[sig-a] A [It] two [sig-a]',
      '• a line of a test that looks alike',
      '[sig-a] A two',
      '• [1.000 seconds]',
      '[sig-b] of another suite',
    ];
    for (const line of printed) read(line);
    expect(calls).toEqual(['passed [sig-a] A one [Conformance]', 'failed [sig-a] A two']);
  });

  test('a long reason is cut', () => {
    expect(oneLine('x'.repeat(1000))).toHaveLength(300);
  });

  test('a later run replaces the earlier one, also when labels moved', () => {
    const result = (testName: string, outcome: TestResult['outcome']): TestResult => ({
      name: testName,
      outcome,
      seconds: 1,
      reason: '',
    });
    const merged = mergeResults(
      [result('[sig-a] b', 'failed'), result('[sig-a] [Serial] a [Conformance]', 'failed')],
      [result('[sig-a] a [Conformance] [Serial]', 'passed')],
    );
    expect(merged.map(({ name: merger, outcome }) => [merger, outcome])).toEqual([
      ['[sig-a] a [Conformance] [Serial]', 'passed'],
      ['[sig-a] b', 'failed'],
    ]);
  });

  test('the page counts every test and names the causes', () => {
    const input = {
      version: 'v1.36.3',
      needs: parseNeeds(
        'A\t[sig-a] one\nA\t[sig-a] two\nK\t[sig-b] *three*\nN\t[sig-b] four\ndefault\t[sig-c] five\n' +
          'default\t[sig-c] NFS six',
      ),
      results: [
        { name: '[sig-a] one [Conformance]', outcome: 'passed', seconds: 1, reason: '' },
        {
          name: '[sig-a] two [Conformance]',
          outcome: 'failed',
          seconds: 1,
          reason: 'no | such kind',
        },
        { name: '[sig-b] *three* [Conformance]', outcome: 'failed', seconds: 1, reason: 'odd' },
        { name: '[sig-c] five', outcome: 'failed', seconds: 1, reason: 'no such kind' },
      ],
      causes: parseCauses(
        'such kind\tthe kind is not served\tserving it\nNFS\tthe kernel has no NFS\ta kernel',
      ),
    } as const;
    const page = conformanceDocument(input);
    expect(page).toContain('| enabled by default beyond conformance | 0 | 1 | 0 | 1 | 2 |');
    expect(page).not.toContain('five');
    const others = othersDocument(input);
    expect(others).toContain(
      '| default | \\[sig-c\\] five | the kind is not served | serving it |',
    );
    expect(others).toContain('- `[sig-c] NFS six`: the kernel has no NFS\n');
    expect(page).toContain('| A: API server | 1 | 1 | 0 | 0 | 2 |');
    expect(page).toContain('| sig-b | 0 | 1 | 0 | 1 | 2 |');
    expect(page).toContain('| all | 1 | 2 | 0 | 1 | 4 |');
    expect(page).toContain('| A | \\[sig-a\\] two | the kind is not served | serving it |');
    expect(page).toContain(
      '| K | \\[sig-b\\] \\*three\\* | not looked into; it says: odd | not known yet |',
    );
  });
});

describe('tests one by one', () => {
  const running = (tests: readonly string[], signal = new AbortController().signal): RunConfig => ({
    binaries: { version: '', suite: '', ginkgo: '', kubectl: '' },
    kubeconfig: '',
    tests,
    parallel: 2,
    outputDir: '/out',
    onTest: () => undefined,
    signal,
  });
  const result = (test_: string, outcome: TestResult['outcome'], reason = ''): TestResult => ({
    name: test_,
    outcome,
    seconds: 1,
    reason,
  });

  test('as many at a time as the flag says, serial tests alone after them, each with its own files', async () => {
    const calls: string[] = [];
    let going = 0;
    await runEach(
      running(['[Serial] a', 'b', 'c', '[Serial] d', 'e']),
      async ({ tests, outputDir, parallel }) => {
        calls.push(`${tests.join()} ${outputDir} ${parallel} beside ${going++}`);
        await new Promise((resolve) => setImmediate(resolve));
        going--;
        return { results: [], suiteFailures: [] };
      },
    );
    expect(calls).toEqual([
      'b /out/2 1 beside 0',
      'c /out/3 1 beside 1',
      'e /out/5 1 beside 1',
      '[Serial] a /out/1 1 beside 0',
      '[Serial] d /out/4 1 beside 0',
    ]);
  });

  test('a test that takes too long fails with that reason; other errors are reported', async () => {
    const report = await runEach(
      { ...running(['slow', 'wrong']), timeoutSeconds: 60 },
      ({ tests: [test_ = ''] }) =>
        Promise.resolve(
          test_ === 'slow'
            ? {
                results: [result('slow', 'failed', 'A suite timeout occurred')],
                suiteFailures: ['Suite Timeout Elapsed'],
              }
            : {
                results: [result('wrong', 'failed', 'no')],
                suiteFailures: ['BeforeSuite: no nodes'],
              },
        ),
    );
    expect(report.results.map(({ reason }) => reason)).toEqual([
      'not done after 60 s (--timeout)',
      'no',
    ]);
    expect(report.suiteFailures).toEqual(['BeforeSuite: no nodes']);
  });

  test('no test begins after the run was stopped', async () => {
    const stop = new AbortController();
    const begun: string[] = [];
    await runEach({ ...running(['a', 'b', 'c'], stop.signal), parallel: 1 }, ({ tests }) => {
      begun.push(...tests);
      stop.abort();
      return Promise.resolve({ results: [], suiteFailures: [] });
    });
    expect(begun).toEqual(['a']);
  });
});

test('mounts in the directory of a cluster are found, the deepest first', () => {
  const mounts = ['/a', '/tmp/x', '/tmp/x/y', '/tmp/x/y/z\\040z', '/tmp/xy'].map(
    (path) => `tmpfs ${path} tmpfs rw 0 0`,
  );
  expect(mountsBelow('/tmp/x', mounts.join('\n'))).toEqual(['/tmp/x/y/z z', '/tmp/x/y']);
});

test('a cgroup is removed from all hierarchies, with those below it', () => {
  const root = mkdtempSync(join(tmpdir(), 'cox-cgroups-'));
  try {
    for (const path of ['cpu/run/pods/one', 'memory/run/pods', 'memory/other'])
      mkdirSync(join(root, path), { recursive: true });
    removeCgroup('/run', root);
    expect(readdirSync(join(root, 'cpu'))).toEqual([]);
    expect(readdirSync(join(root, 'memory'))).toEqual(['other']);
    expect(() => removeCgroup('/run', join(root, 'missing'))).not.toThrow();
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('networks of clusters that run at the same time share no address and no name', () => {
  const networks = [0, 1, 2, 3].map(networkOf);
  const names = networks.flatMap(({ machines, switchNamespace, link, ...ranges }) => [
    switchNamespace,
    link,
    ...machines.flatMap(({ namespace, address }) => [namespace, address]),
    ...Object.values(ranges),
  ]);
  expect(new Set(names).size).toBe(names.length);
  for (const { link } of networks) expect(link.length).toBeLessThan(16);
});

test('a machine is started with its own files of /etc', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cox-machine-'));
  try {
    const [machine] = networkOf(1).machines;
    const etc = { 'one/two.toml': 'three' };
    const files = { dir, binds: [['/a', '/b'] as const], etc };
    const command = asMachine(machine, files, ['true', 'now']);
    expect(command.slice(0, 3)).toEqual([
      'nsenter',
      '--net=/run/netns/cox-conformance-1-first',
      'unshare',
    ]);
    expect(command.slice(-8).join(' ')).toBe(
      `first ${join(dir, 'etc')} ${join(dir, 'etc-work')} /a /b -- true now`,
    );
    expect(readFileSync(join(dir, 'etc', 'one', 'two.toml'), 'utf8')).toBe('three');
    expect(readFileSync(join(dir, 'etc', 'hosts'), 'utf8')).toMatch(/^127\.0\.1\.1 first$/m);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
