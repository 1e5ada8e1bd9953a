import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { requiredVersion } from '../conformance/binaries.ts';
import { type Patch, patched } from './patches.ts';
import { formatResults, mergeResults, parseCauses, parseResults, resultsPage } from './record.ts';
import { readResults, type TestResult } from './results.ts';

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

test('the tests are of the version of the other suites', () => {
  expect(requiredVersion(read('go.mod'))).toBe(requiredVersion());
});

test('a test is one result, with its failed subtests and their message', () => {
  const output = [
    '=== RUN   TestList',
    '=== RUN   TestList/all',
    '=== RUN   TestList/none',
    '=== NAME  TestList/all',
    '    list_test.go:12: expected 2,\tgot 3',
    '=== NAME  TestList/none',
    '    list_test.go:14: fine',
    '--- FAIL: TestList (1.50s)',
    '    --- FAIL: TestList/all (0.50s)',
    '    --- PASS: TestList/none (0.50s)',
    '=== RUN   TestOther',
    'printed without a newline--- PASS: TestOther (0.01s)',
    '=== RUN   TestServer',
    '    server_test.go:3: not for another program',
    '    features.go:9: I1128 06:21:45.470987] Updated featureGates={}',
    '--- SKIP: TestServer (0.00s)',
    '=== RUN   TestPanic',
    'panic: test timed out after 30m',
  ].join('\n');
  expect(readResults('client', output)).toEqual([
    { package: 'client', test: 'TestList', outcome: 'failed', message: 'all: expected 2, got 3' },
    { package: 'client', test: 'TestOther', outcome: 'passed', message: '' },
    {
      package: 'client',
      test: 'TestServer',
      outcome: 'skipped',
      message: 'not for another program',
    },
    { package: 'client', test: 'TestPanic', outcome: 'failed', message: 'it did not end' },
  ]);
});

test('a patch replaces one part, and fails for another file', () => {
  const patch: Patch = {
    module: 'example.com/m',
    file: 'a.go',
    from: 'b',
    to: 'd',
    replacement: 'x',
    also: [['a', 'A']],
  };
  expect(patched(patch, 'abcde')).toBe('Axde');
  expect(() => patched(patch, 'acde')).toThrow('a.go does not have the part that is replaced');
  expect(() => patched(patch, 'bcde')).toThrow('a.go does not have "a"');
});

const result = (name: string, test: string, over: Partial<TestResult> = {}): TestResult => ({
  package: name,
  test,
  outcome: 'passed',
  message: '',
  ...over,
});

test('results are kept by package, in the order of packages', () => {
  const earlier = [result('a', 'TestOld'), result('b', 'TestOne'), result('gone', 'TestOne')];
  const later = [result('b', 'TestTwo', { outcome: 'failed', message: 'why' })];
  const merged = mergeResults(['b', 'a'], earlier, later);
  expect(merged).toEqual([...later, earlier[0]]);
  expect(parseResults(formatResults(merged))).toEqual(merged);
});

test('the page counts, and lists what did not pass by its cause', () => {
  const results = [
    result('a', 'TestOne'),
    result('a', 'TestTwo', { outcome: 'failed', message: 'got <nil>' }),
    result('a', 'TestThree', { outcome: 'skipped', message: 'later' }),
    result('b', 'TestTwo', { outcome: 'failed' }),
  ];
  const page = resultsPage('v1.36.3', results, parseCauses('^b \tno such thing here\n'));
  expect(page).toContain('| a | 1 | 1 | 1 |\n| b | 0 | 1 | 0 |\n| all | 1 | 2 | 1 |\n');
  expect(page).toContain(
    '## Failed\n\n- got \\<nil\\>: `a TestTwo`\n- no such thing here: `b TestTwo`\n',
  );
  expect(page).toContain('## Skipped\n\n- later: `a TestThree`\n');
  expect(() => parseCauses('a pattern alone')).toThrow('pattern and cause were expected');
});

test('the causes can be read', () => {
  expect(parseCauses(read('causes.tsv')).length).toBeGreaterThan(0);
});
