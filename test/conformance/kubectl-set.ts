// The set `kubectl`: the functions of upstream's test/cmd, run by test/kubectl-commands, as results
// beside those of the suite.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FunctionResult, reasonOf } from '../kubectl-commands/results.ts';
import { runFunctions } from '../kubectl-commands/run.ts';
import type { Report, TestResult } from './results.ts';

const PREFIX = '[sig-cli] test/cmd ';

export const kubectlTestName = (name: string): string => `${PREFIX}${name}`;
const functionName = (test: string): string => test.slice(PREFIX.length);

export interface KubectlSetConfig {
  /** Names of tests. */
  readonly tests: readonly string[];
  readonly outputDir: string;
  readonly progress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A finished function, with what it printed. */
export interface FunctionOutput extends FunctionResult {
  readonly output: string;
}

/**
 * Runs functions on servers of ours, and those that fail there on upstream's, too. Functions that
 * fail on both count as skipped.
 */
export async function runKubectlSet(config: KubectlSetConfig): Promise<Report> {
  const ours = await runOn('ours', config.tests.map(functionName), config);
  const failed = ours.results.filter(({ outcome }) => outcome === 'failed');
  const upstream =
    failed.length === 0
      ? undefined
      : await runOn(
          'upstream',
          failed.map(({ name }) => name),
          config,
        );
  return {
    results: kubectlResults(ours.results, upstream?.results ?? []),
    suiteFailures: [...ours.failures, ...(upstream?.failures ?? [])],
  };
}

/** Returns results of ours. `upstream` has the functions that were run on upstream's servers. */
export function kubectlResults(
  ours: readonly FunctionOutput[],
  upstream: readonly FunctionOutput[],
): TestResult[] {
  return ours.map(({ name, outcome, seconds, output }) => {
    const failsThere = upstream.some((other) => other.name === name && other.outcome === 'failed');
    const reason = outcome === 'failed' ? reasonOf(output) : '';
    return {
      name: kubectlTestName(name),
      outcome: failsThere ? 'skipped' : outcome,
      seconds,
      reason: failsThere ? `it fails on upstream's servers, too: ${reason}` : reason,
    };
  });
}

async function runOn(
  servers: 'ours' | 'upstream',
  names: readonly string[],
  { outputDir, progress, signal }: KubectlSetConfig,
): Promise<{ readonly results: readonly FunctionOutput[]; readonly failures: readonly string[] }> {
  const output = join(outputDir, servers);
  progress(`${names.length} functions of test/cmd on servers of ${servers}`);
  const focus = `^(${names.join('|')})$`;
  const run = await runFunctions({ servers, focus, output, progress, signal });
  const results = run.results
    .filter(({ outcome }) => outcome !== 'skipped')
    .map((result) => ({
      ...result,
      output: readFileSync(join(output, `${result.name}.log`), 'utf8'),
    }));
  // The script ends with 1 if a function failed. Without one, the error was outside of functions.
  const isBroken = run.status !== 0 && results.every(({ outcome }) => outcome !== 'failed');
  return {
    results,
    failures: isBroken
      ? [`test-cmd.sh on servers of ${servers} ended with ${run.status}; see ${output}/script.log`]
      : [],
  };
}
