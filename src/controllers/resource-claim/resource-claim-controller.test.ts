import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { events, pods } from '#api/groups/core/v1/index.ts';
import type { Client } from '#client/client.ts';
import { resourceClaims, resourceClaimTemplates } from '#api/groups/resource/v1/index.ts';
import { disturb } from '../testing/robustness.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { ResourceClaimController } from './index.ts';

const spec = { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } };
const pod = {
  metadata: { name: 'p', namespace: 'default' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    resourceClaims: [{ name: 'device', resourceClaimTemplateName: 'gpu' }],
  },
};
const createTemplate = (client: Client) =>
  client.resource(resourceClaimTemplates).create({
    metadata: { name: 'gpu', namespace: 'default' },
    spec: { metadata: { labels: { made: 'so' } }, spec },
  });
const setStatus = (client: Client, status: object) =>
  client
    .resource(pods)
    .namespace('default')
    .patch('p', 'application/merge-patch+json', { status }, { subresource: 'status' });

describe('claims of pods', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.run((config) => new ResourceClaimController(config));
  });
  afterEach(() => cluster.stop());

  const claims = async () =>
    (await cluster.client.resource(resourceClaims).namespace('default').list()).items;

  test('are created from their template, recorded in the pod’s status, and deleted when it has ended', async () => {
    await createTemplate(cluster.client);
    await cluster.client.resource(pods).create(pod);
    await cluster.clock.settle();
    const [claim] = await claims();
    expect(claim?.metadata).toMatchObject({
      name: expect.stringMatching(/^p-device-\w+$/),
      labels: { made: 'so' },
      annotations: { 'resource.kubernetes.io/pod-claim-name': 'device' },
      ownerReferences: [{ kind: 'Pod', name: 'p', controller: true, blockOwnerDeletion: true }],
    });
    const { status } = await cluster.client.resource(pods).namespace('default').get('p');
    expect(status.resourceClaimStatuses).toEqual([
      { name: 'device', resourceClaimName: claim?.metadata.name },
    ]);
    await setStatus(cluster.client, { phase: 'Succeeded' });
    await cluster.clock.settle();
    expect(await claims()).toEqual([]);
  });

  test('release the reservation of a deleted pod; the last one frees allocation and finalizer, too', async () => {
    const client = cluster.client.resource(resourceClaims).namespace('default');
    const created = await client.create({ metadata: { name: 'shared' }, spec });
    const using = await cluster.client.resource(pods).create({
      metadata: pod.metadata,
      spec: {
        containers: pod.spec.containers,
        resourceClaims: [{ name: 'device', resourceClaimName: 'shared' }],
      },
    });
    const user = { resource: 'pods', name: 'p', uid: using.metadata.uid };
    await client.updateStatus({
      ...created,
      status: { allocation: { devices: {} }, reservedFor: [user] },
    });
    const MERGE = 'application/merge-patch+json';
    await client.patch('shared', MERGE, {
      metadata: { finalizers: ['resource.kubernetes.io/delete-protection'] },
    });
    const reservedFor = [{ resource: 'pods', name: 'gone', uid: 'gone-uid' }, user];
    await client.patch('shared', MERGE, { status: { reservedFor } }, { subresource: 'status' });
    await cluster.clock.settle();
    expect((await client.get('shared')).status).toMatchObject({
      allocation: {},
      reservedFor: [{ name: 'p' }],
    });
    await cluster.client.resource(pods).namespace('default').delete('p', { gracePeriodSeconds: 0 });
    await cluster.clock.settle();
    const given = await client.get('shared');
    expect([given.status, given.metadata.finalizers]).toEqual([{}, undefined]);
  });

  test('of extended resources are deleted when the pod has ended', async () => {
    const client = cluster.client.resource(resourceClaims).namespace('default');
    const wanted = { 'example.com/gpu': '1' };
    const { metadata } = await cluster.client.resource(pods).create({
      metadata: pod.metadata,
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { requests: wanted, limits: wanted } }],
      },
    });
    const created = await client.create({
      metadata: {
        name: 'extended',
        annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
        finalizers: ['resource.kubernetes.io/delete-protection'],
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: metadata.uid, controller: true },
        ],
      },
      spec,
    });
    await client.updateStatus({
      ...created,
      status: {
        allocation: { devices: {} },
        reservedFor: [{ resource: 'pods', name: 'p', uid: metadata.uid }],
      },
    });
    const extendedResourceClaimStatus = {
      resourceClaimName: 'extended',
      requestMappings: [
        { containerName: 'c', resourceName: 'example.com/gpu', requestName: 'gpu' },
      ],
    };
    await setStatus(cluster.client, { phase: 'Running', extendedResourceClaimStatus });
    await cluster.clock.settle();
    expect(await claims()).toHaveLength(1);
    await setStatus(cluster.client, { phase: 'Failed' });
    await cluster.clock.settle();
    expect(await claims()).toEqual([]);
  });

  test('wait for their template, and record an event', async () => {
    await cluster.client.resource(pods).create(pod);
    await cluster.clock.advance('1s');
    expect(await claims()).toEqual([]);
    const { items } = await cluster.client.resource(events).namespace('default').list();
    expect(items).toMatchObject([
      {
        reason: 'FailedResourceClaimCreation',
        message: 'PodResourceClaim device: resource claim template "gpu": not found',
        involvedObject: { kind: 'Pod', name: 'p' },
      },
    ]);
    await createTemplate(cluster.client);
    await cluster.clock.settle();
    expect(await claims()).toHaveLength(1);
  });
});

test('reach the same outcome after every fault', async () => {
  const { outcome, disturbed } = await disturb({
    subject: (config) => new ResourceClaimController(config),
    steps: [
      async ({ client }) => {
        await createTemplate(client);
        await client.resource(pods).create(pod);
        await client
          .resource(pods)
          .create({ ...pod, metadata: { ...pod.metadata, name: 'stays' } });
      },
      async ({ client }) => void (await setStatus(client, { phase: 'Failed' })),
    ],
    outcome: [resourceClaims],
    rest: '1m',
  });
  expect(outcome).toHaveLength(1);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
