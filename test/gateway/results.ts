// Reads the outcomes of the suite's tests from its output.

export interface GatewayResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
}

const OUTCOMES = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' } as const;

/** Reads the output of `go test -v`: the tests of the suite are the subtests of TestConformance. */
export function parseResults(output: string): GatewayResult[] {
  return [
    ...output.matchAll(/^ {4}--- (PASS|FAIL|SKIP): TestConformance\/([^/\s]+) \(([\d.]+)s\)$/gm),
  ].map(([, outcome, name = '', seconds]) => ({
    name,
    outcome: OUTCOMES[outcome as keyof typeof OUTCOMES],
    seconds: Number(seconds),
  }));
}

const count = (results: readonly GatewayResult[], outcome: GatewayResult['outcome']): number =>
  results.filter((result) => result.outcome === outcome).length;

export function summary(results: readonly GatewayResult[]): string {
  const run = results.length - count(results, 'skipped');
  const [passed, failed, skipped] = (['passed', 'failed', 'skipped'] as const).map((outcome) =>
    count(results, outcome),
  );
  return `${passed} of ${run} passed, ${failed} failed, ${skipped} skipped`;
}
