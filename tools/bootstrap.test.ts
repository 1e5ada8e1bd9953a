import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A build that copies the only source, and counts how often it runs. */
const BUILD = `import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
rmSync('dist', { recursive: true, force: true });
mkdirSync('dist');
appendFileSync('builds.log', 'built\\n');
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
writeFileSync('dist/cox.js', readFileSync('src/main.js'));
`;

let checkout: string;
/** The modification time of the last edit, in seconds: each edit is later than the one before. */
let edited: number;

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'checkout-'));
  edited = 1_700_000_000;
  const files = {
    'package.json': '{"type":"module"}',
    'package-lock.json': '{}',
    'node_modules/.coxswain-stamp': createHash('sha256').update('{}').digest('hex'),
    'tools/build.js': BUILD,
    'tools/console.js': '',
    'tools/program/cox.ts': '',
    'src/main.js': '',
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(checkout, name)), { recursive: true });
    writeFileSync(join(checkout, name), text);
  }
  for (const name of ['bin', 'tools/bootstrap.js'])
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  edit('first');
});
afterEach(() => rmSync(checkout, { recursive: true, force: true }));

/** Changes the program to one that prints the text. */
function edit(text: string): void {
  const file = join(checkout, 'src', 'main.js');
  writeFileSync(file, `console.log('${text}');\n`);
  for (const path of ['bin', 'bin/cox.js', 'bin/package.json', 'package-lock.json', 'src'])
    utimesSync(join(checkout, path), edited, edited);
  for (const path of [
    'tools/build.js',
    'tools/console.js',
    'tools/program',
    'tools/program/cox.ts',
  ])
    utimesSync(join(checkout, path), edited, edited);
  edited += 10;
  utimesSync(file, edited, edited);
}

function cox(env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { COXSWAIN_BUILT: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [join(checkout, 'bin', 'cox.js')], {
    cwd: checkout,
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  return new Promise((resolve, reject) =>
    child.once('error', reject).once('close', () => resolve(text.trim())),
  );
}

const builds = (): number =>
  readFileSync(join(checkout, 'builds.log'), 'utf8').split('\n').length - 1;

test('in a checkout, the command is built when it is missing or older than the sources', async () => {
  expect(await cox()).toBe('first');
  expect(await cox()).toBe('first');
  expect(builds()).toBe(1);
  edit('second');
  expect(await cox()).toBe('second');
  expect(builds()).toBe(2);
});

test('COXSWAIN_BUILT=1 runs what was built last, and builds what is missing', async () => {
  expect(await cox({ COXSWAIN_BUILT: '1' })).toBe('first');
  edit('second');
  expect(await cox({ COXSWAIN_BUILT: '1' })).toBe('first');
});

test('commands that start together build once', async () => {
  expect(await Promise.all([cox(), cox(), cox()])).toEqual(['first', 'first', 'first']);
  expect(builds()).toBe(1);
});

test('the lock of a build that was killed is ignored', async () => {
  mkdirSync(join(checkout, '.cache'));
  const lock = join(checkout, '.cache', 'build.lock');
  // Linux has no process with this number.
  writeFileSync(lock, '2147483647');
  expect(await cox()).toBe('first');
  // It was killed before it had written its number.
  edit('second');
  writeFileSync(lock, '');
  utimesSync(lock, 1_700_000_000, 1_700_000_000);
  expect(await cox()).toBe('second');
});

test('an installed package runs what it has', async () => {
  await cox();
  rmSync(join(checkout, 'tools'), { recursive: true });
  expect(await cox()).toBe('first');
});

test('a script that is busy gets the signal to end, and ends itself', async () => {
  const script = `process.on('SIGTERM', () => {
    process.stdout.write('removed what it had started\\n');
    process.exitCode = 7;
    clearInterval(timer);
  });
  // Its event loop is blocked nearly always, as on a machine with much else to do.
  const timer = setInterval(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200));
  process.stdout.write('started\\n');
  `;
  mkdirSync(join(checkout, 'test', 'fuzz'), { recursive: true });
  writeFileSync(join(checkout, 'test', 'fuzz', 'main.ts'), script);
  symlinkSync(join(root, 'node_modules', 'tsx'), join(checkout, 'node_modules', 'tsx'));
  const child = spawn(process.execPath, [join(checkout, 'tools', 'bootstrap.js'), 'fuzz'], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    if (text === 'started\n') child.kill('SIGTERM');
  });
  const status = await new Promise((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  expect(text).toBe('started\nremoved what it had started\n');
  expect(status).toBe(7);
});
