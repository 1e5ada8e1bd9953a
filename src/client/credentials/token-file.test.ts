import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { inClusterAccess, isInCluster } from './in-cluster.ts';
import { TokenFile } from './token-file.ts';

describe('TokenFile', () => {
  test('reads the file again after a minute, and after a 401', async () => {
    const clock = new VirtualClock();
    let content = 'a\n';
    const source = new TokenFile({ path: '/token', clock, read: async () => content });
    expect(await source.current()).toEqual({ token: 'a' });
    content = 'b';
    await clock.advance('59s');
    expect(await source.current()).toEqual({ token: 'a' });
    await clock.advance('1s');
    expect(await source.current()).toEqual({ token: 'b' });
    content = 'c';
    source.invalidate({ token: 'a' });
    expect(await source.current()).toEqual({ token: 'b' });
    source.invalidate({ token: 'b' });
    expect(await source.current()).toEqual({ token: 'c' });
  });

  test('keeps its token if the file cannot be read; without a token it fails', async () => {
    const clock = new VirtualClock();
    let content: string | undefined = 'a';
    const source = new TokenFile({
      path: '/token',
      clock,
      read: async () => {
        if (content === undefined) throw new Error('ENOENT');
        return content;
      },
    });
    await source.current();
    content = undefined;
    await clock.advance('2m');
    expect(await source.current()).toEqual({ token: 'a' });
    const empty = new TokenFile({ path: '/token', clock, read: async () => '' });
    await expect(empty.current()).rejects.toThrow('the token file /token is empty');
  });
});

describe('in a pod', () => {
  test('reads the server, the authority, the namespace and the token', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-in-cluster-'));
    try {
      for (const [name, text] of Object.entries({
        token: 't',
        namespace: 'apps\n',
        'ca.crt': 'CA',
      })) {
        writeFileSync(join(folder, name), text);
      }
      const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
      expect(isInCluster({ env, folder })).toBe(true);
      const access = await inClusterAccess({ clock: new VirtualClock(), env, folder });
      expect(access).toMatchObject({
        server: 'https://[fd00::1]:443',
        ca: 'CA',
        namespace: 'apps',
      });
      expect(await access.credentials?.current()).toEqual({ token: 't' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('fails outside', async () => {
    expect(isInCluster({ env: {} })).toBe(false);
    await expect(inClusterAccess({ clock: new VirtualClock(), env: {} })).rejects.toThrow(
      /must be defined/,
    );
  });
});
