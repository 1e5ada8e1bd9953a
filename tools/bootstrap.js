// The entry of every npm script, in plain JavaScript so that it runs in a fresh clone with nothing
// but Node and npm. It installs dependencies and builds if they are missing or out of date, prints
// that, and then runs the script. If everything is current it adds a few milliseconds.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { constants as os } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const inRoot = (...parts) => join(root, ...parts);
const [command = 'help', ...args] = process.argv.slice(2);

const NODE_MINIMUM = [20, 19];

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function say(message) {
  process.stderr.write(`coxswain: ${message}\n`);
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantMajor, wantMinor] = NODE_MINIMUM;
  if (major < wantMajor || (major === wantMajor && minor < wantMinor)) {
    fail(
      `coxswain needs Node ${NODE_MINIMUM.join('.')} or later; this is ${process.versions.node}`,
    );
  }
}

/** Runs a program with its output shown; ends this process with its status if it fails. */
function run(program, programArgs, options = {}) {
  const result = spawnSync(program, programArgs, { cwd: root, stdio: 'inherit', ...options });
  if (result.error) fail(`cannot run ${program}: ${result.error.message}`);
  if (result.status !== 0) process.exit(result.status ?? 1);
}

/**
 * Runs a script in TypeScript, and ends this process with its status if it fails. The script gets
 * the signals that would end this process, since it may have to remove what it has started.
 * `tsx` is not run as a program: that kills a script which does not confirm a signal within 30 ms.
 */
async function runScript(path, scriptArgs = args) {
  const file = inRoot(...path.split('/'));
  const options = { cwd: root, stdio: 'inherit' };
  const child = spawn(process.execPath, ['--import', 'tsx', file, ...scriptArgs], options);
  const passOn = (signal) => {
    // A terminal sends SIGINT to the script, too.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, passOn);
  const [status, signal] = await new Promise((resolve) => {
    child.once('error', (error) => fail(`cannot run ${file}: ${error.message}`));
    child.once('exit', (...outcome) => resolve(outcome));
  });
  for (const name of signals) process.removeListener(name, passOn);
  if (status !== 0) process.exit(status ?? 128 + os.signals[signal]);
}

const bin = (name) => inRoot('node_modules', '.bin', name);

function ensureDependencies() {
  const lock = readFileSync(inRoot('package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  const stamp = inRoot('node_modules', '.coxswain-stamp');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  say('installing dependencies (about half a minute the first time) …');
  const started = performance.now();
  // Not `npm ci`: it refuses a lock file that was written without access to the binaries of some
  // other platform.
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']);
  // Modules that another version of vitest has compiled: it would remove them while another vitest runs.
  rmSync(inRoot('.cache', 'modules'), { recursive: true, force: true });
  writeFileSync(stamp, wanted);
  say(`dependencies installed in ${seconds(started)}`);
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Returns the newest modification time under a folder, in milliseconds. */
function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false });
  // An editor may have removed the file just now.
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.mtimeMs;
  let latest = stat.mtimeMs;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    latest = Math.max(latest, newest(join(path, entry.name)));
  }
  return latest;
}

/** Returns the time of the last change to the sources of the build. */
const sourcesChanged = () =>
  Math.max(
    ...[
      'src',
      'package-lock.json',
      'tools/build.js',
      'tools/console.js',
      'tools/program',
      'bin',
    ].map((path) => newest(inRoot(path))),
  );

function isBuilt() {
  const stamp = inRoot('dist', '.built');
  return existsSync(stamp) && Number(readFileSync(stamp, 'utf8')) >= sourcesChanged();
}

/**
 * Builds if it is needed. Processes that start together build once: the others wait. What this
 * process starts uses the same build, though sources are edited meanwhile.
 */
function ensureBuilt() {
  process.env.COXSWAIN_BUILT = '1';
  if (isBuilt()) return;
  if (existsSync(inRoot('dist', 'cox.js')) && !isWritable(root)) {
    return say('dist is older than the sources, and cannot be written by this user');
  }
  const lock = inRoot('.cache', 'build.lock');
  mkdirSync(dirname(lock), { recursive: true });
  while (!takeLock(lock)) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    if (!existsSync(lock) && isBuilt()) return;
  }
  try {
    if (!isBuilt()) build([]);
  } finally {
    releaseLock(lock);
  }
}

function isWritable(path) {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Writes this process into the file, unless it names one that is running. */
function takeLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!isStale(lock)) return false;
    rmSync(lock, { force: true });
    return takeLock(lock);
  }
  // A build that fails ends the process.
  process.once('exit', () => releaseLock(lock));
  return true;
}

function releaseLock(lock) {
  if (existsSync(lock) && readFileSync(lock, 'utf8') === String(process.pid)) rmSync(lock);
}

/** Reports whether the lock's process has ended. A file that is just being written is not stale. */
function isStale(lock) {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    if (!(pid > 0)) return Date.now() - statSync(lock).mtimeMs > 10_000;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function build(buildArgs) {
  const changed = sourcesChanged();
  const started = performance.now();
  say('building …');
  run(process.execPath, [inRoot('tools', 'build.js'), ...buildArgs]);
  mkdirSync(inRoot('dist'), { recursive: true });
  writeFileSync(inRoot('dist', '.built'), String(changed));
  say(`built in ${seconds(started)}`);
}

const CHECKS = [
  { name: 'types', program: 'tsc', programArgs: ['--noEmit', '-p', 'tsconfig.json'] },
  {
    name: 'types of the console',
    program: 'tsc',
    programArgs: ['--noEmit', '-p', 'src/console/ui/tsconfig.json'],
  },
  {
    name: 'lint',
    program: 'oxlint',
    programArgs: ['--type-aware', '--deny-warnings', 'src', 'test', 'bench', 'tools', 'examples'],
  },
  {
    name: 'format',
    program: 'oxfmt',
    programArgs: ['--check', 'src', 'test', 'bench', 'tools', 'examples'],
  },
];

/**
 * Starts to check types, lint and format, all at the same time. The layers' test and the unit tests
 * follow in vitest. Resolves when everything is right; otherwise this process ends, after the output
 * of all checks.
 */
async function staticChecks() {
  const statuses = await Promise.all(CHECKS.map(runCheck));
  const failed = statuses.find((status) => status !== 0);
  if (failed !== undefined) process.exit(failed);
}

/** Runs a check, and prints its output when it has ended. Resolves with its status. */
function runCheck({ name, program, programArgs }) {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(bin(program), programArgs, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { FORCE_COLOR: process.stdout.isTTY ? '1' : '0', ...process.env },
    });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.once('error', (error) => fail(`cannot run ${program}: ${error.message}`));
    child.once('close', (status) => {
      process.stdout.write(Buffer.concat(chunks));
      say(`${name}: ${status === 0 ? 'ok' : 'failed'} (${seconds(started)})`);
      resolve(status ?? 1);
    });
  });
}

/** Loaded when it is needed: the other commands start without it. */
const testRuns = () => import('./test-runs.js');

const commands = {
  async up() {
    ensureBuilt();
    await runCox(['up', ...args]);
  },
  async cox() {
    ensureBuilt();
    await runCox(args);
  },
  build() {
    build(['--types', ...args]);
  },
  async check() {
    const { runTests } = await testRuns();
    await staticChecks();
    await runTests(['unit'], args);
  },
  async test() {
    const { forgetReport, runAllTests, runTests, PROJECTS } = await testRuns();
    if (args.some((arg) => arg.includes('e2e'))) ensureBuilt();
    if (args.length > 0) return runTests(PROJECTS, args);
    forgetReport();
    await staticChecks();
    ensureBuilt();
    await runAllTests();
  },
  async 'test-again'() {
    const { runFailedAgain } = await testRuns();
    await runFailedAgain();
  },
  versus() {
    ensureBuilt();
    return runScript('bench/versus/main.ts');
  },
  bench() {
    ensureBuilt();
    return runScript('bench/main.ts');
  },
  golden() {
    return runScript('tools/golden.ts');
  },
  differential() {
    return runScript('test/differential/main.ts');
  },
  fuzz() {
    return runScript('test/fuzz/main.ts');
  },
  conformance() {
    if (args[0] === 'critest') {
      ensureDependencies();
      return runScript('test/critest/main.ts', args.slice(1));
    }
    ensureBuilt();
    return runScript('test/conformance/main.ts');
  },
  'kubectl-commands'() {
    ensureBuilt();
    return runScript('test/kubectl-commands/main.ts');
  },
  gateway() {
    ensureBuilt();
    return runScript('test/gateway/main.ts');
  },
  operators() {
    ensureDependencies();
    return runScript('test/e2e/operators/main.ts');
  },
  'envtest-suites'() {
    ensureBuilt();
    return runScript('test/envtest-suites/main.ts');
  },
  'integration-suites'() {
    ensureBuilt();
    return runScript('test/integration-suites/main.ts');
  },
  torture() {
    return runScript('test/torture/main.ts');
  },
  nightly() {
    return runScript('tools/nightly/main.ts');
  },
  clean() {
    for (const path of ['dist', '.cache', 'coverage'])
      rmSync(inRoot(path), { recursive: true, force: true });
    say('removed dist, .cache and coverage (node_modules and .coxswain are kept)');
  },
  help() {
    process.stdout.write(
      'usage: npm run up | test | check | build | dev | bench | versus | golden DIR | ' +
        'differential | fuzz | conformance | gateway | kubectl-commands | operators ' +
        '| envtest-suites | integration-suites | torture | nightly | clean\n',
    );
  },
};

/** Runs in this process, so that signals and the terminal reach it directly. */
async function runCox(coxArgs) {
  process.argv = [process.argv[0], inRoot('bin', 'cox.js'), ...coxArgs];
  await import(pathToFileURL(inRoot('dist', 'cox.js')).href);
}

checkNode();
if (!Object.hasOwn(commands, command))
  fail(`unknown command '${command}'; see: node tools/bootstrap.js help`);
if (command !== 'clean' && command !== 'help') ensureDependencies();
await commands[command]();
