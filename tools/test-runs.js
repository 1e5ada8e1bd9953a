// Runs vitest for `npm test` and `npm run check`, and reports at the end what was skipped, what
// failed, and the counts. Plain JavaScript, as bootstrap.js, which loads it.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, '.cache');
const testReport = join(cache, 'test-report.json');

/** The projects of vitest.config.ts. */
export const PROJECTS = ['unit', 'scenarios', 'e2e', 'e2e-machine'];

/** Tests wait as long as they compute, so there are more workers than processors. */
const MAX_WORKERS = Math.min(8, 2 * availableParallelism());

/** Removes the report of the last run. */
export function forgetReport() {
  rmSync(testReport, { force: true });
}

/** Runs projects with further arguments of vitest. Ends this process with its status if it fails. */
export async function runTests(projects, vitestArgs) {
  forgetReport();
  finish([await run({ projects, vitestArgs, report: testReport })]);
}

/**
 * Runs all tests. Those that share the machine run one after the other, and mostly wait for
 * containers: they run beside the others, and their output follows when they have ended. Ends this
 * process with its status if a test fails.
 */
export async function runAllTests() {
  forgetReport();
  const parts = [
    { projects: PROJECTS.filter((name) => name !== 'e2e-machine'), name: 'shared' },
    { projects: ['e2e-machine'], name: 'machine', printedAtEnd: true },
  ];
  const runs = await Promise.all(
    parts.map(({ name, ...part }) =>
      run({ ...part, vitestArgs: [], report: join(cache, `test-report-${name}.json`) }),
    ),
  );
  finish(runs);
}

/**
 * Runs the files with failures of the last test run again, alone: a test that then passes is
 * reported as flaky, which is a bug, too, but not one of the change under test. More than three
 * such files are not.
 */
export async function runFailedAgain() {
  if (!existsSync(testReport)) fail('there is no report of a test run; run: npm test');
  const failures = failuresOf(readReport(testReport));
  const files = [...new Set(failures.map(({ file }) => file))];
  if (files.length === 0) fail('the last test run reported no failed test, and is not repeated');
  if (files.length > 3) fail(`${files.length} files have failures, too many for flaky tests`);
  await runTests(PROJECTS, ['--maxWorkers=1', ...files]);
  for (const { name, message } of failures)
    process.stdout.write(`flaky: ${name}\n${indented(message)}\n`);
}

/**
 * Runs vitest to its end. Resolves with its status and its report, which is undefined if it has
 * written none. `printedAtEnd`: its output is kept until then, since another run prints its own.
 */
function run({ projects, vitestArgs, report, printedAtEnd = false }) {
  mkdirSync(cache, { recursive: true });
  rmSync(report, { force: true });
  const hasWorkers = vitestArgs.some((arg) => arg.startsWith('--maxWorkers'));
  const args = [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    ...(hasWorkers ? [] : [`--maxWorkers=${MAX_WORKERS}`]),
    ...projects.flatMap((project) => ['--project', project]),
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...vitestArgs,
  ];
  const FORCE_COLOR = process.env.FORCE_COLOR ?? (process.stdout.isTTY ? '1' : '0');
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: printedAtEnd ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, FORCE_COLOR },
  });
  const output = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (part) => output.push(part));
  return new Promise((resolve) => {
    child.once('error', (error) => fail(`cannot run vitest: ${error.message}`));
    child.once('close', (status) => {
      process.stdout.write(Buffer.concat(output));
      resolve({ status: status ?? 1, report: existsSync(report) ? readReport(report) : undefined });
    });
  });
}

/** Returns the files of a test run, with the tests of each. */
function readReport(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** Writes one report of all runs, prints it, and ends this process if one of them has failed. */
function finish(runs) {
  const reports = runs.flatMap(({ report }) => report ?? []);
  if (reports.length > 0) {
    const whole = {
      numPassedTests: reports.reduce((sum, { numPassedTests }) => sum + numPassedTests, 0),
      testResults: reports.flatMap(({ testResults }) => testResults),
    };
    writeFileSync(testReport, JSON.stringify(whole));
    print(whole);
  }
  const failed = runs.find(({ status }) => status !== 0);
  if (failed !== undefined) process.exit(failed.status);
}

function print(report) {
  const failures = failuresOf(report);
  const skipped = report.testResults
    .flatMap((file) => file.assertionResults)
    .filter(({ status }) => status === 'skipped' || status === 'todo');
  for (const test of skipped) process.stdout.write(`skipped: ${test.fullName}\n`);
  for (const { name, message } of failures)
    process.stdout.write(`failed: ${name}\n${indented(message)}\n`);
  process.stdout.write(
    `\n${report.numPassedTests} passed, ${failures.length} failed, ${skipped.length} skipped\n`,
  );
}

/** Reports whether a test has no result. A test that is skipped has one. */
const isUnfinished = ({ status }) => status === 'pending';

/**
 * Returns the names and messages of tests that failed, of files that could not be run, and of files
 * whose process ended before them.
 */
function failuresOf({ testResults }) {
  return testResults.flatMap((file) => {
    const failed = file.assertionResults.filter((test) => test.status === 'failed');
    if (file.assertionResults.some(isUnfinished)) {
      const message = 'the process that ran it ended: see the output above';
      return [{ file: file.name, name: relative(root, file.name), message }];
    }
    if (failed.length === 0 && file.status === 'failed')
      return [{ file: file.name, name: relative(root, file.name), message: file.message }];
    return failed.map((test) => ({
      file: file.name,
      name: `${relative(root, file.name)} ${test.fullName}`,
      message: (test.failureMessages ?? []).join('\n'),
    }));
  });
}

const indented = (text) => text.replaceAll(/^/gm, '  ');

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
