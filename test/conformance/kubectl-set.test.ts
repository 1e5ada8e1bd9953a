import { expect, test } from 'vitest';
import { kubectlResults, kubectlTestName } from './kubectl-set.ts';
import { readNeeds } from './needs.ts';

test('the functions of test/cmd are tests of a set', () => {
  expect(readNeeds().get(kubectlTestName('run_pod_tests'))).toBe('kubectl');
});

test('a function that fails on upstream’s servers, too, is skipped', () => {
  const failed = (name: string) =>
    ({ name, outcome: 'failed', seconds: 2, output: 'x.sh:1: FAIL!\nnot there\n' }) as const;
  const passed = (name: string) => ({ name, outcome: 'passed', seconds: 1, output: '' }) as const;
  const results = kubectlResults(
    [passed('run_a'), failed('run_b'), failed('run_c')],
    [failed('run_b'), passed('run_c')],
  );
  expect(results).toEqual([
    { name: '[sig-cli] test/cmd run_a', outcome: 'passed', seconds: 1, reason: '' },
    {
      name: '[sig-cli] test/cmd run_b',
      outcome: 'skipped',
      seconds: 2,
      reason: "it fails on upstream's servers, too: x.sh:1: FAIL! not there",
    },
    {
      name: '[sig-cli] test/cmd run_c',
      outcome: 'failed',
      seconds: 2,
      reason: 'x.sh:1: FAIL! not there',
    },
  ]);
});
