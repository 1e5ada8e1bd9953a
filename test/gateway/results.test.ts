import { expect, test } from 'vitest';
import { requiredVersion } from './programs.ts';
import { parseResults, summary } from './results.ts';

const OUTPUT = `=== RUN   TestConformance
=== RUN   TestConformance/HTTPRouteWeight
--- FAIL: TestConformance (12.00s)
    --- PASS: TestConformance/HTTPRouteWeight (1.50s)
        --- PASS: TestConformance/HTTPRouteWeight/Requests (1.40s)
    --- FAIL: TestConformance/HTTPRouteMatching (10.00s)
    --- SKIP: TestConformance/TLSRoute (0.00s)
FAIL
`;

test('tests of the suite are distinguished from their parts', () => {
  const results = parseResults(OUTPUT);
  expect(results).toEqual([
    { name: 'HTTPRouteWeight', outcome: 'passed', seconds: 1.5 },
    { name: 'HTTPRouteMatching', outcome: 'failed', seconds: 10 },
    { name: 'TLSRoute', outcome: 'skipped', seconds: 0 },
  ]);
  expect(summary(results)).toBe('1 of 2 passed, 1 failed, 1 skipped');
});

test('the version is that of go.mod', () => {
  expect(requiredVersion()).toMatch(/^v1\.\d+\.\d+$/);
  expect(() => requiredVersion('module x')).toThrow('does not require');
});
