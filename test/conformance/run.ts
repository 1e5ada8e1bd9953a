// One run of the suite: ginkgo spreads the tests over processes and runs the serial ones alone after them; each finished test is told
// at once over upstream's progress endpoint; what became of them all is in ginkgo's JSON report.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { parseReport, type Outcome, type Report } from './results.ts';
import { UserError } from '../../src/cluster/user-error.ts';

export interface RunConfig {
  readonly binaries: Binaries;
  readonly kubeconfig: string;
  /** Exact names. */
  readonly tests: readonly string[];
  readonly parallel: number;
  /** Where report.json and output.log are written. */
  readonly outputDir: string;
  /** Called when a test has ended, in the order in which they do. Skipped ones are only in the report. */
  readonly onTest: (name: string, outcome: Outcome) => void;
  /** Ends the run early; what was finished is reported. */
  readonly signal: AbortSignal;
}

/** A Go regular expression that matches these names and no other. */
export const focusOf = (tests: readonly string[]): string =>
  `^.*?(?:${tests.map((name) => name.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')).join('|')})$`;

/** Rejects with a UserError where the suite leaves no report. */
export async function runSuite(config: RunConfig): Promise<Report> {
  const { binaries, outputDir } = config;
  mkdirSync(outputDir, { recursive: true });
  const report = join(outputDir, 'report.json');
  const output = join(outputDir, 'output.log');
  rmSync(report, { force: true });
  const progress = await progressServer(config.onTest);
  const log = openSync(output, 'w');
  try {
    const child = spawn(
      binaries.ginkgo,
      [
        `--procs=${config.parallel}`,
        '--no-color',
        '--keep-going',
        '--timeout=12h',
        `--focus=${focusOf(config.tests)}`,
        `--output-dir=${outputDir}`,
        '--json-report=report.json',
        binaries.suite,
        '--',
        `--kubeconfig=${config.kubeconfig}`,
        '--provider=skeleton',
        `--kubectl-path=${binaries.kubectl}`,
        `--progress-report-url=${progress.url}`,
        `--e2e-output-dir=${outputDir}`,
      ],
      { stdio: ['ignore', log, log], detached: true, cwd: outputDir },
    );
    const interrupt = (): void => void (child.pid !== undefined && process.kill(-child.pid, 'SIGINT'));
    config.signal.addEventListener('abort', interrupt, { once: true });
    await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    config.signal.removeEventListener('abort', interrupt);
  } finally {
    closeSync(log);
    progress.close();
  }
  if (!existsSync(report)) throw new UserError(`the suite ended without a report; what it said is in ${output}`);
  return parseReport(readFileSync(report, 'utf8'));
}

/** Takes what the suite posts after each test: {"msg": "PASSED name"}. */
async function progressServer(onTest: RunConfig['onTest']): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.end();
      const { msg = '' } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { msg?: string };
      const [, outcome, name] = /^(PASSED|FAILED) (.+)$/.exec(msg) ?? [];
      if (name !== undefined) onTest(name, outcome === 'PASSED' ? 'passed' : 'failed');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
