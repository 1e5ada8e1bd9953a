// Reads what a test program says: the report that Ginkgo writes with --ginkgo.json-report, and the
// output of tests without Ginkgo.

export interface SpecResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'pending';
  readonly seconds: number;
  /** Why it failed; empty otherwise. */
  readonly message: string;
}

interface SpecReport {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  readonly Failure?: { readonly Message?: string };
}

interface SuiteReport {
  readonly SpecReports: readonly SpecReport[] | null;
}

const OUTCOMES = new Map<string, SpecResult['outcome']>([
  ['passed', 'passed'],
  ['skipped', 'skipped'],
  ['pending', 'pending'],
]);

/**
 * Returns a result per spec; and one per set-up or clean-up of the suite that failed, such as
 * BeforeSuite. A state that is not known, such as `interrupted`, counts as failed.
 */
export function readReport(json: string): SpecResult[] {
  const results: SpecResult[] = [];
  for (const { SpecReports } of JSON.parse(json) as readonly SuiteReport[]) {
    for (const spec of SpecReports ?? []) {
      const outcome = OUTCOMES.get(spec.State) ?? 'failed';
      if (spec.LeafNodeType !== 'It' && outcome !== 'failed') continue;
      const names = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText];
      results.push({
        name: spec.LeafNodeType === 'It' ? names.join(' ') : `[${spec.LeafNodeType}]`,
        outcome,
        seconds: spec.RunTime / 1e9,
        message: spec.Failure?.Message ?? '',
      });
    }
  }
  return results;
}

const GO_OUTCOMES = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' } as const;
const GO_RESULT = /^ *--- (PASS|FAIL|SKIP): (\S+) \((\d+\.\d+)s\)$/u;

/**
 * Reads the output of -test.v: a result per test that has no subtests. Tests that run a suite of
 * Ginkgo are left out, since their specs are in its report.
 */
export function readOutput(output: string): SpecResult[] {
  const results: SpecResult[] = [];
  const suites = new Set<string>();
  let current = '';
  for (const line of output.split('\n')) {
    if (line.startsWith('=== RUN ')) current = line.slice(8).trim();
    if (line.startsWith('Running Suite: ')) suites.add(current);
    const [, outcome, name, seconds] = GO_RESULT.exec(line) ?? [];
    if (name === undefined || suites.has(name)) continue;
    results.push({
      name,
      outcome: GO_OUTCOMES[outcome as keyof typeof GO_OUTCOMES],
      seconds: Number(seconds),
      message: '',
    });
  }
  return results.filter(({ name }) => !results.some((other) => other.name.startsWith(`${name}/`)));
}

export function countOf(results: readonly SpecResult[], outcome: SpecResult['outcome']): number {
  return results.filter((result) => result.outcome === outcome).length;
}
