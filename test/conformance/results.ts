// What became of each test: read from the JSON report that ginkgo writes, kept as one line per
// test.

import { testKey } from './needs.ts';

export const outcomes = ['passed', 'failed', 'skipped'] as const;
export type Outcome = (typeof outcomes)[number];

export interface TestResult {
  /** With its labels, as upstream's binary prints it. */
  readonly name: string;
  readonly outcome: Outcome;
  readonly seconds: number;
  /** Why it failed or was skipped, on one line; empty if it passed. */
  readonly reason: string;
}

/** The part of ginkgo's report that is read here. */
interface GinkgoSpec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  /** Nanoseconds. */
  readonly RunTime: number;
  /** What the test said. */
  readonly CapturedGinkgoWriterOutput?: string;
  readonly Failure?: { readonly Message?: string; readonly ForwardedPanic?: string };
}

interface GinkgoSuite {
  readonly SpecialSuiteFailureReasons?: readonly string[] | null;
  readonly SpecReports: readonly GinkgoSpec[] | null;
}

export interface Report {
  readonly results: readonly TestResult[];
  /** What went wrong outside of any test: setting up or tearing down the suite, an interruption. */
  readonly suiteFailures: readonly string[];
}

const REASON_LENGTH = 300;

/** One line: addresses of Go values say nothing and differ in every run. */
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
      // A test that was never chosen is also "skipped", but then nothing says why.
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
 * Undefined: it was not run to its end, by choice or because somebody interrupted the run. A test
 * that ran out of time has failed.
 */
function outcomeOf(state: string): Outcome | undefined {
  if (state === 'passed' || state === 'skipped') return state;
  return ['pending', 'interrupted', 'aborted', 'invalid', ''].includes(state)
    ? undefined
    : 'failed';
}

/**
 * Tests of webhooks return as if they had passed when they cannot make the custom resource that
 * they are about. They have shown nothing, so they do not count.
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

function reasonOf(spec: GinkgoSpec): string {
  const { Message = '', ForwardedPanic = '' } = spec.Failure ?? {};
  const text = oneLine(`${Message} ${ForwardedPanic}`);
  return text === '' && outcomeOf(spec.State) === 'failed' ? spec.State : text;
}

/** outcome, seconds, name, reason, separated by tabs. */
export const formatResult = ({ outcome, seconds, name, reason }: TestResult): string =>
  [outcome, seconds.toFixed(1), name, reason].join('\t').trimEnd();

/** Reads lines as `formatResult` writes them; comments and empty lines are left out. */
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

/** The later ones replace the earlier ones of the same test; sorted by name. */
export function mergeResults(
  earlier: readonly TestResult[],
  later: readonly TestResult[],
): TestResult[] {
  const byKey = new Map([...earlier, ...later].map((result) => [testKey(result.name), result]));
  return [...byKey.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
