// Encryption at rest with upstream's API server and ours on one etcd: each reads what the other has
// written, by every provider.

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApiServer, startApiServerRole } from '#cluster/roles/api-server.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { TestKmsPlugin } from '#storage/encryption/testing/kms-plugin.ts';
import { openEtcdStorage } from '#storage/etcd/index.ts';
import {
  ETCD_HINT,
  type EtcdProcess,
  hasEtcd,
  startEtcd,
} from '#storage/etcd/testing/etcd-process.ts';
import type { Storage } from '#storage/interface.ts';
import { builtCommand } from '../conformance/binaries.ts';
import { Remote } from '../differential/remote.ts';
import { startUpstream, type Upstream } from '../differential/upstream.ts';
import { named } from './harness.ts';

const missing = hasEtcd()
  ? builtCommand('kube-apiserver') === undefined
    ? "upstream's kube-apiserver is not built: npm run differential -- --upstream"
    : undefined
  : ETCD_HINT;

const TOKEN = 'administrator';
const key = { name: 'one', secret: Buffer.alloc(32, 'k').toString('base64') };
const RESOURCES = [
  'secrets',
  'configmaps',
  'serviceaccounts',
  'limitranges',
  'resourcequotas',
] as const;
type Resource = (typeof RESOURCES)[number];
const FORMS: Readonly<Record<Resource, { provider: string; kind: string; fields: object }>> = {
  secrets: { provider: 'kms:v2:vault', kind: 'Secret', fields: { stringData: { a: 'b' } } },
  configmaps: { provider: 'aesgcm:v1:one', kind: 'ConfigMap', fields: { data: { a: 'b' } } },
  serviceaccounts: { provider: 'aescbc:v1:one', kind: 'ServiceAccount', fields: {} },
  limitranges: {
    provider: 'secretbox:v1:one',
    kind: 'LimitRange',
    fields: { spec: { limits: [] } },
  },
  resourcequotas: { provider: 'plain', kind: 'ResourceQuota', fields: { spec: {} } },
};

describe.skipIf(missing !== undefined)(named('encryption at rest beside upstream', missing), () => {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-encryption-'));
  const socket = join(dir, 'kms.sock');
  const file = join(dir, 'encryption.json');
  const plugin = new TestKmsPlugin();
  let etcd: EtcdProcess;
  let stored: Storage;
  let upstream: Upstream;
  let ours: RunningApiServer;
  const remotes: Remote[] = [];

  const providerOf = (resource: Resource): object => {
    const [type = ''] = FORMS[resource].provider.split(':');
    if (type === 'plain') return { identity: {} };
    const kms = { apiVersion: 'v2', name: 'vault', endpoint: `unix://${socket}` };
    return { [type]: type === 'kms' ? kms : { keys: [key] } };
  };
  const remote = ({ url, token }: { url: string; token: string }): Remote => {
    const made = new Remote(url, token);
    remotes.push(made);
    return made;
  };
  const startOurs = async (): Promise<Remote> => {
    ours = await startApiServerRole({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      store: 'etcd',
      etcd: { servers: [etcd.endpoint] },
      certDir: join(dir, 'ours'),
      tokenAuthFile: join(dir, 'tokens.csv'),
      serviceAccountSigningKeyFile: join(dir, 'sa.key'),
      bindAddress: '127.0.0.1',
      securePort: 0,
      encryptionProviderConfig: file,
    });
    return remote({ url: ours.url, token: TOKEN });
  };
  const pathOf = (resource: Resource, name = ''): string =>
    `/api/v1/namespaces/default/${resource}${name === '' ? '' : `/${name}`}`;
  const create = async (server: Remote, resource: Resource, name: string): Promise<number> => {
    const { kind, fields } = FORMS[resource];
    const object = { apiVersion: 'v1', kind, metadata: { name }, ...fields };
    const body = JSON.stringify(object);
    return (
      await server.send({
        method: 'POST',
        path: pathOf(resource),
        type: 'application/json',
        body,
        changes: [],
      })
    ).code;
  };
  const get = async (server: Remote, path: string): Promise<{ code: number; body: unknown }> => {
    const { code, body } = await server.send({
      method: 'GET',
      path,
      type: '',
      body: '',
      changes: [],
    });
    return { code, body };
  };
  const formOf = async (resource: Resource, name: string): Promise<string> => {
    const kv = await stored.get(`/registry/${resource}/default/${name}`);
    const [, form = 'plain'] =
      /^k8s:enc:(\w+:v\d:\w+):/.exec(Buffer.from(kv?.value ?? []).toString('latin1')) ?? [];
    return form;
  };

  beforeAll(async () => {
    writeFileSync(join(dir, 'tokens.csv'), `${TOKEN},admin,admin,"system:masters"\n`);
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'EncryptionConfiguration',
        resources: RESOURCES.map((resource) => ({
          resources: [resource],
          providers: [providerOf(resource)],
        })),
      }),
    );
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(join(dir, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await plugin.listen(socket);
    etcd = await startEtcd();
    stored = await openEtcdStorage({
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      endpoints: [etcd.endpoint],
    });
    upstream = await startUpstream(() => undefined, {
      etcdUrl: etcd.endpoint,
      flags: { 'encryption-provider-config': file },
    });
  });
  afterAll(async () => {
    for (const each of remotes) each.close();
    await ours?.stop();
    await upstream?.stop();
    await stored?.close();
    await etcd?.stop();
    plugin.close();
    rmSync(dir, { recursive: true });
  });

  test('each reads what the other has written', async () => {
    const theirs = remote(upstream);
    for (const resource of RESOURCES)
      expect([resource, await create(theirs, resource, 'from-upstream')]).toEqual([resource, 201]);
    const mine = await startOurs();
    for (const resource of RESOURCES)
      expect([resource, await create(mine, resource, 'from-ours')]).toEqual([resource, 201]);
    for (const resource of RESOURCES) {
      for (const name of ['from-upstream', 'from-ours']) {
        expect(await formOf(resource, name)).toBe(FORMS[resource].provider);
        const path = pathOf(resource, name);
        const [a, b] = [await get(theirs, path), await get(mine, path)];
        expect([path, a.code]).toEqual([path, 200]);
        expect(b.body).toEqual(a.body);
      }
    }
    for (const path of ['/healthz/kms-providers', '/readyz/kms-providers', '/livez/kms-providers'])
      expect((await get(mine, path)).code).toBe((await get(theirs, path)).code);
  });

  test('a key of the plugin that came later', async () => {
    const theirs = remote(upstream);
    await ours.stop();
    plugin.keyId = 'key-2';
    const mine = await startOurs();
    expect(await create(mine, 'secrets', 'later')).toBe(201);
    const path = pathOf('secrets', 'later');
    const expected = await get(mine, path);
    expect(expected.code).toBe(200);
    expect((await get(theirs, path)).body).toEqual(expected.body);
    expect((await get(mine, pathOf('secrets'))).code).toBe(200);
  });
});
