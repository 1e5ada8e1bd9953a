// Runs the suite once. ginkgo spreads the tests over processes, and runs the serial ones alone
// after them. Each finished test is reported at once, from ginkgo's output; all results are in its
// JSON report.

import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Binaries, driverFlag } from './binaries.ts';
import { parseReport, type Outcome, type Report } from './results.ts';
import { UserError } from '#cluster/user-error.ts';

export interface RunConfig {
  readonly binaries: Binaries;
  readonly kubeconfig: string;
  /** The root directory of the kubelets, if it is known. */
  readonly kubeletRoot?: string;
  /** The number of nodes, if it is known. */
  readonly nodes?: number;
  /** Whether volumes of the CSI driver do not wait for their first pod. Default: false. */
  readonly immediateVolumes?: boolean;
  /** See RunningCluster. */
  readonly provider?: string;
  /** See RunningCluster. */
  readonly distribution?: string;
  /** The file of the private key by which the suite logs in to nodes, as root. */
  readonly sshKey?: string;
  /** Exact names. */
  readonly tests: readonly string[];
  readonly parallel: number;
  /** The directory of report.json and output.log. */
  readonly outputDir: string;
  /**
   * Called when a test has ended, in the order of their ends. Skipped tests are only in the report.
   */
  readonly onTest: (name: string, outcome: Outcome) => void;
  /**
   * After this time the whole run is ended, and running tests have failed. Default: twelve hours.
   */
  readonly timeoutSeconds?: number;
  /** Ends the run early; finished tests are reported. */
  readonly signal: AbortSignal;
}

/** Returns a Go regular expression that matches exactly these names. */
export const focusOf = (tests: readonly string[]): string =>
  `^.*?(?:${tests.map((name) => name.replaceAll(/[\\.+*?()|[\]{}^$]/g, '\\$&')).join('|')})$`;

/** Rejects with a UserError if the suite leaves no report. */
export async function runSuite(config: RunConfig): Promise<Report> {
  const { binaries, outputDir } = config;
  mkdirSync(outputDir, { recursive: true });
  const report = join(outputDir, 'report.json');
  const output = join(outputDir, 'output.log');
  rmSync(report, { force: true });
  const alone = config.tests.length === 1;
  const progress = alone ? () => undefined : progressReader(config.tests, config.onTest);
  const log = openSync(output, 'w');
  try {
    const child = spawn(
      binaries.ginkgo,
      [
        // With one process, ginkgo prints while a test runs, in an order that progressReader does
        // not understand.
        `--procs=${alone ? 1 : Math.max(config.parallel, 2)}`,
        '-v',
        '--silence-skips',
        '--no-color',
        '--keep-going',
        `--timeout=${config.timeoutSeconds ?? 43_200}s`,
        `--focus=${focusOf(config.tests)}`,
        `--output-dir=${outputDir}`,
        '--json-report=report.json',
        binaries.suite,
        '--',
        `--kubeconfig=${config.kubeconfig}`,
        `--provider=${config.provider ?? 'skeleton'}`,
        `--node-os-distro=${config.distribution ?? 'debian'}`,
        `--kubectl-path=${binaries.kubectl}`,
        `--e2e-output-dir=${outputDir}`,
        driverFlag(config.immediateVolumes),
        ...(config.kubeletRoot === undefined ? [] : [`--kubelet-root-dir=${config.kubeletRoot}`]),
        ...(config.nodes === undefined ? [] : [`--num-nodes=${config.nodes}`]),
      ],
      { stdio: ['ignore', 'pipe', log], detached: true, cwd: outputDir, env: environment(config) },
    );
    createInterface({ input: child.stdout as Readable }).on('line', (line) => {
      writeSync(log, `${line}\n`);
      progress(line);
    });
    const interrupt = (): void =>
      void (child.pid !== undefined && process.kill(-child.pid, 'SIGINT'));
    config.signal.addEventListener('abort', interrupt, { once: true });
    if (config.signal.aborted) interrupt();
    await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    config.signal.removeEventListener('abort', interrupt);
  } finally {
    closeSync(log);
  }
  if (!existsSync(report))
    throw new UserError(`the suite ended without a report; what it said is in ${output}`);
  const parsed = parseReport(readFileSync(report, 'utf8'));
  if (alone) for (const { name, outcome } of parsed.results) config.onTest(name, outcome);
  return parsed;
}

const environment = ({ sshKey }: RunConfig): NodeJS.ProcessEnv => ({
  ...process.env,
  ...(sshKey !== undefined && { KUBE_SSH_KEY_PATH: sshKey, KUBE_SSH_USER: 'root' }),
});

/**
 * Reports finished tests from ginkgo's verbose output: `• [1.2 seconds]` or `• [FAILED] [1.2
 * seconds]`, with the name on the next line.
 */
export function progressReader(
  tests: readonly string[],
  onTest: RunConfig['onTest'],
): (line: string) => void {
  let outcome: Outcome | undefined;
  return (line) => {
    if (outcome !== undefined) {
      // In front of the last part of a failed test's name is the kind of the failed node; labels
      // follow the name.
      const said = line.replace(/ \[(?:It|BeforeEach|AfterEach|DeferCleanup \(Each\))\]/, '');
      const name = tests.find((test) => said.startsWith(test));
      if (name !== undefined) onTest(name, outcome);
    }
    const ended = /^•(?: \[([A-Z]+)\])?(?: \[[^\]]*\])* \[[\d.]+ seconds\]$/.exec(line);
    outcome = ended === null ? undefined : ended[1] === undefined ? 'passed' : 'failed';
  };
}
