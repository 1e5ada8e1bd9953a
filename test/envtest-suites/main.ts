// `npm run envtest-suites`: the tests of Go modules that use envtest, with this API server in the
// place of upstream's. The README beside this file describes the flags.

import { spawn, spawnSync } from 'node:child_process';
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { UserError } from '#cluster/user-error.ts';
import { systemClock } from '#machinery/clock.ts';
import { parseFlags } from '../../tools/flags.ts';
import { ensurePrograms, fileName, programsOf, type TestProgram } from './programs.ts';
import { countOf, readOutput, readReport, type SpecResult } from './results.ts';
import { suites } from './suites.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const usage = `usage: npm run envtest-suites -- [flags]
  --package REGEX  only the packages whose path matches, such as 'controller-runtime/pkg/client$'
  --focus REGEX    only the specs whose name matches
  --assets DIR     other programs, such as upstream's kube-apiserver, etcd and kubectl
  --output DIR     where reports and logs go (default .cache/envtest-suites)
  --if-built       leave out what has not been built yet
`;
const TIMEOUT = '20m';
/** Set in the environment of a run's servers, to the process ID of this program. */
const RUN = 'COXSWAIN_ENVTEST_SUITES_RUN';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

interface Options {
  readonly assets: string;
  readonly focus: string;
  readonly ginkgo: boolean;
  readonly output: string;
  readonly skip: string;
}

async function main(): Promise<void> {
  const flags = parseFlags('envtest-suites', usage, {
    package: { type: 'string', default: '' },
    focus: { type: 'string', default: '' },
    assets: { type: 'string' },
    output: { type: 'string', default: join(root, '.cache', 'envtest-suites') },
    'if-built': { type: 'boolean', default: false },
  });
  const output = resolve(flags.output);
  mkdirSync(output, { recursive: true });
  const assets = flags.assets === undefined ? ownAssets(output) : resolve(flags.assets);
  const wanted = new RegExp(flags.package, 'u');
  let failed = 0;
  let passed = 0;
  for (const suite of suites) {
    const programs = programsOf(suite).filter(({ name, path }) =>
      flags['if-built'] && !existsSync(path) ? false : wanted.test(`${suite.module}/${name}`),
    );
    ensurePrograms(suite, programs, say);
    for (const program of programs) {
      const { ginkgo, skip } = suite;
      const { focus } = flags;
      const results = await run(program, { assets, focus, ginkgo, output, skip });
      report(`${suite.module}/${program.name}`, results);
      failed += countOf(results, 'failed');
      passed += countOf(results, 'passed');
    }
  }
  process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  if (failed > 0 || (passed === 0 && !flags['if-built'])) {
    say(`logs: ${output}`);
    process.exitCode = 1;
  }
}

/** Returns a folder of programs that stand for this server. */
function ownAssets(output: string): string {
  const dir = join(output, 'assets');
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, 'bin', 'cox.js'), 'envtest', '--dir', dir],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new UserError(`cox envtest: ${stderr.trim()}`);
  return dir;
}

/** Runs a test program. Its output goes to a file. A program that ends without a report has failed. */
async function run(
  { name, path, dir }: TestProgram,
  { assets, focus, ginkgo, output, skip }: Options,
): Promise<readonly SpecResult[]> {
  const base = join(output, fileName(name));
  const report = `${base}.json`;
  rmSync(report, { force: true });
  const log = createWriteStream(`${base}.log`);
  const began = systemClock.monotonic();
  const args = [
    '-test.v',
    `-test.timeout=${TIMEOUT}`,
    `-test.skip=${skip}`,
    ...(ginkgo ? ['-ginkgo.no-color', `-ginkgo.json-report=${report}`] : []),
    ...(focus === '' ? [] : [`${ginkgo ? '-ginkgo.focus' : '-test.run'}=${focus}`]),
  ];
  const child = spawn(path, args, {
    cwd: dir,
    // The controllers of a cluster are not part of upstream's envtest.
    env: {
      ...process.env,
      KUBEBUILDER_ASSETS: assets,
      COX_ENVTEST_CONTROLLERS: '',
      [RUN]: String(process.pid),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const status = await new Promise<number | null>((settle, reject) => {
    child.once('error', reject);
    child.once('close', settle);
  });
  log.end();
  await finished(log);
  stopServersOf(process.pid);
  const results = [
    ...(existsSync(report) ? readReport(readFileSync(report, 'utf8')) : []),
    ...readOutput(readFileSync(`${base}.log`, 'utf8')),
  ];
  if (status === 0 || countOf(results, 'failed') > 0) return results;
  const seconds = (systemClock.monotonic() - began) / 1000;
  const message = `the program ended with status ${status}`;
  return [...results, { name: '[program]', outcome: 'failed', seconds, message }];
}

/** Stops servers that the tests of a run have left: each is in a process group of its own. */
function stopServersOf(run: number): void {
  const mark = `\0${RUN}=${run}\0`;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/u.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark))
        process.kill(Number(pid), 'SIGTERM');
    } catch (error) {
      // The process has ended meanwhile, or is another user's.
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) throw error;
    }
  }
}

function report(name: string, results: readonly SpecResult[]): void {
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  const counts = (['passed', 'failed', 'skipped', 'pending'] as const)
    .map((outcome) => `${countOf(results, outcome)} ${outcome}`)
    .join(', ');
  process.stdout.write(`${name}: ${counts} (${seconds.toFixed(1)} s)\n`);
  for (const { outcome, name: spec, message } of results)
    if (outcome === 'failed')
      process.stdout.write(`  failed: ${spec}\n    ${message.split('\n', 1)[0]}\n`);
}

main().catch((error: unknown) => {
  say(
    error instanceof UserError
      ? `envtest-suites: ${error.message}`
      : String((error as Error)?.stack ?? error),
  );
  process.exitCode = 1;
});
