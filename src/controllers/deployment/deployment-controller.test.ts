import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Deployment,
  deployments,
  type DeploymentSpec,
  replicaSets,
} from '#api/groups/apps/v1/index.ts';
import { events, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ReplicaManager, replicaSetKind } from '../replicaset/index.ts';
import { readyPods } from '../testing/ready-pods.ts';
import { startTestCluster, type TestCluster } from '../testing/test-cluster.ts';
import { DeploymentController } from './index.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

/** Starts the pods. Pods of the image 'bad' never become ready. */
async function start(): Promise<void> {
  await cluster.run((config) => new DeploymentController(config));
  await cluster.run((config) => new ReplicaManager({ ...config, kind: replicaSetKind }));
  await cluster.run(readyPods((pod) => pod.spec.containers[0]?.image !== 'bad'));
}

const client = () => cluster.client.resource(deployments).namespace('default');
const sets = () => cluster.client.resource(replicaSets).namespace('default');
const template = (image: string) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image }] },
});
const web = (spec: New<DeploymentSpec> = {}): New<Deployment> => ({
  metadata: { name: 'web' },
  spec: {
    replicas: 4,
    selector: { matchLabels: { app: 'web' } },
    template: template('one'),
    ...spec,
  },
});
const settle = () => cluster.clock.advance('5s');

async function create(spec?: New<DeploymentSpec>): Promise<void> {
  await client().create(web(spec));
  await settle();
}
async function patch(spec: object): Promise<void> {
  await client().patch('web', 'application/strategic-merge-patch+json', { spec });
  await settle();
}
const setImage = (image: string) => patch({ template: template(image) });

/** Returns 'image: wanted/available' for each ReplicaSet, oldest revision first. */
async function sizes(): Promise<string[]> {
  const { items } = await sets().list();
  const revision = (item: (typeof items)[number]) =>
    Number(item.metadata.annotations?.['deployment.kubernetes.io/revision']);
  return items
    .toSorted((a, b) => revision(a) - revision(b))
    .map(
      ({ spec, status }) =>
        `${spec.template?.spec.containers[0]?.image}: ${spec.replicas}/${status.availableReplicas ?? 0}`,
    );
}
const condition = (deployment: Immutable<Deployment>, type: string) => {
  const found = deployment.status.conditions?.find((each) => each.type === type);
  return found && `${found.status} ${found.reason}`;
};
async function messages(): Promise<string[]> {
  const { items } = await cluster.client.resource(events).namespace('default').list();
  return items
    .filter(({ involvedObject }) => involvedObject.name === 'web')
    .map(({ reason, message = '' }) => `${reason}: ${message}`);
}

describe('DeploymentController', () => {
  test('stops when new pods do not become ready, and rolls back without falling below the minimum', async () => {
    await start();
    await create();
    await setImage('bad');
    expect(await sizes()).toEqual(['one: 3/3', 'bad: 2/0']);
    expect((await client().get('web')).status).toMatchObject({
      replicas: 5,
      updatedReplicas: 2,
      availableReplicas: 3,
    });
    await setImage('one');
    expect(await sizes()).toEqual(['bad: 0/0', 'one: 4/4']);
    const deployment = await client().get('web');
    expect(deployment.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('3');
    expect([condition(deployment, 'Available'), condition(deployment, 'Progressing')]).toEqual([
      'True MinimumReplicasAvailable',
      'True NewReplicaSetAvailable',
    ]);
    const { items } = await sets().list();
    const back = items.find(({ spec }) => spec.template?.spec.containers[0]?.image === 'one');
    expect(back?.metadata.annotations?.['deployment.kubernetes.io/revision-history']).toBe('1');
  });

  test('scales all ReplicaSets in proportion while a rollout is stuck', async () => {
    await start();
    await create({ strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } } });
    await setImage('bad');
    expect(await sizes()).toEqual(['one: 4/4', 'bad: 2/0']);
    await patch({ replicas: 8 });
    expect(await sizes()).toEqual(['one: 7/7', 'bad: 3/0']);
    await patch({ replicas: 0 });
    expect(await sizes()).toEqual(['one: 0/0', 'bad: 0/0']);
  });

  test('does not roll out while it is paused, but scales', async () => {
    await start();
    await create();
    await patch({ paused: true });
    expect(condition(await client().get('web'), 'Progressing')).toBe('Unknown DeploymentPaused');
    await setImage('two');
    await patch({ replicas: 2 });
    expect(await sizes()).toEqual(['one: 2/2']);
    await patch({ paused: false });
    expect(await sizes()).toEqual(['one: 0/0', 'two: 2/2']);
    expect(condition(await client().get('web'), 'Progressing')).toBe('True NewReplicaSetAvailable');
  });

  test('keeps the configured number of old ReplicaSets, those of the latest revisions', async () => {
    await start();
    await create({ revisionHistoryLimit: 1 });
    for (const image of ['two', 'three', 'four']) await setImage(image);
    expect(await sizes()).toEqual(['three: 0/0', 'four: 4/4']);
    await patch({ revisionHistoryLimit: 0 });
    expect(await sizes()).toEqual(['four: 4/4']);
  });

  test('recreates: new pods start when the last old pod is gone', async () => {
    await start();
    await create({ strategy: { type: 'Recreate' } });
    const { items } = await cluster.client.resource(pods).namespace('default').list();
    const [held] = items;
    const resource = cluster.client.resource(pods).namespace('default');
    const name = held!.metadata.name;
    await resource.patch(name, 'application/merge-patch+json', {
      metadata: { finalizers: ['example.com/hold'] },
    });
    await setImage('two');
    expect(await sizes()).toEqual(['one: 0/0']);
    await resource.patch(name, 'application/merge-patch+json', { metadata: { finalizers: null } });
    await settle();
    expect(await sizes()).toEqual(['one: 0/0', 'two: 4/4']);
  });

  test('uses another hash if the name is taken', async () => {
    await start();
    await create({ replicas: 1 });
    const [mine] = (await sets().list()).items;
    await client().delete('web', { propagationPolicy: 'Background' });
    const { name } = mine!.metadata;
    await sets().delete(name);
    // A ReplicaSet of another owner with the name that the Deployment would use.
    await sets().create({
      metadata: { name },
      spec: {
        selector: { matchLabels: { app: 'x' } },
        template: { metadata: { labels: { app: 'x' } }, spec: template('x').spec },
      },
    });
    await create({ replicas: 1 });
    const deployment = await client().get('web');
    expect(deployment.status.collisionCount).toBe(1);
    expect((await sets().list()).items.map(({ metadata }) => metadata.name)).toContain(name);
    expect(deployment.status.availableReplicas).toBe(1);
  });

  test('adopts a ReplicaSet with its template that has no owner', async () => {
    await start();
    await create({ replicas: 1 });
    await client().delete('web', { propagationPolicy: 'Background' });
    const before = (await sets().list()).items;
    for (const { metadata } of before) {
      await sets().patch(metadata.name, 'application/merge-patch+json', {
        metadata: { ownerReferences: null },
      });
    }
    await create({ replicas: 1 });
    const after = (await sets().list()).items;
    expect(after.map(({ metadata }) => metadata.uid)).toEqual(
      before.map(({ metadata }) => metadata.uid),
    );
    expect(after[0]?.metadata.ownerReferences).toMatchObject([
      { kind: 'Deployment', name: 'web', controller: true },
    ]);
  });

  test('continues from any existing revision number, of up to 64 bits', async () => {
    await start();
    await create({ replicas: 1 });
    const revision = { 'deployment.kubernetes.io/revision': '3546343826724305832' };
    const [set] = (await sets().list()).items;
    await sets().patch(set?.metadata.name ?? '', 'application/merge-patch+json', {
      metadata: { annotations: revision },
    });
    await settle();
    await setImage('two');
    expect((await client().get('web')).metadata.annotations).toEqual({
      'deployment.kubernetes.io/revision': '3546343826724305833',
    });
  });

  test('reports why it cannot create a ReplicaSet', async () => {
    const refuse = () =>
      apierrors.forbidden({ group: 'apps', resource: 'replicasets' }, 'web', new Error('no room'));
    cluster.faults.fail('POST', /replicasets/, refuse, { times: 1 });
    await start();
    await create();
    expect(await messages()).toContainEqual(
      expect.stringMatching(
        /^ReplicaSetCreateError: Failed to create new replica set "web-\w+": .*no room/,
      ),
    );
    expect(await sizes()).toEqual(['one: 4/4']);
  });

  test('copies annotations to ReplicaSets, except its own', async () => {
    await start();
    await create({ replicas: 1 });
    await client().patch('web', 'application/merge-patch+json', {
      metadata: {
        annotations: { note: 'x', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
      },
    });
    await settle();
    const [set] = (await sets().list()).items;
    expect(set?.metadata.annotations).toEqual({
      note: 'x',
      'deployment.kubernetes.io/revision': '1',
      'deployment.kubernetes.io/desired-replicas': '1',
      'deployment.kubernetes.io/max-replicas': '2',
    });
  });

  test('writes nothing while nothing changes', async () => {
    await start();
    await create();
    const before = cluster.faults.requests.length;
    await cluster.clock.advance('1h');
    expect(
      cluster.faults.requests.slice(before).filter((request) => !request.startsWith('GET')),
    ).toEqual([]);
  });
});
