import { afterEach, beforeEach, expect, test } from 'vitest';
import { pods } from '#api/groups/core/v1/index.ts';
import {
  deviceClasses,
  resourceClaims,
  resourceClaimTemplates,
} from '#api/groups/resource/v1/index.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { ControllerManager } from '#controllers/index.ts';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { Scheduler } from '#scheduler/scheduler.ts';
import { NODE_NAME } from '../testing/harness.ts';
import { type RealTimeKubelet, startRealTimeKubelet } from '../testing/real-time-kubelet.ts';
import { TestDraDriver } from './testing/test-driver.ts';

const DRIVER = 'gpu.example.com';

let kubelet: RealTimeKubelet;
let driver: TestDraDriver;
let abort: AbortController;
let running: Promise<unknown>[];
let stopped: () => Promise<void>;

beforeEach(async () => {
  kubelet = await startRealTimeKubelet();
  const { client } = kubelet;
  const common = { client, clock: systemClock, logger: silentLogger };
  const random = new SeededRandom('cluster');
  const informers = new SharedInformerFactory({ ...common, random });
  const scheduler = new Scheduler({ ...common, random, informers });
  const controllers = new ControllerManager({
    ...common,
    random,
    controllers: ['resourceclaim-controller', 'garbage-collector-controller'],
  });
  abort = new AbortController();
  running = [scheduler.run(abort.signal), controllers.run(abort.signal)];
  stopped = () => informers.stopped();
  driver = new TestDraDriver({
    client,
    nodeName: NODE_NAME,
    rootDir: kubelet.rootDir,
    name: DRIVER,
    devices: ['gpu-0'],
  });
  await driver.start();
  await kubelet.waitFor(() => driver.isRegistered);
  await driver.publish();
  await client.resource(deviceClasses).create({
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
  });
  await client
    .resource(resourceClaimTemplates)
    .namespace('default')
    .create({
      metadata: { name: 'one-gpu' },
      spec: {
        spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } },
      },
    });
});
afterEach(async () => {
  driver.stop();
  abort.abort();
  await Promise.all(running);
  await stopped();
  await kubelet.stop();
});

async function createPod(name: string): Promise<void> {
  await kubelet.client
    .resource(pods)
    .namespace('default')
    .create({
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }],
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sleep', 'infinity'],
            resources: { claims: [{ name: 'gpu', request: 'gpu' }] },
          },
        ],
      },
    });
}

test('a template, the scheduler and the driver give a device to one pod after the other', async () => {
  await createPod('one');
  const pod = await kubelet.waitForPod('one', ({ status }) => status.phase === 'Running');
  const claimName = pod.status.resourceClaimStatuses?.[0]?.resourceClaimName ?? '';
  expect(driver.prepared).toEqual(new Map([[claimName, 1]]));
  expect(kubelet.containers[0]?.CDIDevices).toHaveLength(1);
  expect(pod.status.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.name).toBe(
    'claim:gpu/gpu',
  );

  await kubelet.deletePod('one');
  await kubelet.waitForGone('one');
  expect(driver.unprepared).toEqual([claimName]);
  // The claim goes with its pod, and the only device is free again.
  const claims = kubelet.client.resource(resourceClaims).namespace('default');
  await kubelet.waitFor(async () => (await claims.list()).items.length === 0);
  await createPod('two');
  await kubelet.waitForPod('two', ({ status }) => status.phase === 'Running');
  const [claim] = (await claims.list()).items;
  expect(claim?.metadata.ownerReferences?.[0]?.name).toBe('two');
  expect(claim?.status?.allocation?.devices?.results?.[0]?.device).toBe('gpu-0');
});
