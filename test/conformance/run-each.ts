// Runs the suite with one test each, so that each test has its own time limit: ginkgo bounds only
// whole runs.

import { join } from 'node:path';
import { runSuite, type RunConfig } from './run.ts';
import type { Report, TestResult } from './results.ts';

export interface RunEachConfig extends RunConfig {
  /** The time limit of each test. */
  readonly timeoutSeconds?: number;
}

/**
 * ginkgo's message about a run that took too long. It is the failure of the test, not one more
 * failure.
 */
const ENDED_BY_TIMEOUT = /timeout/i;

/** Runs one test by itself; only this file's tests replace runSuite. */
type RunOne = (config: RunConfig) => Promise<Report>;

/**
 * Runs serial tests after the others, one at a time. Each test's files are in a folder of
 * `outputDir` that is named by its place in `tests`.
 */
export async function runEach(config: RunEachConfig, runOne: RunOne = runSuite): Promise<Report> {
  const results: TestResult[] = [];
  const suiteFailures: string[] = [];
  const numbered = config.tests.map((name, index) => ({ name, index }));
  const isSerial = ({ name }: { name: string }): boolean => name.includes('[Serial]');

  const work = async (queue: typeof numbered): Promise<void> => {
    for (
      let next = queue.shift();
      next !== undefined && !config.signal.aborted;
      next = queue.shift()
    ) {
      const { name, index } = next;
      const report = await runOne({
        ...config,
        tests: [name],
        parallel: 1,
        outputDir: join(config.outputDir, String(index + 1)),
      });
      for (const result of report.results) results.push(withTimeout(result, config.timeoutSeconds));
      suiteFailures.push(
        ...report.suiteFailures.filter((failure) => !ENDED_BY_TIMEOUT.test(failure)),
      );
    }
  };
  const others = numbered.filter((test) => !isSerial(test));
  await Promise.all(Array.from({ length: config.parallel }, () => work(others)));
  await work(numbered.filter(isSerial));
  return { results, suiteFailures };
}

/** Returns the result with the time limit in the reason, if the test was ended by the limit. */
function withTimeout(result: TestResult, seconds: number | undefined): TestResult {
  if (result.outcome !== 'failed' || !/^A suite timeout occurred|^timedout$/.test(result.reason))
    return result;
  return { ...result, reason: `not done after ${seconds} s (--timeout)` };
}
