import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeCertificate } from '#client/testing/certificate.ts';
import { claimDataDir, dataDirLayout } from './data-dir.ts';
import { localStatus } from './local-status.ts';

describe('a data directory', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'cox-status-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  test('without a cluster', async () => {
    const none = { state: 'none', problems: [] };
    expect(await localStatus(dir, 0)).toEqual({ dataDir: dir, ...none });
    expect((await localStatus(join(dir, 'absent'), 0)).state).toBe('none');
    writeFileSync(join(dir, 'letter.txt'), '');
    expect((await localStatus(dir, 0)).state).toBe('none');
  });

  test('whose cluster runs, and after it', async () => {
    const release = await claimDataDir(dataDirLayout(dir));
    mkdirSync(join(dir, 'store'));
    writeFileSync(join(dir, 'store', 'storage.db'), 'x'.repeat(1000));
    const status = await localStatus(dir, 0);
    expect(status).toMatchObject({ state: 'running', pid: process.pid, storeBytes: 1000 });
    expect(status.startedAt).toBeGreaterThan(1e12);
    expect(status.disk?.freeBytes).toBeGreaterThan(0);
    release();
    const after = await localStatus(dir, 0);
    expect(after.state).toBe('stopped');
    expect(after.pid).toBeUndefined();
  });

  test('with certificates that are near their end or damaged', async () => {
    writeFileSync(join(dir, 'cox.tag'), '');
    mkdirSync(join(dir, 'pki'));
    const { cert } = await makeCertificate();
    writeFileSync(join(dir, 'pki', 'apiserver.crt'), cert);
    writeFileSync(join(dir, 'pki', 'broken.crt'), 'x');
    writeFileSync(join(dir, 'pki', 'ca.key'), 'not looked at');
    const texts = async (now: string): Promise<string[]> =>
      (await localStatus(dir, Date.parse(now))).problems.map(({ text }) => text);
    expect(await texts('2026-01-01')).toEqual([
      `the certificate ${join(dir, 'pki', 'broken.crt')} cannot be read`,
    ]);
    expect((await texts('2119-12-30'))[0]).toMatch(/apiserver\.crt expires in 2d/);
  });
});
