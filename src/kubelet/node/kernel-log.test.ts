import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { KernelLog } from './kernel-log.ts';

const KMSG = '/dev/kmsg';
const isReadable = existsSync(KMSG) && process.getuid?.() === 0;

test('the text of a record, without its prefix and continuation lines', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-kmsg-'));
  try {
    const path = join(dir, 'kmsg');
    writeFileSync(path, '6,339,5140900,-;eth0: link up; 1 Gbit/s\n SUBSYSTEM=net\n');
    const log = await KernelLog.open(path);
    expect(await log.read()).toEqual(['eth0: link up; 1 Gbit/s']);
    expect(await log.read()).toEqual([]);
    await log.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test.skipIf(!isReadable)(
  'a message of this machine is read once, without waiting (root)',
  async () => {
    const log = await KernelLog.open();
    try {
      while ((await log.read()).length > 0);
      const marker = `coxswain: test of the kernel log ${process.pid}`;
      // The kernel keeps a line back until its end.
      writeFileSync(KMSG, `${marker}\n`);
      expect(await log.read()).toContain(marker);
      expect(await log.read()).not.toContain(marker);
    } finally {
      await log.close();
    }
  },
);
