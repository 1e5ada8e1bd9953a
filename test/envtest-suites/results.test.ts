import { expect, test } from 'vitest';
import { countOf, readOutput, readReport } from './results.ts';

const spec = (State: string, over: object = {}): object => ({
  ContainerHierarchyTexts: ['Client', 'Create'],
  LeafNodeType: 'It',
  LeafNodeText: 'creates',
  State,
  RunTime: 1_500_000_000,
  ...over,
});
const report = (...SpecReports: readonly object[]): string => JSON.stringify([{ SpecReports }]);

test('a spec has its full name, outcome and seconds', () => {
  expect(readReport(report(spec('passed'), spec('pending'), spec('skipped')))).toEqual([
    { name: 'Client Create creates', outcome: 'passed', seconds: 1.5, message: '' },
    { name: 'Client Create creates', outcome: 'pending', seconds: 1.5, message: '' },
    { name: 'Client Create creates', outcome: 'skipped', seconds: 1.5, message: '' },
  ]);
});

test.each(['failed', 'panicked', 'interrupted', 'aborted', 'timedout'])(
  '%s is a failure',
  (state) => {
    const [result] = readReport(report(spec(state, { Failure: { Message: 'expected 2' } })));
    expect(result).toMatchObject({ outcome: 'failed', message: 'expected 2' });
  },
);

test('a failed set-up counts, one that passed is no spec', () => {
  const setUp = { ContainerHierarchyTexts: null, LeafNodeType: 'BeforeSuite', LeafNodeText: '' };
  const results = readReport(report(spec('passed', setUp), spec('failed', setUp)));
  expect(results.map(({ name, outcome }) => [name, outcome])).toEqual([
    ['[BeforeSuite]', 'failed'],
  ]);
  expect(countOf(results, 'failed')).toBe(1);
});

test('a suite without specs has no results', () => {
  expect(readReport('[{"SpecReports":null}]')).toEqual([]);
});

test('tests without Ginkgo are read from the output, those with subtests by these', () => {
  const output = [
    '=== RUN   TestSource',
    'Running Suite: Source - /module/pkg/source',
    '--- PASS: TestSource (2.50s)',
    '=== RUN   TestMapper',
    '=== RUN   TestMapper/new',
    '    --- FAIL: TestMapper/new (0.10s)',
    '    --- SKIP: TestMapper/old (0.00s)',
    '--- FAIL: TestMapper (0.10s)',
    '--- PASS: TestOther (0.01s)',
    'FAIL',
  ].join('\n');
  expect(readOutput(output)).toEqual([
    { name: 'TestMapper/new', outcome: 'failed', seconds: 0.1, message: '' },
    { name: 'TestMapper/old', outcome: 'skipped', seconds: 0, message: '' },
    { name: 'TestOther', outcome: 'passed', seconds: 0.01, message: '' },
  ]);
});
