// Helpers of the end-to-end tests: the built command as a child process, the real kubectl (the
// oldest and the newest installed), temporary directories that are removed after the test, and
// waits for conditions.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findProgram, isRoot, missingTools } from '#cluster/machine/install.ts';
import { systemClock } from '#machinery/clock.ts';
import { partOrWhole } from '#machinery/testing/long-tests.ts';
import * as wait from '#machinery/wait.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
// Programs of a test run what was built before it, though sources are edited meanwhile.
process.env['COXSWAIN_BUILT'] ??= '1';

/** Node's arguments that run the command: built, or with E2E_FROM_SOURCE=1 straight from src/. */
export const coxArgs: readonly string[] =
  process.env['E2E_FROM_SOURCE'] === '1'
    ? ['--import', join(root, 'node_modules/tsx/dist/loader.mjs'), join(root, 'src/cli/main.ts')]
    : [join(root, 'bin', 'cox.js')];

/** The reason why a test is skipped, shown in its name. Undefined: it runs. */
export const missingKubectl =
  findProgram('kubectl') === undefined
    ? 'kubectl is not installed (apt-get install kubernetes-client)'
    : undefined;
export const missingContainerd =
  process.platform !== 'linux' || !isRoot()
    ? 'containerd needs Linux and root'
    : missingTools().length > 0
      ? `missing: ${missingTools().join(', ')} (apt-get install containerd runc ` +
        'containernetworking-plugins busybox-static)'
      : undefined;

/** Returns the name of a test or suite, with the reason if it is skipped. */
export const named = (name: string, missing: string | undefined): string =>
  missing === undefined ? name : `${name} [skipped: ${missing}]`;

/**
 * Returns the oldest and the newest kubectl beside the one in PATH (named kubectl.1.NN), or that
 * one alone.
 */
export function kubectls(): readonly { readonly version: string; readonly path: string }[] {
  const inPath = findProgram('kubectl');
  if (inPath === undefined) return [];
  const folder = dirname(realpathSync(inPath));
  const versions = readdirSync(folder)
    .flatMap((file) => /^kubectl\.1\.(\d+)$/.exec(file) ?? [])
    .filter((_, index) => index % 2 === 1)
    .map(Number)
    .sort((a, b) => a - b);
  if (versions.length === 0) return [{ version: 'in PATH', path: inPath }];
  return [...new Set([versions[0], versions.at(-1)])].map((minor) => ({
    version: `1.${minor}`,
    path: join(folder, `kubectl.1.${minor}`),
  }));
}

/**
 * Returns the versions of kubectl for tests that do the same with each: the newest one, at night
 * also the oldest. `npm test` runs a session with both, and compares what they print (test/skew).
 */
export function testedKubectls(): ReturnType<typeof kubectls> {
  return partOrWhole(kubectls().slice(-1), kubectls());
}

export function temporaryDir(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'cox-e2e-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit status; -1 if it was killed by the timeout. */
  readonly status: number;
}

/** Runs a program to its end. Never throws for its exit status. */
export function run(
  program: string,
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv; cwd?: string; timeoutMs?: number } = {},
): Promise<RunResult> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      {
        env: { ...process.env, ...options.env },
        cwd: options.cwd,
        timeout: options.timeoutMs ?? 60_000,
        maxBuffer: 64 << 20,
        encoding: 'utf8',
      },
      (err, stdout, stderr) => {
        const status = err === null ? 0 : typeof err.code === 'number' ? err.code : -1;
        resolve({
          stdout,
          stderr: err !== null && status === -1 ? `${stderr}\n${err.message}` : stderr,
          status,
        });
      },
    );
    if (options.input !== undefined) child.stdin?.end(options.input);
    else child.stdin?.end();
  });
}

export class Kubectl {
  readonly path: string;
  readonly kubeconfig: string;
  readonly #home: string;

  constructor(path: string, kubeconfig: string, home: string) {
    this.path = path;
    this.kubeconfig = kubeconfig;
    this.#home = home;
  }

  get env(): NodeJS.ProcessEnv {
    return { KUBECONFIG: this.kubeconfig, HOME: this.#home, KUBECTL_EXTERNAL_DIFF: 'diff' };
  }

  /** Runs kubectl. Any exit status is accepted. */
  try(
    args: string,
    options: { input?: string; timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
  ): Promise<RunResult> {
    return run(this.path, splitWords(args), { ...options, env: { ...this.env, ...options.env } });
  }

  /** Runs kubectl, which must succeed. Returns stdout. */
  async run(
    args: string,
    options: { input?: string; timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
  ): Promise<string> {
    const result = await this.try(args, options);
    if (result.status !== 0)
      throw new Error(
        `kubectl ${args} ended with ${result.status}:\n${result.stdout}\n${result.stderr}`,
      );
    return result.stdout;
  }

  spawn(args: string): ChildProcess {
    return spawn(this.path, splitWords(args), {
      env: { ...process.env, ...this.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  }
}

/** Splits as a shell would: quotes group words, nothing is expanded. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double),
  );
}

export interface RunningCluster {
  readonly process: ChildProcess;
  readonly dataDir: string;
  readonly kubeconfig: string;
  /** Everything printed on stdout until it was ready. */
  readonly output: string;
  stderr(): string;
  kubectl(path?: string): Kubectl;
  /** Sends SIGTERM. Resolves with the exit status. */
  stop(): Promise<number>;
  /** Sends SIGKILL to the process, as a crash. */
  kill(): Promise<void>;
}

/** Starts `cox up` and waits for its ready line. Throws with its output if it ends before. */
export async function coxUp(
  flags: readonly string[],
  options: { dataDir: string; port?: number; env?: NodeJS.ProcessEnv },
): Promise<RunningCluster> {
  const { dataDir } = options;
  const args = [
    ...coxArgs,
    'up',
    '--data-dir',
    dataDir,
    '--secure-port',
    String(options.port ?? 0),
    '--no-install',
    ...flags,
  ];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')));
  const exited = new Promise<number>((resolve) =>
    child.once('exit', (code) => resolve(code ?? -1)),
  );
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString('utf8');
      if (/^cluster ready in .*\n/m.test(stdout)) resolve();
    });
    child.once('exit', (code) =>
      reject(new Error(`cox up ended with ${code}:\n${stdout}\n${stderr}`)),
    );
  });
  const kubeconfig = join(dataDir, 'kubeconfig');
  return {
    process: child,
    dataDir,
    kubeconfig,
    output: stdout,
    stderr: () => stderr,
    kubectl: (path = kubectls()[0]?.path ?? 'kubectl') => new Kubectl(path, kubeconfig, dataDir),
    async stop() {
      child.kill('SIGTERM');
      return exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * Waits until `condition` resolves with a truthy value. Throws with its last result after the
 * timeout.
 */
export async function eventually<T>(
  what: string,
  condition: () => Promise<T | undefined | false>,
  timeoutMs = 60_000,
): Promise<T> {
  let found: T | undefined | false;
  let lastError: unknown;
  try {
    await wait.pollImmediately({ clock: systemClock, intervalMs: 100, timeoutMs }, async () => {
      try {
        found = await condition();
        lastError = undefined;
      } catch (error) {
        lastError = error;
        return false;
      }
      return Boolean(found);
    });
  } catch (error) {
    throw new Error(
      `timed out: ${what}${lastError instanceof Error ? `: ${lastError.message}` : ''}`,
      { cause: error },
    );
  }
  return found as T;
}

export function writeManifest(dir: string, name: string, yaml: string): string {
  const path = join(dir, name);
  writeFileSync(path, yaml);
  return path;
}

export { existsSync, readFileSync };
