import { describe, expect, test } from 'vitest';
import { judge, parseCauses, parseResults, reasonOf } from './results.ts';

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

test('the reason is what the last failing check says, or what a command said', () => {
  const trace = '!!! [1127 02:25:54] Call tree:\n!!! [1127 02:25:54]  1: sh2ju.sh:22 run_a(...)\n';
  const check =
    '\u001b[31m\ncore.sh:12: FAIL!\nGet pods\n  Expected: a\n  Got:      b\n\u001b(B\u001b[m';
  expect(reasonOf(`pod created\n${check}\n12 core.sh\n${trace}`)).toBe(
    'core.sh:12: FAIL! Get pods Expected: a Got: b',
  );
  expect(reasonOf(`pod created\nError from server: no\n${trace}`)).toBe('Error from server: no');
  expect(reasonOf(`dial tcp: lookup a.example on 192.0.2.1:53: no such host\n${trace}`)).toBe(
    'dial tcp: lookup a.example: no such host',
  );
  expect(reasonOf('')).toBe('');
});

test('rows of another form are refused', () => {
  expect(() => parseResults('run_a_tests\tmaybe\t3\n')).toThrow('results.tsv: run_a_tests');
  expect(() => parseCauses('run_a_tests\n')).toThrow("'run_a_tests' has no cause");
});
