import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endGroup } from './machines.ts';
import { makeServices, type Services } from './services.ts';

let dir: string;
let services: Services;
let running: ChildProcess | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-services-'));
  services = makeServices(dir);
});
afterEach(async () => {
  if (running !== undefined && running.exitCode === null && running.signalCode === null) {
    const ended = new Promise((resolve) => running?.once('close', resolve));
    endGroup(running);
    await ended;
  }
  running = undefined;
  rmSync(dir, { recursive: true });
});

/** Starts a service. */
function start(...command: readonly string[]): ChildProcess {
  const [program = '', ...args] = services.kept('daemon', command);
  running = spawn(program, args, { detached: true, stdio: 'ignore' });
  return running;
}

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
};

/** Resolves with the service's process when one runs, and is no copy of the shell any more. */
async function mainProcess(other?: number): Promise<number> {
  for (;;) {
    const main = Number(textOf(join(dir, 'daemon.pid')));
    if (main > 0 && main !== other && textOf(`/proc/${main}/comm`) === 'sleep') return main;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const systemctl = (...args: readonly string[]): readonly [number | null, string] => {
  const { status, stdout } = spawnSync(join(dir, 'systemctl'), args, { encoding: 'utf8' });
  return [status, stdout.trim()];
};

test('a kept service is started again when it was killed', async () => {
  start('sleep', '600');
  const first = await mainProcess();
  services.keep();
  process.kill(first);
  const second = await mainProcess(first);
  expect(second).not.toBe(first);
});

test('a service ends like its program before it is kept', async () => {
  const child = start('sh', '-c', 'exit 7');
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(7);
});

test('systemctl stops and starts a service, and says whether it runs', async () => {
  start('sleep', '600');
  const first = await mainProcess();
  services.keep();
  const state = ['show', 'daemon', '--property', 'ActiveState', '--value'];
  expect(systemctl(...state)).toEqual([0, 'active']);
  expect(systemctl('stop', 'daemon.service')[0]).toBe(0);
  expect(systemctl(...state)).toEqual([0, 'inactive']);
  expect(systemctl('is-active', 'daemon')[0]).not.toBe(0);
  expect(systemctl('start', 'daemon')[0]).toBe(0);
  expect(await mainProcess(first)).not.toBe(first);
  expect(systemctl('is-active', 'daemon')).toEqual([0, 'active']);
  expect(systemctl('reload', 'daemon')[0]).toBe(1);
  expect(systemctl('start', 'other')[0]).toBe(4);
});
