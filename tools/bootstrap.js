// The entry of every npm script, in plain JavaScript so that it runs in a fresh clone with nothing
// but Node and npm. It installs dependencies and builds if they are missing or out of date, prints
// that, and then runs the script. If everything is current it adds a few milliseconds.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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
  writeFileSync(stamp, wanted);
  say(`dependencies installed in ${seconds(started)}`);
}

const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

/** Returns the newest modification time under a folder, in milliseconds. */
function newest(path) {
  const stat = statSync(path);
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

function ensureBuilt() {
  const stamp = inRoot('dist', '.built');
  if (existsSync(stamp) && Number(readFileSync(stamp, 'utf8')) >= sourcesChanged()) return;
  build([]);
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

/** Checks types, lint and format. The layers' test and the unit tests follow in vitest. */
function staticChecks() {
  for (const { name, program, programArgs } of [
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
  ]) {
    const started = performance.now();
    run(bin(program), programArgs);
    say(`${name}: ok (${seconds(started)})`);
  }
}

/** Runs vitest projects and prints one closing line with the counts. */
function vitest(projects, vitestArgs) {
  mkdirSync(inRoot('.cache'), { recursive: true });
  const report = inRoot('.cache', 'test-report.json');
  rmSync(report, { force: true });
  const result = spawnSync(
    bin('vitest'),
    [
      'run',
      ...projects.flatMap((project) => ['--project', project]),
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...vitestArgs,
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        FORCE_COLOR: process.env.FORCE_COLOR ?? (process.stdout.isTTY ? '1' : '0'),
      },
    },
  );
  if (existsSync(report)) {
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
      readFileSync(report, 'utf8'),
    );
    const skipped = testResults
      .flatMap((file) => file.assertionResults)
      .filter((test) => test.status !== 'passed' && test.status !== 'failed');
    for (const test of skipped) process.stdout.write(`skipped: ${test.fullName}\n`);
    process.stdout.write(
      `\n${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped\n`,
    );
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

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
  check() {
    staticChecks();
    vitest(['unit'], args);
  },
  test() {
    if (args.length > 0) return vitest(['unit', 'scenarios', 'e2e', 'e2e-machine'], args);
    staticChecks();
    ensureBuilt();
    vitest(['unit', 'scenarios', 'e2e', 'e2e-machine'], []);
  },
  versus() {
    ensureBuilt();
    run(bin('tsx'), [inRoot('bench', 'versus', 'main.ts'), ...args]);
  },
  bench() {
    ensureBuilt();
    run(bin('tsx'), [inRoot('bench', 'main.ts'), ...args]);
  },
  golden() {
    run(bin('tsx'), [inRoot('tools', 'golden.ts'), ...args]);
  },
  differential() {
    run(bin('tsx'), [inRoot('test', 'differential', 'main.ts'), ...args]);
  },
  fuzz() {
    run(bin('tsx'), [inRoot('test', 'fuzz', 'main.ts'), ...args]);
  },
  conformance() {
    ensureBuilt();
    run(bin('tsx'), [inRoot('test', 'conformance', 'main.ts'), ...args]);
  },
  'kubectl-commands'() {
    ensureBuilt();
    run(bin('tsx'), [inRoot('test', 'kubectl-commands', 'main.ts'), ...args]);
  },
  gateway() {
    ensureBuilt();
    run(bin('tsx'), [inRoot('test', 'gateway', 'main.ts'), ...args]);
  },
  operators() {
    ensureDependencies();
    run(bin('tsx'), [inRoot('test', 'e2e', 'operators', 'main.ts'), ...args]);
  },
  torture() {
    run(bin('tsx'), [inRoot('test', 'torture', 'main.ts'), ...args]);
  },
  clean() {
    for (const path of ['dist', '.cache', 'coverage'])
      rmSync(inRoot(path), { recursive: true, force: true });
    say('removed dist, .cache and coverage (node_modules and .coxswain are kept)');
  },
  help() {
    process.stdout.write(
      'usage: npm run up | test | check | build | dev | bench | versus | golden DIR | ' +
        'differential | fuzz | conformance | gateway | kubectl-commands | operators | torture ' +
        '| nightly | clean\n',
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
