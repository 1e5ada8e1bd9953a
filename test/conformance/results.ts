// The results of tests: reads the JSON report that ginkgo writes, and keeps one line per test.

import { testKey } from './needs.ts';

export const outcomes = ['passed', 'failed', 'skipped'] as const;
export type Outcome = (typeof outcomes)[number];

export interface TestResult {
  /** The name with its labels, as upstream's binary prints it. */
  readonly name: string;
  readonly outcome: Outcome;
  readonly seconds: number;
  /** Why it failed or was skipped, on one line; empty if it passed. */
  readonly reason: string;
}

/** The fields of ginkgo's report that are read here. */
interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  /** The test's own output. */
  readonly CapturedGinkgoWriterOutput?: string;
  readonly Failure?: { readonly Message?: string; readonly ForwardedPanic?: string };
}

interface GinkgoSuite {
  readonly SpecialSuiteFailureReasons?: readonly string[] | null;
  readonly SpecReports: readonly GinkgoSpec[] | null;
}

export interface Report {
  readonly results: readonly TestResult[];
  /** Failures outside of any test: of the set-up or tear-down of the suite, or an interruption. */
  readonly suiteFailures: readonly string[];
}

const REASON_LENGTH = 300;

/** Returns the text on one line, without addresses of Go values, which differ in every run. */
export function oneLine(text: string): string {
  const line = text
    .replaceAll(/ ?\| ?0x[0-9a-f]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line.length <= REASON_LENGTH ? line : `${line.slice(0, REASON_LENGTH - 1)}…`;
}

/** Reads the report of one run. Tests that were not selected are left out. */
export function parseReport(json: string): Report {
  const results: TestResult[] = [];
  const suiteFailures: string[] = [];
  for (const suite of JSON.parse(json) as readonly GinkgoSuite[]) {
    const broken = (suite.SpecReports ?? []).filter(
      (spec) => spec.LeafNodeType !== 'It' && outcomeOf(spec.State) === 'failed',
    );
    for (const spec of broken) suiteFailures.push(`${spec.LeafNodeType}: ${reasonOf(spec)}`);
    for (const reason of suite.SpecialSuiteFailureReasons ?? [])
      suiteFailures.push(oneLine(reason));
    for (const spec of suite.SpecReports ?? []) {
      if (spec.LeafNodeType !== 'It') continue;
      const gaveUp = gaveUpBecause(spec);
      const outcome = gaveUp === undefined ? outcomeOf(spec.State) : 'failed';
      const reason = gaveUp ?? (outcome === 'passed' ? '' : reasonOf(spec));
      // An unselected test is also "skipped", but has no reason.
      if (outcome === undefined || (outcome === 'skipped' && reason === '')) continue;
      results.push({
        name: [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].join(' '),
        outcome,
        seconds: Math.round(spec.RunTime / 1e8) / 10,
        reason,
      });
    }
  }
  return { results, suiteFailures };
}

/**
 * Returns undefined for a test that did not run to its end, by choice or because the run was
 * interrupted. A test that ran out of time has failed.
 */
function outcomeOf(state: string): Outcome | undefined {
  if (state === 'passed' || state === 'skipped') return state;
  return ['pending', 'interrupted', 'aborted', 'invalid', ''].includes(state)
    ? undefined
    : 'failed';
}

/**
 * Returns why a test passed without having tested anything: tests of webhooks return when they
 * cannot create the custom resource that they need. Such tests do not count.
 */
function gaveUpBecause({ State, CapturedGinkgoWriterOutput = '' }: GinkgoSpec): string | undefined {
  if (State !== 'passed') return undefined;
  const said =
    /Unexpected error while creating CustomResourceDefinition: the server could not find .*/.exec(
      CapturedGinkgoWriterOutput,
    );
  return said === null
    ? undefined
    : oneLine(`it returned before it had tested anything: ${said[0]}`);
}

/** A pod in JSON, which some tests print before they tell what is wrong with it. */
const DUMPED_POD = /\bPod: \{\n[\s\S]*?\n\}\s*: /g;

function reasonOf(spec: GinkgoSpec): string {
  const { Message = '', ForwardedPanic = '' } = spec.Failure ?? {};
  const text = oneLine(`${Message.replaceAll(DUMPED_POD, '')} ${ForwardedPanic}`);
  return text === '' && outcomeOf(spec.State) === 'failed' ? spec.State : text;
}

/** Returns a line with outcome, seconds, name and reason, separated by tabs. */
export const formatResult = ({ outcome, seconds, name, reason }: TestResult): string =>
  [outcome, seconds.toFixed(1), name, reason].join('\t').trimEnd();

/** Reads lines as `formatResult` writes them; skips comments and empty lines. */
export function parseResults(text: string): TestResult[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [outcome = '', seconds = '', name = '', reason = ''] = line.split('\t');
      if (!(outcomes as readonly string[]).includes(outcome) || name === '')
        throw new Error(`not a result: ${line}`);
      return { outcome: outcome as Outcome, seconds: Number(seconds), name, reason };
    });
}

/** Returns both results, sorted by name. Later results replace earlier ones of the same test. */
export function mergeResults(
  earlier: readonly TestResult[],
  later: readonly TestResult[],
): TestResult[] {
  const byKey = new Map([...earlier, ...later].map((result) => [testKey(result.name), result]));
  return [...byKey.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
