import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const tools = dirname(fileURLToPath(import.meta.url));

/**
 * Stands for vitest: waits until as many of it run as `RUNS` says, prints its projects, and reports one
 * test for each. The projects in `FAILS` fail.
 */
const VITEST = `import { readdirSync, writeFileSync } from 'node:fs';
const args = process.argv.slice(2);
const projects = args.flatMap((arg, index) => (args[index - 1] === '--project' ? [arg] : []));
writeFileSync('started-' + process.pid, '');
const started = () => readdirSync('.').filter((name) => name.startsWith('started-')).length;
while (started() < Number(process.env.RUNS)) await new Promise((resolve) => setTimeout(resolve, 5));
if (projects.includes('unit')) await new Promise((resolve) => setTimeout(resolve, 100));
const fails = (process.env.FAILS ?? '').split(',').filter((name) => projects.includes(name));
const files = args.filter((arg) => arg.endsWith('.test.ts')).map((arg) => ' of ' + arg);
console.log('ran ' + projects.join(' ') + files.join(''));
writeFileSync(args.find((arg) => arg.startsWith('--outputFile.json=')).split('=')[1], JSON.stringify({
  numPassedTests: projects.length - fails.length,
  testResults: projects.map((name) => ({
    name: process.cwd() + '/' + name + '.test.ts',
    status: fails.includes(name) ? 'failed' : 'passed',
    assertionResults: [{
      fullName: 'works', status: fails.includes(name) ? 'failed' : 'passed', failureMessages: ['it does not'],
    }],
  })),
}));
process.exitCode = fails.length > 0 ? 1 : 0;
`;

let checkout: string;

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'checkout-'));
  for (const [name, text] of Object.entries({
    'package.json': '{"type":"module"}',
    'node_modules/vitest/vitest.mjs': VITEST,
  })) {
    mkdirSync(dirname(join(checkout, name)), { recursive: true });
    writeFileSync(join(checkout, name), text);
  }
  cpSync(join(tools, 'test-runs.js'), join(checkout, 'tools', 'test-runs.js'));
});
afterEach(() => rmSync(checkout, { recursive: true, force: true }));

async function call(
  code: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly lines: readonly string[]; readonly status: number | null }> {
  const program = `import * as runs from './tools/test-runs.js'; await runs.${code};`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: checkout,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  const status = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  return { lines: text.split('\n').filter((line) => line !== ''), status };
}

test('tests that share the machine run beside the others, and one report has all', async () => {
  const { lines, status } = await call('runAllTests()', { RUNS: '2' });
  expect(lines.toSorted()).toEqual([
    '4 passed, 0 failed, 0 skipped',
    'ran e2e-machine',
    'ran unit scenarios e2e',
  ]);
  expect(status).toBe(0);
  const report = JSON.parse(readFileSync(join(checkout, '.cache', 'test-report.json'), 'utf8')) as {
    testResults: unknown[];
  };
  expect(report.testResults).toHaveLength(4);
});

test('a failure in either run fails the whole, and is run again alone', async () => {
  const failed = await call('runAllTests()', { RUNS: '2', FAILS: 'e2e-machine' });
  expect(failed.status).toBe(1);
  expect(failed.lines.slice(-3)).toEqual([
    'failed: e2e-machine.test.ts works',
    '  it does not',
    '3 passed, 1 failed, 0 skipped',
  ]);
  const again = await call('runFailedAgain()', { RUNS: '1' });
  expect(again.status).toBe(0);
  expect(again.lines).toEqual([
    `ran unit scenarios e2e e2e-machine of ${join(checkout, 'e2e-machine.test.ts')}`,
    '4 passed, 0 failed, 0 skipped',
    'flaky: e2e-machine.test.ts works',
    '  it does not',
  ]);
});

test('chosen files run in one run', async () => {
  const { lines, status } = await call(`runTests(runs.PROJECTS, ['src/a.test.ts'])`, { RUNS: '1' });
  expect(lines[0]).toBe('ran unit scenarios e2e e2e-machine of src/a.test.ts');
  expect(status).toBe(0);
});
