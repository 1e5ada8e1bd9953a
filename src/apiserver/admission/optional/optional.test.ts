// The plugins that run only where the configuration enables them.

import { afterEach, expect, test } from 'vitest';

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { send } from '../../testing/requests.ts';
import { startTestServer, type TestServer } from '../../testing/server.ts';
import type { ImmutablePod } from '../pod-defaults.ts';
import { AlwaysPullImages } from './always-pull-images.ts';

const NAMESPACE = '/api/v1/namespaces/default';

let t: TestServer;
afterEach(async () => {
  await t?.stop();
});

async function write(method: string, path: string, body: object) {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const { code, json, warnings } = await send(t.server, {
    method,
    path: `${NAMESPACE}/${path}`,
    body,
    ...(method === 'PATCH' && { headers }),
  });
  return { answer: code < 300 ? String(code) : `${code} ${json.message}`, json, warnings };
}

const service = (name: string, externalIPs: readonly string[] = []) => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], externalIPs },
});

test('DenyServiceExternalIPs keeps addresses that a Service has, and rejects others', async () => {
  t = await startTestServer({ enableAdmissionPlugins: ['DenyServiceExternalIPs'] });
  const denied = (name: string): string =>
    `403 services "${name}" is forbidden: Use of external IPs is denied by admission control`;
  expect((await write('POST', 'services', service('a', ['192.0.2.1']))).answer).toBe(denied('a'));
  expect((await write('POST', 'services', service('a'))).answer).toBe('201');
  const patch = { spec: { externalIPs: ['192.0.2.1'] } };
  expect((await write('PATCH', 'services/a', patch)).answer).toBe(denied('a'));
  await t.server.stop();

  const { storage } = t;
  t = await startTestServer({ storage });
  expect((await write('PATCH', 'services/a', patch)).answer).toBe('200');
  await t.server.stop();
  t = await startTestServer({ storage, enableAdmissionPlugins: ['DenyServiceExternalIPs'] });
  const labelled = { metadata: { labels: { a: 'b' } } };
  expect((await write('PATCH', 'services/a', labelled)).answer).toBe('200');
  const more = { spec: { externalIPs: ['192.0.2.1', '192.0.2.2'] } };
  // The strategy has warned of it before.
  expect(await write('PATCH', 'services/a', more)).toMatchObject({
    answer: denied('a'),
    warnings: ['spec.externalIPs is deprecated and may no longer be implemented in some clusters'],
  });
  expect((await write('PATCH', 'services/a', { spec: { externalIPs: [] } })).answer).toBe('200');
});

test('AlwaysPullImages sets the policy of every container and image volume', async () => {
  t = await startTestServer({ enableAdmissionPlugins: ['AlwaysPullImages'] });
  const container = (name: string) => ({ name, image: 'i:1', imagePullPolicy: 'Never' });
  const { json } = await write('POST', 'pods', {
    metadata: { name: 'p' },
    spec: {
      initContainers: [container('first')],
      containers: [container('main')],
      volumes: [{ name: 'v', image: { reference: 'i:1', pullPolicy: 'Never' } }],
    },
  });
  expect(json.spec).toMatchObject({
    initContainers: [{ imagePullPolicy: 'Always' }],
    containers: [{ imagePullPolicy: 'Always' }],
    volumes: [{ image: { pullPolicy: 'Always' } }],
  });
});

test('AlwaysPullImages rejects a policy that was changed after it', async () => {
  t = await startTestServer({
    enableAdmissionPlugins: ['AlwaysPullImages'],
    admissionPlugins: [
      {
        name: 'Later',
        concerns: ({ resource }) => resource.resource === 'pods',
        admit: ({ object }) => {
          const { spec } = object as ImmutablePod;
          const containers = spec.containers.map((each) => ({ ...each, imagePullPolicy: 'Never' }));
          return { ...object, spec: { ...spec, containers } } as KubeObject;
        },
      },
    ],
  });
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  expect((await write('POST', 'pods', pod)).answer).toBe(
    '403 pods "p" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "Never": ' +
      'supported values: "Always"',
  );
});

test('AlwaysPullImages leaves updates without a new image alone', () => {
  const pod = (image: string, labels = {}) => ({
    metadata: { name: 'p', labels },
    spec: { containers: [{ name: 'c', image }] },
  });
  const handles = (object: object, oldObject?: object): boolean =>
    new AlwaysPullImages().handles({ object, oldObject } as never);
  expect(handles(pod('a'))).toBe(true);
  expect(handles(pod('a', { x: 'y' }), pod('a'))).toBe(false);
  expect(handles(pod('b'), pod('a'))).toBe(true);
});

test('neither runs by default', async () => {
  t = await startTestServer();
  expect((await write('POST', 'services', service('a', ['192.0.2.1']))).answer).toBe('201');
  const { json } = await write('POST', 'pods', {
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i:1', imagePullPolicy: 'Never' }] },
  });
  expect(json.spec).toMatchObject({ containers: [{ imagePullPolicy: 'Never' }] });
});
