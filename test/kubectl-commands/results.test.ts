import { describe, expect, test } from 'vitest';
import { judge, parseCauses, parseResults } from './results.ts';

const results = parseResults(
  'run_a_tests\tpassed\t3\nrun_b_tests\tfailed\t12\nrun_c_tests\tskipped\t0\n',
);

describe('judge', () => {
  test('accepts a failure that has a cause', () => {
    const causes = parseCauses('# name\tcause\nrun_b_tests\tno such kind\n');
    expect(judge(results, causes, { scriptStatus: 1, complete: true })).toEqual([]);
  });

  test('reports a failure without a cause, and a cause without a failure', () => {
    expect(
      judge(results, parseCauses('run_a_tests\tnone\n'), { scriptStatus: 1, complete: true }),
    ).toEqual([
      'run_b_tests failed, and causes.tsv has no cause',
      'run_a_tests passed: remove it from causes.tsv',
    ]);
  });

  test('reports a script that ended before any function, or outside of one', () => {
    expect(judge([], new Map(), { scriptStatus: 1, complete: true })).toEqual([
      'no function was run; see script.log',
    ]);
    const passed = results.filter(({ outcome }) => outcome === 'passed');
    expect(judge(passed, new Map(), { scriptStatus: 2, complete: true })).toEqual([
      'the script ended with 2 outside of a function',
    ]);
  });
});

test('rows of another form are refused', () => {
  expect(() => parseResults('run_a_tests\tmaybe\t3\n')).toThrow('results.tsv: run_a_tests');
  expect(() => parseCauses('run_a_tests\n')).toThrow("'run_a_tests' has no cause");
});
