// Claims to devices with an API server: allocated, reserved, written, awaited, deallocated.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { events, nodes, pods, type PodSpec } from '#api/groups/core/v1/index.ts';
import {
  type AllocatedDeviceStatus,
  type Device,
  deviceClasses,
  resourceClaims,
  resourceSlices,
  type ResourceClaimStatus,
} from '#api/groups/resource/v1/index.ts';
import { ControllerManager } from '#controllers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { SeededRandom } from '#machinery/random.ts';
import { startTestCluster, type TestCluster } from './testing/cluster.ts';
import { RecordingLogger } from './testing/handle.ts';
import {
  DRIVER,
  makeDeviceClass,
  makeResourceClaim,
  makeSlice,
  request,
  using,
} from './testing/devices.ts';

describe('claims to devices', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await startTestCluster();
    await cluster.addNode('a');
    await cluster.addNode('b');
    await cluster.client.resource(deviceClasses).create(fresh(makeDeviceClass('gpu')));
  });
  afterEach(async () => {
    await cluster.stop();
  });

  const fresh = <T extends { readonly metadata: object }>(object: T): T => {
    const {
      uid: _uid,
      resourceVersion: _version,
      creationTimestamp: _time,
      ...metadata
    } = object.metadata as Record<string, unknown>;
    return { ...object, metadata };
  };
  const claims = () => cluster.client.resource(resourceClaims).namespace('default');
  const addSlice = (name: string, node: string, ...devices: Device[]) =>
    cluster.client.resource(resourceSlices).create(fresh(makeSlice(name, node, devices)));
  const addClaim = (...args: Parameters<typeof makeResourceClaim>) =>
    claims().create(fresh(makeResourceClaim(...args)));
  const addPod = (name: string, spec: Partial<PodSpec>) => cluster.addPod(name, undefined, spec);
  const devicesOf = async (claim: string) =>
    ((await claims().get(claim)).status.allocation?.devices.results ?? []).map(
      ({ device }) => device,
    );

  test('writes devices and the reservation into the claim, then binds the pod to their node', async () => {
    await addSlice('on-b', 'b', { name: 'gpu-0' }, { name: 'gpu-1' });
    await addClaim('one');
    await addClaim('two');
    await addClaim('three');
    const { logger } = cluster.startScheduler();
    const pod = await addPod('p', using('one', 'two'));
    await cluster.untilBound('p');
    expect(await cluster.nodeOf('p')).toBe('b');
    const claim = await claims().get('one');
    expect(claim.metadata.finalizers).toEqual(['resource.kubernetes.io/delete-protection']);
    expect(claim.status).toEqual({
      allocation: {
        devices: { results: [{ request: 'r', driver: DRIVER, pool: 'on-b', device: 'gpu-0' }] },
        nodeSelector: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] },
          ],
        },
      },
      reservedFor: [{ resource: 'pods', name: 'p', uid: pod.metadata.uid }],
    });
    expect(await devicesOf('two')).toEqual(['gpu-1']);
    // No more devices are left.
    await addPod('q', using('three'));
    await cluster.clock.advance('5s');
    expect((await cluster.condition('q'))?.message).toBe(
      '0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, ' +
        'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    );
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await cluster.untilBound('q');
    expect(await cluster.nodeOf('q')).toBe('a');
    expect(logger.problems).toEqual([]);
  });

  test('lets pods share a claim, where its devices are', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await addClaim('shared');
    cluster.startScheduler();
    await addPod('p', using('shared'));
    await addPod('q', using('shared'));
    await cluster.untilBound('p', 'q');
    expect([await cluster.nodeOf('p'), await cluster.nodeOf('q')]).toEqual(['a', 'a']);
    expect(
      (await claims().get('shared')).status.reservedFor?.map(({ name }) => name).sort(),
    ).toEqual(['p', 'q']);
  });

  test('waits for claims, classes and templates, and reports it', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' }, { name: 'gpu-1' });
    cluster.startScheduler();
    await addClaim('other', [request('r', { deviceClassName: 'later' })]);
    await addPod('p', using('other'));
    await addPod('q', using('nope'));
    await cluster.clock.advance('2s');
    expect((await cluster.condition('p'))?.message).toMatch(
      /^0\/2 nodes are available: request r: device class later does not exist\. no new claims to deallocate, /,
    );
    // The pod is not even attempted.
    expect(await cluster.condition('q')).toBeUndefined();
    await cluster.client.resource(deviceClasses).create(fresh(makeDeviceClass('later')));
    await addClaim('nope');
    await cluster.untilBound('p', 'q');
    const made = await addPod('made', {
      resourceClaims: [{ name: 'x', resourceClaimTemplateName: 't' }],
    });
    await cluster.clock.advance('2s');
    expect(await cluster.nodeOf('made')).toBeUndefined();
    const owner = {
      apiVersion: 'v1',
      kind: 'Pod',
      name: 'made',
      uid: made.metadata.uid,
      controller: true,
    };
    const claim = fresh(makeResourceClaim('made-x', [request('r', { adminAccess: false })]));
    await claims().create({ ...claim, metadata: { name: 'made-x', ownerReferences: [owner] } });
    await addSlice('on-b', 'b', { name: 'gpu-0' });
    const inDefault = cluster.client.resource(pods).namespace('default');
    const status = { resourceClaimStatuses: [{ name: 'x', resourceClaimName: 'made-x' }] };
    await inDefault.patch(
      'made',
      'application/merge-patch+json',
      { status },
      { subresource: 'status' },
    );
    await cluster.untilBound('made');
    expect(await cluster.nodeOf('made')).toBe('b');
  });

  test('deallocates devices on a node where the pod cannot run', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await addSlice('on-b', 'b', { name: 'gpu-0' });
    const nodeSelector = {
      nodeSelectorTerms: [
        { matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: ['a'] }] },
      ],
    };
    const results = [{ request: 'r', driver: DRIVER, pool: 'on-a', device: 'gpu-0' }];
    const claim = await addClaim('c');
    await claims().updateStatus({
      ...claim,
      status: { allocation: { devices: { results }, nodeSelector } },
    });
    const { requests } = cluster.startScheduler();
    await addPod('p', { ...using('c'), nodeSelector: { 'kubernetes.io/hostname': 'b' } });
    await cluster.untilBound('p');
    expect((await claims().get('c')).status.allocation?.devices.results?.[0]?.pool).toBe('on-b');
    expect(
      requests.filter(
        (one) => one === 'PUT /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status',
      ),
    ).toHaveLength(2);
  });

  test('prefers nodes with the first alternative', async () => {
    await addSlice('on-a', 'a', { name: 'small', attributes: { large: { bool: false } } });
    await addSlice('on-b', 'b', { name: 'large', attributes: { large: { bool: true } } });
    const selectors = [{ cel: { expression: `device.attributes["${DRIVER}"].large` } }];
    const firstAvailable = [
      {
        name: 'large',
        deviceClassName: 'gpu',
        selectors,
        allocationMode: 'ExactCount' as const,
        count: 1,
      },
      { name: 'any', deviceClassName: 'gpu', allocationMode: 'ExactCount' as const, count: 1 },
    ];
    for (const name of ['c1', 'c2']) await addClaim(name, [{ name: 'r', firstAvailable }]);
    cluster.startScheduler();
    await addPod('p1', using('c1'));
    await cluster.untilBound('p1');
    await addPod('p2', using('c2'));
    await cluster.untilBound('p2');
    expect([await cluster.nodeOf('p1'), await cluster.nodeOf('p2')]).toEqual(['b', 'a']);
    expect((await claims().get('c2')).status.allocation?.devices.results?.[0]?.request).toBe(
      'r/any',
    );
  });

  test('releases the reserved devices if the pod cannot be bound', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await addClaim('c');
    const { setFault } = cluster.startScheduler();
    setFault((one, send) =>
      one.path.endsWith('/p/binding')
        ? Promise.reject(apierrors.forbidden({ group: '', resource: 'pods' }, 'p', 'no'))
        : send(),
    );
    await addPod('p', using('c'));
    await cluster.clock.advance('500ms');
    const claim = await claims().get('c');
    expect([claim.status.reservedFor, claim.status.allocation?.devices.results?.length]).toEqual([
      undefined,
      1,
    ]);
    setFault(undefined);
    await cluster.untilBound('p');
    expect((await claims().get('c')).status.reservedFor).toHaveLength(1);
  });

  test('works with the controller that deallocates devices', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await addClaim('c');
    const stop = new AbortController();
    const { client, clock } = cluster;
    const [random, logger] = [new SeededRandom('controllers'), new RecordingLogger()];
    const manager = new ControllerManager({
      client,
      clock,
      random,
      logger,
      controllers: ['resourceclaim-controller'],
    });
    const running = manager.run(stop.signal);
    const { requests } = cluster.startScheduler();
    await addPod('p', using('c'));
    await cluster.untilBound('p');
    await clock.advance('5s');
    expect((await claims().get('c')).metadata.finalizers).toEqual([
      'resource.kubernetes.io/delete-protection',
    ]);
    expect(
      requests.filter((one) => one.startsWith('PUT ') && one.includes('/resourceclaims/')),
    ).toHaveLength(2);
    await client.resource(pods).namespace('default').delete('p', { gracePeriodSeconds: 0 });
    await clock.advance('10s');
    const { metadata, status } = await claims().get('c');
    expect([metadata.finalizers, status]).toEqual([undefined, {}]);
    await addPod('q', using('c'));
    await cluster.untilBound('q');
    stop.abort();
    await running;
  });

  test('determines the outcome of a write whose response was lost', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await addClaim('c');
    const { requests, setFault } = cluster.startScheduler();
    const isWrite = (one: string): boolean =>
      one === 'PUT /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status';
    let asked = 0;
    setFault(async (one, send) => {
      if (one.method === 'GET' && one.path.endsWith('/resourceclaims/c') && asked++ < 2)
        throw apierrors.serviceUnavailable('down');
      const answer = await send();
      if (isWrite(`${one.method} ${one.path}`)) throw apierrors.timeoutError('the answer was lost');
      return answer;
    });
    await addPod('p', using('c'));
    await cluster.untilBound('p');
    expect([requests.filter(isWrite).length, asked]).toEqual([1, 3]);
  });

  test('decides again if a claim was changed during its write', async () => {
    await addSlice('on-a', 'a', { name: 'gpu-0' });
    await addClaim('c');
    const { setFault } = cluster.startScheduler();
    let once = false;
    setFault(async (one, send) => {
      if (!once && one.path.endsWith('/resourceclaims/c')) {
        once = true;
        await claims().patch('c', 'application/merge-patch+json', {
          metadata: { labels: { touched: 'yes' } },
        });
      }
      return await send();
    });
    await addPod('p', using('c'));
    await cluster.untilBound('p');
    expect((await claims().get('c')).metadata.labels).toEqual({ touched: 'yes' });
    expect(await devicesOf('c')).toEqual(['gpu-0']);
  });

  describe('for extended resources', () => {
    const asking = (...amounts: readonly number[]): Partial<PodSpec> => ({
      containers: amounts.map((amount, i) => {
        const list = { 'example.com/gpu': String(amount) };
        return { name: `c${i}`, image: 'image:1', resources: { requests: list, limits: list } };
      }),
    });
    const special = async () =>
      (await claims().list()).items.filter(({ metadata }) =>
        metadata.name.includes('-extended-resources-'),
      );
    beforeEach(async () => {
      const gpu = makeDeviceClass('provided', 'true', { extendedResourceName: 'example.com/gpu' });
      await cluster.client.resource(deviceClasses).create(fresh(gpu));
      await addSlice('on-b', 'b', { name: 'gpu-0' }, { name: 'gpu-1' }, { name: 'gpu-2' });
    });

    test('are created when the pod is bound, and recorded in its status', async () => {
      const { logger } = cluster.startScheduler();
      await addPod('p', asking(1, 2));
      await cluster.untilBound('p');
      expect(await cluster.nodeOf('p')).toBe('b');
      const [claim] = await special();
      expect(claim?.metadata).toMatchObject({
        annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
        ownerReferences: [{ kind: 'Pod', name: 'p', controller: true }],
      });
      expect(
        claim?.spec.devices.requests?.map(({ name, exactly }) => [
          name,
          exactly?.deviceClassName,
          exactly?.count,
        ]),
      ).toEqual([
        ['container-0-request-0', 'provided', 1],
        ['container-1-request-0', 'provided', 2],
      ]);
      expect(claim?.status.allocation?.devices.results).toHaveLength(3);
      const { status } = await cluster.client.resource(pods).namespace('default').get('p');
      expect(status.extendedResourceClaimStatus).toEqual({
        resourceClaimName: claim?.metadata.name,
        requestMappings: [
          {
            containerName: 'c0',
            resourceName: 'example.com/gpu',
            requestName: 'container-0-request-0',
          },
          {
            containerName: 'c1',
            resourceName: 'example.com/gpu',
            requestName: 'container-1-request-0',
          },
        ],
      });
      await addPod('q', asking(1));
      await cluster.clock.advance('3s');
      expect((await cluster.condition('q'))?.message).toMatch(
        /^0\/2 nodes are available: 2 cannot allocate all claims\. still not schedulable/,
      );
      expect(logger.problems).toEqual([]);
    });

    test('are not needed if the node itself has the resource', async () => {
      await cluster.addNode('plugin', {
        allocatable: { cpu: '4', memory: '32Gi', pods: '110', 'example.com/gpu': '2' },
      });
      cluster.startScheduler();
      await addPod('p', { ...asking(2), nodeSelector: { 'kubernetes.io/hostname': 'plugin' } });
      await cluster.untilBound('p');
      expect(await special()).toEqual([]);
      await addPod('q', { ...asking(1), nodeSelector: { 'kubernetes.io/hostname': 'plugin' } });
      await cluster.clock.advance('3s');
      expect((await cluster.condition('q'))?.message).toMatch(/1 Insufficient example\.com\/gpu/);
    });

    test('are deleted if the pod cannot be bound', async () => {
      const { setFault } = cluster.startScheduler();
      setFault((one, send) =>
        one.path.endsWith('/p/binding')
          ? Promise.reject(apierrors.forbidden({ group: '', resource: 'pods' }, 'p', 'no'))
          : send(),
      );
      await addPod('p', asking(3));
      await cluster.clock.advance('500ms');
      expect(await special()).toEqual([]);
      setFault(undefined);
      await cluster.untilBound('p');
      expect(await special()).toHaveLength(1);
    });

    test('of a killed scheduler are deleted', async () => {
      const pod = await addPod('p', asking(1));
      const left = fresh(
        makeResourceClaim('p-extended-resources-x', [
          request('container-0-request-0', { deviceClassName: 'provided' }),
        ]),
      );
      await claims().create({
        ...left,
        metadata: {
          name: 'p-extended-resources-x',
          annotations: { 'resource.kubernetes.io/extended-resource-claim': 'true' },
          ownerReferences: [
            { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid, controller: true },
          ],
        },
      });
      cluster.startScheduler();
      await cluster.untilBound('p');
      const made = await special();
      expect(made).toHaveLength(1);
      expect(made[0]?.metadata.name).not.toBe('p-extended-resources-x');
    });

    test('wait for the class of the resource', async () => {
      cluster.startScheduler();
      const list = { 'example.com/tpu': '1' };
      await addPod('p', {
        containers: [{ name: 'c', image: 'image:1', resources: { requests: list, limits: list } }],
      });
      await cluster.clock.advance('3s');
      expect((await cluster.condition('p'))?.message).toMatch(/2 Insufficient example\.com\/tpu/);
      const tpu = makeDeviceClass('tpu', 'true', { extendedResourceName: 'example.com/tpu' });
      await cluster.client.resource(deviceClasses).create(fresh(tpu));
      await cluster.untilBound('p');
    });
  });

  /** Sets the condition of the device on node a to true, as a driver does. */
  async function tell(name: string, type: string): Promise<void> {
    const claim = await claims().get(name);
    const device: AllocatedDeviceStatus = {
      driver: DRIVER,
      pool: 'on-a',
      device: 'gpu-0',
      conditions: [
        {
          type,
          status: 'True',
          reason: 'Because',
          message: 'so',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    };
    const status: ResourceClaimStatus = {
      ...(claim.status as ResourceClaimStatus),
      devices: [device],
    };
    await claims().updateStatus({ ...claim, status });
  }

  test('waits until devices are ready, and tries other nodes if they fail', async () => {
    const attached: Device = {
      name: 'gpu-0',
      bindsToNode: true,
      bindingConditions: ['Attached'],
      bindingFailureConditions: ['Broken'],
    };
    await addSlice('on-a', 'a', attached);
    await addClaim('c');
    const { metricsText } = cluster.startScheduler();
    await addPod('p', using('c'));
    await cluster.clock.advance('3s');
    const { status } = await claims().get('c');
    expect(status.allocation?.allocationTimestamp).toBe('2026-01-01T00:00:00Z');
    expect(await cluster.nodeOf('p')).toBeUndefined();
    await tell('c', 'Broken');
    await cluster.clock.advance('100ms');
    expect((await cluster.condition('p'))?.message).toBe(
      'running PreBind plugin "DynamicResources": claim default/c binding failed: reason=Because, message="so"',
    );
    // Otherwise only chance would keep the pod from the same device.
    const cordon = (unschedulable: boolean) =>
      cluster.client
        .resource(nodes)
        .patch('a', 'application/merge-patch+json', { spec: { unschedulable } });
    await cordon(true);
    await addSlice('on-b', 'b', { name: 'gpu-0' });
    await cluster.untilBound('p');
    expect(await cluster.nodeOf('p')).toBe('b');
    await cordon(false);
    await addClaim('d');
    await addPod('q', using('d'));
    await cluster.clock.advance('3s');
    expect(await cluster.nodeOf('q')).toBeUndefined();
    await tell('d', 'Attached');
    await cluster.untilBound('q');
    expect(await cluster.nodeOf('q')).toBe('a');
    await cluster.clock.advance('5s');
    const { items } = await cluster.client.resource(events).list();
    expect(
      items
        .filter(({ reason }) => reason === 'BindingConditionsPending')
        .map(({ message }) => message),
    ).toEqual([
      'waiting for binding conditions for device on node a',
      'waiting for binding conditions for device on node a',
    ]);
    const counted = metricsText()
      .split('\n')
      .filter((line) =>
        /^scheduler_dra_bindingconditions_(allocations_total|wait_duration_seconds_count)/.test(
          line,
        ),
      );
    const labels = (status: string): string =>
      `{profile="default-scheduler",driver="${DRIVER}",status="${status}"} 1`;
    expect(counted).toEqual(
      ['allocations_total', 'wait_duration_seconds_count'].flatMap((name) =>
        ['failure', 'success'].map(
          (status) => `scheduler_dra_bindingconditions_${name}${labels(status)}`,
        ),
      ),
    );
  });
});
