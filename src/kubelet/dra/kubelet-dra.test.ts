import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import { resourceClaims, resourceSlices } from '#api/groups/resource/v1/index.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { NODE_NAME } from '../testing/harness.ts';
import { type RealTimeKubelet, startRealTimeKubelet } from '../testing/real-time-kubelet.ts';
import { decodeClaims } from './checkpoint.ts';
import { TestDraDriver, type TestDriverConfig } from './testing/test-driver.ts';

const DRIVER = 'gpu.example.com';

let kubelet: RealTimeKubelet;
let drivers: TestDraDriver[];

beforeEach(async () => {
  drivers = [];
  kubelet = await startRealTimeKubelet();
});
afterEach(async () => {
  for (const driver of drivers) driver.stop();
  await kubelet.stop();
});

async function startDriver(overrides: Partial<TestDriverConfig> = {}): Promise<TestDraDriver> {
  const driver = new TestDraDriver({
    client: kubelet.client,
    nodeName: NODE_NAME,
    rootDir: kubelet.rootDir,
    name: DRIVER,
    devices: ['gpu-0'],
    ...overrides,
  });
  drivers.push(driver);
  await driver.start();
  await kubelet.waitFor(() => driver.isRegistered);
  return driver;
}

/** Creates a claim that the scheduler has allocated. */
async function createClaim(name: string, driver = DRIVER): Promise<void> {
  const client = kubelet.client.resource(resourceClaims).namespace('default');
  const claim = await client.create({
    metadata: { name },
    spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } },
  });
  await client.updateStatus({
    ...claim,
    status: {
      allocation: {
        devices: {
          results: [{ request: 'gpu', driver, pool: NODE_NAME, device: 'gpu-0' }],
        },
      },
    },
  });
}

/** Creates a pod that uses the claim. `reserve`: reserves the claim for the pod. */
async function createPod(name: string, claim: string, reserve = true): Promise<void> {
  const pod = await kubelet.client
    .resource(pods)
    .namespace('default')
    .create({
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        resourceClaims: [{ name: 'device', resourceClaimName: claim }],
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sleep', 'infinity'],
            resources: { claims: [{ name: 'device' }] },
          },
          { name: 'plain', image: 'busybox:1.36', command: ['sleep', 'infinity'] },
        ],
      },
    });
  if (reserve) {
    const client = kubelet.client.resource(resourceClaims).namespace('default');
    const current = await client.get(claim);
    await client.updateStatus({
      ...current,
      status: {
        ...current.status,
        reservedFor: [
          ...(current.status?.reservedFor ?? []),
          { resource: 'pods', name, uid: pod.metadata.uid },
        ],
      },
    });
  }
  await kubelet.client
    .resource(pods)
    .namespace('default')
    .subresource(name, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name },
      target: { apiVersion: 'v1', kind: 'Node', name: NODE_NAME },
    });
}

const isRunning = (name: string) =>
  kubelet.waitForPod(name, ({ status }) => status.phase === 'Running');
const hasEvent = (name: string, text: string) =>
  kubelet.waitFor(async () => (await kubelet.eventsOf(name)).includes(text));
const PREFIX =
  'FailedPrepareDynamicResources: Failed to prepare dynamic resources: prepare dynamic resources: ';

describe('dynamic resource allocation', () => {
  test('claims are prepared before the pod runs, and unprepared when it has ended', async () => {
    const driver = await startDriver();
    await createClaim('claim');
    await createPod('one', 'claim');
    const pod = await isRunning('one');
    expect(driver.prepared).toEqual(new Map([['claim', 1]]));
    const configs = kubelet.containers.map(({ metadata, CDIDevices }) => [
      metadata?.name,
      CDIDevices?.map(({ name }) => name?.replace(/=.*/, '')),
    ]);
    expect(configs).toEqual([
      ['main', [`${DRIVER}/claim`]],
      ['plain', []],
    ]);
    const status = pod.status.containerStatuses?.find(({ name }) => name === 'main');
    expect(status?.allocatedResourcesStatus).toMatchObject([
      { name: 'claim:device', resources: [{ health: 'Unknown' }] },
    ]);
    const file = join(kubelet.rootDir, 'dra_manager_state');
    expect(decodeClaims(readFileSync(file, 'utf8'))).toMatchObject([{ name: 'claim' }]);
    await kubelet.deletePod('one');
    await kubelet.waitForGone('one');
    expect(driver.unprepared).toEqual(['claim']);
    expect(decodeClaims(readFileSync(file, 'utf8'))).toEqual([]);
  });

  test('drivers of version v1beta1 work, too', async () => {
    const driver = await startDriver({ version: 'v1beta1' });
    await createClaim('claim');
    await createPod('one', 'claim');
    await isRunning('one');
    await kubelet.deletePod('one');
    await kubelet.waitForGone('one');
    expect(driver.unprepared).toEqual(['claim']);
  });

  test('a shared claim is prepared once, and unprepared after its last pod', async () => {
    const driver = await startDriver();
    await createClaim('claim');
    await createPod('one', 'claim');
    await isRunning('one');
    await createPod('two', 'claim');
    await isRunning('two');
    await kubelet.deletePod('one');
    await kubelet.waitForGone('one');
    expect(driver.unprepared).toEqual([]);
    await kubelet.deletePod('two');
    await kubelet.waitForGone('two');
    expect([driver.prepared.get('claim'), driver.unprepared]).toEqual([1, ['claim']]);
  });

  test('pods wait with upstream’s events for drivers, allocations and reservations', async () => {
    await createClaim('claim');
    await createPod('no-driver', 'claim');
    await hasEvent('no-driver', `${PREFIX}DRA driver ${DRIVER} is not registered`);
    // Nothing was prepared, so the pod can be deleted without the driver.
    await kubelet.deletePod('no-driver');
    await kubelet.waitForGone('no-driver');
    await startDriver({ prepare: () => Promise.reject(new Error('out of order')) });
    await createPod('broken', 'claim');
    await hasEvent(
      'broken',
      `${PREFIX}NodePrepareResources failed for ResourceClaim claim: out of order`,
    );
    await createPod('unreserved', 'claim', false);
    await kubelet.waitFor(async () =>
      (await kubelet.eventsOf('unreserved')).some((event) =>
        /is not allowed to use ResourceClaim claim \(/.test(event),
      ),
    );
    await createPod('no-claim', 'missing', false);
    await hasEvent(
      'no-claim',
      `${PREFIX}fetch ResourceClaim missing: resourceclaims.resource.k8s.io "missing" not found`,
    );
  });

  test('a pod is not gone before its claims are unprepared', async () => {
    const driver = await startDriver();
    await createClaim('claim');
    await createPod('one', 'claim');
    await isRunning('one');
    driver.unprepareErrors.set('claim', 'busy');
    await kubelet.deletePod('one');
    await kubelet.waitFor(() => driver.failedUnprepares >= 2);
    expect((await kubelet.getPod('one')).status.phase).toBe('Running');
    driver.unprepareErrors.clear();
    await kubelet.waitForGone('one');
    expect(driver.unprepared).toEqual(['claim']);
  });

  test('after a restart, running pods keep their claims, and these are unprepared once', async () => {
    const driver = await startDriver();
    await createClaim('claim');
    await createPod('one', 'claim');
    await isRunning('one');
    await kubelet.stopKubelet();
    await kubelet.startKubelet();
    await kubelet.waitFor(() => driver.isRegistered);
    await isRunning('one');
    await kubelet.deletePod('one');
    await kubelet.waitForGone('one');
    expect([driver.prepared.get('claim'), driver.unprepared]).toEqual([1, ['claim']]);
  });

  test('a damaged checkpoint stops the kubelet with upstream’s reason', async () => {
    await kubelet.stopKubelet();
    const file = join(kubelet.rootDir, 'dra_manager_state');
    writeFileSync(file, '{"Data":"{}","Checksum":1}');
    await expect(kubelet.startKubelet()).rejects.toThrow('checkpoint is corrupted');
    rmSync(file);
    await kubelet.startKubelet();
    expect(existsSync(file)).toBe(false);
  });

  test('a driver that hangs delays its pods only', async () => {
    const hold = withResolvers();
    await startDriver({ prepare: async () => (await hold.promise, []) });
    await createClaim('claim');
    await createPod('hanging', 'claim');
    await kubelet.createPod('other', {
      containers: [{ name: 'main', image: 'busybox:1.36', command: ['sleep', 'infinity'] }],
    });
    await isRunning('other');
    hold.resolve();
    await isRunning('hanging');
  });

  test('slices of the node are deleted when the kubelet starts', async () => {
    await kubelet.stopKubelet();
    const driver = await (async () => {
      const made = new TestDraDriver({
        client: kubelet.client,
        nodeName: NODE_NAME,
        rootDir: kubelet.rootDir,
        name: DRIVER,
        devices: ['gpu-0'],
      });
      drivers.push(made);
      await made.publish();
      return made;
    })();
    await kubelet.startKubelet();
    const slices = kubelet.client.resource(resourceSlices);
    await kubelet.waitFor(async () => (await slices.list()).items.length === 0);
    await driver.start();
    await kubelet.waitFor(() => driver.isRegistered);
    await driver.publish();
    expect((await slices.list()).items).toHaveLength(1);
  });

  test('a driver without a known service is refused', async () => {
    const driver = new TestDraDriver({
      client: kubelet.client,
      nodeName: NODE_NAME,
      rootDir: kubelet.rootDir,
      name: DRIVER,
      devices: [],
    });
    drivers.push(driver);
    await driver.start(['v1alpha3.Node']);
    await kubelet.waitFor(() => driver.registrationError !== undefined);
    expect(driver.registrationError).toContain(
      'none of services supported by the plugin (["v1alpha3.Node"]) are supported by the kubelet ' +
        '(["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
    );
  });
});
