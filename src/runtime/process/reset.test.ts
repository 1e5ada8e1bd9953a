import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { identify } from '../process-identity.ts';
import { containerProcesses, killContainers, recordedSupervisors } from './reset.ts';
import { ID_VARIABLE } from './supervisor.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-process-reset-'));
  for (const id of ['one', 'two']) mkdirSync(join(dir, 'containers', id), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Starts a sleeping shell in its own process group. */
async function sleeper(env: Record<string, string>, ...args: string[]) {
  const child = spawn('/bin/sh', ['-c', 'sleep 1000 & wait', 'sh', ...args], {
    detached: true,
    stdio: 'ignore',
    env,
  });
  await once(child, 'spawn');
  return { pid: child.pid as number, ended: once(child, 'exit') };
}

test.skipIf(!existsSync('/proc/self/stat'))(
  'processes are found by directory and by environment, other processes are not',
  async () => {
    mkdirSync(join(dir, 'damaged'));
    writeFileSync(join(dir, 'damaged', 'three.json.1'), '');
    const own = [
      await sleeper({}, join(dir, 'containers', 'one')),
      await sleeper({ [ID_VARIABLE]: 'two' }),
      await sleeper({ [ID_VARIABLE]: 'three' }),
    ];
    const other = await sleeper({ [ID_VARIABLE]: 'four' }, join(dir, 'containers'));
    try {
      const found = containerProcesses(dir);
      for (const { pid } of own) expect(found).toContain(pid);
      expect(found).not.toContain(other.pid);
      expect(await killContainers(dir, systemClock)).toBeGreaterThanOrEqual(own.length);
      await Promise.all(own.map(({ ended }) => ended));
      expect(containerProcesses(dir)).toEqual([]);
      expect(identify(other.pid)).toBeDefined();
    } finally {
      process.kill(-other.pid, 'SIGKILL');
      await other.ended;
    }
  },
);

test('the recorded process group is killed; damaged records, reused and invalid pids are ignored', async () => {
  const record = (id: string, text: string): void =>
    writeFileSync(join(dir, 'containers', id, 'record.json'), text);
  const { pid, ended } = await sleeper({});
  record('one', JSON.stringify({ supervisor: identify(pid) }));
  record('two', JSON.stringify({ supervisor: { ...identify(process.pid), startTime: 'another' } }));
  await killContainers(dir, systemClock);
  await ended;
  for (const text of [
    '',
    '{',
    'null',
    '{"supervisor":{"pid":-1,"startTime":"x"}}',
    '{"supervisor":{"pid":1,"startTime":"x"}}',
    '{"supervisor":5}',
  ]) {
    record('one', text);
    record('two', text);
    expect(recordedSupervisors(dir)).toEqual([]);
  }
});
