// Problems of a real cluster: made through its API, read and decided as `cox status` does.

import { X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { namespaces, nodes, persistentVolumeClaims, pods } from '#api/groups/core/v1/index.ts';
import { resourceClaims } from '#api/groups/resource/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import { validatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import { startCluster } from '#cluster/index.ts';
import { clusterProblems } from './cluster-problems.ts';
import { makeCertificate } from '../testing/certificate.ts';
import { certificateProblem } from './certificates.ts';
import { explain } from './explain.ts';
import { gather } from './gather.ts';
import { findResource, servedResources } from './kinds.ts';
import { observeCluster } from './observe-cluster.ts';

const start = () => startCluster({ nodes: 2, clock: 'virtual' });

describe('a cluster', () => {
  let cluster: Awaited<ReturnType<typeof start>>;
  beforeEach(async () => {
    cluster = await start();
  });
  afterEach(() => cluster.stop());

  const observe = async () => {
    const { client, clock } = cluster;
    const resources = await servedResources(client);
    return observeCluster({ client, resources, now: clock.now() });
  };
  const texts = async () =>
    clusterProblems(await observe()).map(
      ({ object, text, count }) => `${object?.kind}/${object?.name} ×${count}: ${text}`,
    );

  test('with nothing wrong has no problem', async () => {
    const state = await observe();
    expect(clusterProblems(state)).toEqual([]);
    expect(state.nodes).toEqual({ total: 2, ready: 2 });
    expect(state.components[0]).toEqual({ name: 'kube-apiserver', healthy: true });
    expect(state.version).toMatch(/^v1\.36\./);
    expect(state.objects.unreadable.size).toBe(0);
  });

  test('names claims that are not bound, but not those that no pod uses yet', async () => {
    const claims = cluster.client.resource(persistentVolumeClaims).namespace('default');
    const claim = (name: string, storageClassName: string) => ({
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce' as const],
        storageClassName,
        resources: { requests: { storage: '1Gi' } },
      },
    });
    await cluster.client.resource(storageClasses).create({
      metadata: { name: 'later' },
      provisioner: 'example.com/disks',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await claims.create(claim('unused', 'later'));
    await claims.create(claim('lost', 'nowhere'));
    await cluster.clock.advance('10s');
    expect(await texts()).toEqual([
      'PersistentVolumeClaim/lost ×1: is not bound: the storage class nowhere does not exist',
    ]);
  });

  test('names claims for devices that a pod waits for', async () => {
    const claims = cluster.client.resource(resourceClaims).namespace('default');
    await claims.create({
      metadata: { name: 'gpu' },
      spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } },
    });
    expect(await texts()).toContain(
      'ResourceClaim/gpu ×1: has no devices: the device class gpu does not exist',
    );
    await claims.delete('gpu');
  });

  test('names what is wrong, the most fundamental first, the same once', async () => {
    const { client } = cluster;
    const [first] = (await client.resource(nodes).list()).items;
    await client.resource(nodes).patch(first?.metadata.name ?? '', 'application/merge-patch+json', {
      spec: { unschedulable: true },
    });
    await client.resource(validatingWebhookConfigurations).create({
      metadata: { name: 'hook' },
      webhooks: [
        {
          name: 'a.example.com',
          clientConfig: { service: { namespace: 'default', name: 'gone' } },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          rules: [
            { apiGroups: ['x'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['y'] },
          ],
        },
      ],
    } as never);
    for (const name of ['big-0', 'big-1']) {
      await client
        .resource(pods)
        .namespace('default')
        .create({
          metadata: { name },
          spec: {
            containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1000' } } }],
          },
        });
      await cluster.waitFor(pods, name, ({ status }) => (status.conditions ?? []).length > 0);
    }
    expect(await texts()).toEqual([
      `Node/${first?.metadata.name} ×1: is cordoned: takes no new pods`,
      'ValidatingWebhookConfiguration/hook ×1: webhook a.example.com: requests that match it fail ' +
        '(failurePolicy Fail): its service default/gone does not exist',
      expect.stringMatching(/^Pod\/big-0 ×2: is not scheduled: 0\/2 nodes are available: /),
    ]);
  });

  test('names controllers whose pods are rejected, by condition or by event', async () => {
    const template = {
      metadata: { labels: { app: 'x' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    };
    const spec = { replicas: 1, selector: { matchLabels: { app: 'x' } }, template };
    await cluster.apply([
      {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'none' },
        spec: { hard: { pods: '0' } },
      },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'db' },
        spec: { ...spec, serviceName: 'db' },
      },
    ]);
    await cluster.clock.advance('30s');
    expect(await texts()).toEqual([
      expect.stringMatching(
        /^ReplicaSet\/web-\w+ ×1: its pods are not created: pods .* is forbidden: exceeded quota: none/,
      ),
      expect.stringMatching(
        /^StatefulSet\/db ×1: its pods are not created: .*exceeded quota: none/,
      ),
    ]);
  });

  test('names namespaces that do not go away, with the reason', async () => {
    await cluster.apply([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'stuck' } },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'kept', namespace: 'stuck', finalizers: ['example.com/keep'] },
      },
    ]);
    await cluster.client.resource(namespaces).delete('stuck');
    await cluster.clock.advance('5m');
    expect(await texts()).toEqual([
      expect.stringMatching(
        /^Namespace\/stuck ×1: is being deleted since 5m.*: NamespaceContentRemaining=True/,
      ),
    ]);
  });

  test('explains an object of a kind by any of its names', async () => {
    const { client, clock } = cluster;
    await cluster.apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'no' } }] }],
          },
        },
      },
    });
    await clock.advance('30s');
    const resources = await servedResources(client);
    for (const typed of ['deploy', 'Deployment', 'deployments.apps', 'deployment.v1.apps']) {
      const type = findResource(resources, typed);
      if (type === undefined) throw new Error(`${typed} was not found`);
      const target = { type, namespace: 'default', name: 'web' };
      const { object, objects } = await gather({ client, resources }, target);
      const { because } = explain(object, { objects, now: clock.now() });
      expect(because.map(({ text }) => text)).toEqual([
        'configmap/no, needed by environment of container c, does not exist',
      ]);
    }
    expect(findResource(resources, 'nonsense')).toBeUndefined();
    const type = findResource(resources, 'po');
    if (type === undefined) throw new Error('pods were not found');
    await expect(
      gather({ client, resources }, { type, namespace: 'default', name: 'no' }),
    ).rejects.toThrow('pods "no" not found');
  });
});

describe('a certificate', () => {
  test('that is none is said to be none', () => {
    for (const text of ['', 'x', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])
      expect(certificateProblem(text, 'it', 0)?.text).toBe('it cannot be read');
  });

  test('is reported when it is near its end, or over, or not valid yet', async () => {
    const { cert } = await makeCertificate();
    const { validFrom, validTo } = new X509Certificate(cert);
    const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
    expect(certificateProblem(cert, 'it', (from + to) / 2)).toBeUndefined();
    expect(certificateProblem(cert, 'it', to - 1000)?.text).toMatch(/^it expires in /);
    expect(certificateProblem(cert, 'it', to + 60_000)?.text).toMatch(/^it has expired 60s ago/);
    expect(certificateProblem(cert, 'it', from - 60_000)?.text).toMatch(/^it is not valid before /);
  });
});
