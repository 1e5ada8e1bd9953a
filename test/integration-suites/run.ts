// Runs a test program beside an etcd of its own, until each of its tests has a result.

import { type ChildProcess, spawn, type SpawnOptions, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { ownValue } from '#machinery/collections/string-map.ts';
import { UserError } from '#cluster/user-error.ts';
import { startEtcd } from '#storage/etcd/testing/etcd-process.ts';
import { type TestProgram, withFiles } from './programs.ts';
import { readResults, type TestResult } from './results.ts';
import { executables } from './suites.ts';

/** A program that takes longer is ended; its tests that have not begun run in another one. */
const TIMEOUT = '30m';
/** The last line of a program with a test that has failed. */
const FAILED = /^FAIL$/mu;
/** How often the log is looked at, in ms. */
const LOOK_MS = 5000;

export interface RunOptions {
  /** The program that stands for the API server: it is called as `PROGRAM apiserver FLAGS`. */
  readonly program: string;
  readonly etcd: string;
  /** The folder of logs. */
  readonly output: string;
  /** A pattern of names of tests; empty: all. */
  readonly focus: string;
  /** A pattern of names of tests that are left out. */
  readonly skip: string;
}

/** Returns a result for each test. The logs of programs and servers are in the folder `output`. */
export async function runProgram(
  test: TestProgram,
  options: RunOptions,
): Promise<readonly TestResult[]> {
  const base = join(options.output, test.name.replaceAll('/', '_'));
  for (const end of ['.log', '.server.log']) rmSync(base + end, { force: true });
  const results = new Map<string, TestResult>();
  let remaining: readonly string[] = [];
  const scripts = executableCopies(test, options.output);
  const etcd = await startEtcd({ program: options.etcd, args: ['--unsafe-no-fsync'] });
  try {
    const env = {
      ...process.env,
      KUBE_INTEGRATION_ETCD_URL: etcd.endpoint,
      COXSWAIN_INTEGRATION_PROGRAM: options.program,
      COXSWAIN_INTEGRATION_LOG: `${base}.server.log`,
      COXSWAIN_BUILT: '1',
    };
    remaining = testsOf(test, options, env);
    while (remaining.length > 0) {
      const args = [
        '-test.v',
        `-test.timeout=${TIMEOUT}`,
        `-test.run=^(${remaining.join('|')})$`,
        ...(options.skip === '' ? [] : [`-test.skip=${options.skip}`]),
      ];
      const log = `${base}.part.log`;
      // The program's name is that of managers of fields, which tests expect as Go's tools have it.
      const argv0 = `${basename(test.package)}.test`;
      const program = [...withFiles(argv0, scripts), test.path, ...args];
      const child = spawnTo(log, 'unshare', program, { cwd: test.dir, env });
      const status = await runLogged(child, () => FAILED.test(readFileSync(log, 'utf8')));
      const text = readFileSync(log, 'utf8');
      rmSync(log);
      appendFileSync(`${base}.log`, text);
      const ended = readResults(test.name, text);
      for (const result of ended) results.set(result.test, result);
      const after = remaining.filter((name) => !results.has(name));
      // A program that ends before its first test would do so again.
      if (after.length === remaining.length) break;
      remaining = after;
      if (status !== 0 && ended.every(({ outcome }) => outcome !== 'failed'))
        results.set('[program]', {
          package: test.name,
          test: '[program]',
          outcome: 'failed',
          message: `the program ended with status ${status}, after tests that passed`,
        });
    }
  } finally {
    await etcd.stop();
  }
  for (const name of remaining)
    results.set(name, {
      package: test.name,
      test: name,
      outcome: 'failed',
      message: 'it did not begin',
    });
  return [...results.values()];
}

/** Makes executable copies of the package's scripts. Returns each with the file whose place it takes. */
function executableCopies(
  { name, dir }: TestProgram,
  output: string,
): readonly (readonly [string, string])[] {
  return (ownValue(executables, name) ?? []).map((path) => {
    const copy = join(output, basename(path));
    rmSync(copy, { force: true });
    copyFileSync(join(dir, path), copy);
    chmodSync(copy, 0o755);
    return [copy, join(dir, path)] as const;
  });
}

/** Returns the names of the tests that match `focus` and not `skip`. Packages ask for etcd first. */
function testsOf(
  { path, dir }: TestProgram,
  { focus, skip }: RunOptions,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const { status, stdout, stderr } = spawnSync(path, ['-test.list', focus === '' ? '.' : focus], {
    cwd: dir,
    env,
    encoding: 'utf8',
  });
  if (status !== 0) throw new UserError(`${basename(path)}: ${stderr}`);
  const left = skip === '' ? undefined : new RegExp(skip, 'u');
  return stdout
    .split('\n')
    .filter((name) => name.startsWith('Test') && name !== 'TestMain' && left?.test(name) !== true);
}

/** Starts a program whose output goes to a file. */
function spawnTo(
  log: string,
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): ChildProcess {
  const file = openSync(log, 'w');
  const child = spawn(program, args, { ...options, stdio: ['ignore', file, file] });
  closeSync(file);
  return child;
}

/**
 * Resolves with the exit status. Rejects if the program cannot be started. After a failure upstream's
 * programs look for ten minutes whether what the test has left behind ends: they are ended instead.
 */
async function runLogged(child: ChildProcess, hasFailed: () => boolean): Promise<number | null> {
  const looking = setInterval(() => {
    if (hasFailed()) child.kill('SIGKILL');
  }, LOOK_MS);
  try {
    return await new Promise((settle, reject) => {
      child.once('error', reject);
      child.once('close', settle);
    });
  } finally {
    clearInterval(looking);
  }
}
