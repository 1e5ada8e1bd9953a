import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startEtcdStub } from './etcd-stub.ts';
import { defaultEnvtestDir, writeEnvtestDir } from './layout.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cox-envtest-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Runs the folder's kube-apiserver with a script in the place of `cox` that prints its arguments, and returns them. */
function argumentsOf(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): string[] {
  const script = join(dir, "it's.cjs");
  writeFileSync(script, 'console.log(JSON.stringify(process.argv.slice(2)))');
  writeEnvtestDir(join(dir, 'assets'), { script, node: process.execPath });
  const env = { PATH: process.env['PATH'], ...environment };
  return JSON.parse(
    execFileSync(join(dir, 'assets', 'kube-apiserver'), flags, { env, encoding: 'utf8' }),
  ) as string[];
}

test('kube-apiserver passes its flags on, adds controllers, and keeps objects in memory', () => {
  expect(argumentsOf(['--secure-port=1', '--etcd-servers=http://a b'])).toEqual([
    'apiserver',
    '--secure-port=1',
    '--etcd-servers=http://a b',
    '--with-controllers=garbage-collector-controller,namespace-controller',
    '--store=memory',
  ]);
});

test('the environment chooses controllers and nodes; an empty list is no controller', () => {
  expect(
    argumentsOf([], {
      COX_ENVTEST_CONTROLLERS: 'garbage-collector-controller',
      COX_ENVTEST_NODES: '2',
    }),
  ).toEqual([
    'apiserver',
    '--with-controllers=garbage-collector-controller',
    '--with-nodes=2',
    '--store=memory',
  ]);
  expect(argumentsOf([], { COX_ENVTEST_NODES: '1' })).toContain('--with-controllers=*');
  expect(argumentsOf([], { COX_ENVTEST_CONTROLLERS: '' })).toEqual(['apiserver', '--store=memory']);
});

test('a folder that is there is brought up to date', () => {
  writeEnvtestDir(dir, { script: '/old/cox.js', node: '/node', kubectl: '/old/kubectl' });
  expect(
    writeEnvtestDir(dir, { script: '/new/cox.js', node: '/node', kubectl: '/new/kubectl' }),
  ).toBe(dir);
  expect(readFileSync(join(dir, 'etcd'), 'utf8')).toBe(
    "#!/bin/sh\nexec '/node' '/new/cox.js' envtest etcd \"$@\"\n",
  );
  expect(readlinkSync(join(dir, 'kubectl'))).toBe('/new/kubectl');
});

test('versions and places have folders of their own', () => {
  const environment = { XDG_CACHE_HOME: '/cache' };
  const folder = defaultEnvtestDir('v1', '/a/cox.js', environment);
  expect(folder).toMatch(/^\/cache\/coxswain\/envtest\/v1-[0-9a-f]{8}$/);
  expect(defaultEnvtestDir('v1', '/b/cox.js', environment)).not.toBe(folder);
});

test('the stub of etcd answers health checks and nothing else', async () => {
  const stub = await startEtcdStub(['http://127.0.0.1:0', 'http://localhost:0']);
  try {
    for (const url of stub.urls) {
      const response = await fetch(`${url}/health`);
      expect([response.status, await response.json()]).toEqual([
        200,
        { health: 'true', reason: '' },
      ]);
      expect((await fetch(`${url}/v3/kv/put`, { method: 'POST', body: '{}' })).status).toBe(404);
    }
  } finally {
    await stub.stop();
  }
});

test.each([
  ['nonsense', "not 'nonsense'"],
  ['http://127.0.0.1', "not 'http://127.0.0.1'"],
  ['https://127.0.0.1:0', 'has no TLS'],
])('the stub rejects %s', async (url, message) => {
  await expect(startEtcdStub([url])).rejects.toThrow(message);
});
