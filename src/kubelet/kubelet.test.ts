import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { configMaps, events, nodes } from '#api/groups/core/v1/index.ts';
import { NODE_NAME, startHarness, type Harness } from './testing/harness.ts';
import type { Pod } from './types.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(async () => {
  await harness.stop();
});

const isRunning = (pod: Pod): boolean => pod.status.phase === 'Running';
const isReady = (pod: Pod): boolean =>
  pod.status.conditions?.some(
    (condition) => condition.type === 'Ready' && condition.status === 'True',
  ) === true;

describe('node', () => {
  test('is registered and ready, with its labels, addresses and capacity', async () => {
    const node = await harness.client.resource(nodes).get(NODE_NAME);
    expect(node.metadata.labels).toMatchObject({
      'kubernetes.io/hostname': NODE_NAME,
      'kubernetes.io/os': 'linux',
    });
    expect(node.status.addresses).toEqual([
      { type: 'InternalIP', address: '192.168.0.5' },
      { type: 'Hostname', address: NODE_NAME },
    ]);
    expect(node.status.capacity).toEqual({
      cpu: '4',
      memory: '8Gi',
      pods: '110',
      'ephemeral-storage': '100Gi',
    });
    expect(node.status.allocatable?.['memory']).toBe('8092Mi');
    const conditions = node.status.conditions?.map(({ type, status, reason, message }) => [
      type,
      status,
      reason,
      message,
    ]);
    expect(conditions).toEqual([
      [
        'MemoryPressure',
        'False',
        'KubeletHasSufficientMemory',
        'kubelet has sufficient memory available',
      ],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ]);
  });

  test('renews its lease, and reports its status again after five minutes', async () => {
    const before = await harness.client.resource(nodes).get(NODE_NAME);
    await harness.clock.advance('15s');
    const lease = await harness.client.resource(leases).namespace('kube-node-lease').get(NODE_NAME);
    expect(lease.spec.holderIdentity).toBe(NODE_NAME);
    await harness.clock.advance('1m');
    const later = await harness.client.resource(leases).namespace('kube-node-lease').get(NODE_NAME);
    expect(later.spec.renewTime! > lease.spec.renewTime!).toBe(true);
    const unchanged = await harness.client.resource(nodes).get(NODE_NAME);
    expect(unchanged.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    await harness.clock.advance('5m');
    const reported = await harness.client.resource(nodes).get(NODE_NAME);
    expect(reported.status.conditions?.[0]?.lastHeartbeatTime).not.toBe(
      before.status.conditions?.[0]?.lastHeartbeatTime,
    );
  });

  test('with a cloud, a new node waits for its controller, and keeps the addresses that it writes', async () => {
    await harness.stop();
    harness = await startHarness({ externalCloudProvider: true });
    const access = harness.client.resource(nodes);
    const made = await access.get(NODE_NAME);
    expect(made.metadata.annotations).toMatchObject({
      'alpha.kubernetes.io/provided-node-ip': '192.168.0.5',
    });
    expect(made.spec.taints).toContainEqual({
      key: 'node.cloudprovider.kubernetes.io/uninitialized',
      value: 'true',
      effect: 'NoSchedule',
    });
    expect(made.status.addresses?.map(({ type }) => type)).toEqual(['InternalIP', 'Hostname']);
    const addresses = [
      { type: 'ExternalIP', address: '203.0.113.7' },
      { type: 'InternalIP', address: '192.168.0.5' },
    ];
    await access.patch(
      NODE_NAME,
      'application/merge-patch+json',
      { status: { addresses } },
      {
        subresource: 'status',
      },
    );
    await harness.clock.advance('6m');
    const later = await access.get(NODE_NAME);
    expect(later.status.addresses).toEqual(addresses);
    const heartbeat = (of: typeof made): unknown => of.status.conditions?.[0]?.lastHeartbeatTime;
    expect(heartbeat(later)).not.toBe(heartbeat(made));
  });

  test('what changes after checks without a change is reported at the next one', async () => {
    await harness.clock.advance('1m');
    const before = await harness.client.resource(nodes).get(NODE_NAME);
    const image = 'registry.example/late:1';
    await harness.runtime.images.pullImage({ image });
    await harness.clock.advance('10s');
    const reported = await harness.client.resource(nodes).get(NODE_NAME);
    const namesOf = ({ status }: typeof reported): string[] =>
      (status.images ?? []).flatMap(({ names }) => [...(names ?? [])]);
    expect(namesOf(before)).not.toContain(image);
    expect(namesOf(reported)).toContain(image);
    expect(reported.status.conditions?.[0]?.lastHeartbeatTime).not.toBe(
      before.status.conditions?.[0]?.lastHeartbeatTime,
    );
  });
});

describe('pods', () => {
  test('a bound pod runs, and its status is written once or twice', async () => {
    const written = await harness.watchWrites('web');
    await harness.createPod('web');
    const pod = await harness.waitForPod('web', isRunning);
    expect(isReady(pod)).toBe(true);
    expect(pod.status).toMatchObject({
      observedGeneration: 1,
      phase: 'Running',
      qosClass: 'BestEffort',
      hostIP: '192.168.0.5',
      hostIPs: [{ ip: '192.168.0.5' }],
      containerStatuses: [
        {
          name: 'main',
          ready: true,
          started: true,
          restartCount: 0,
          lastState: {},
          state: { running: {} },
          resources: {},
        },
      ],
    });
    expect(pod.status.podIP).toMatch(/^10\./);
    expect(pod.status.podIPs).toEqual([{ ip: pod.status.podIP }]);
    expect(pod.status.startTime).toBeDefined();
    expect(
      pod.status.conditions?.map(({ type, status }) => `${type}=${status}`).toSorted(),
    ).toEqual([
      'ContainersReady=True',
      'Initialized=True',
      'PodReadyToStartContainers=True',
      'PodScheduled=True',
      'Ready=True',
    ]);
    await harness.clock.advance('1s');
    expect(written.count).toBeLessThanOrEqual(2);
    expect(await harness.eventsOf('web')).toEqual([
      'Pulled: Container image "busybox:1.36" already present on machine and can be accessed by the pod',
      'Created: Container created',
      'Started: Container started',
    ]);
  });

  test('a deleted pod is stopped, and is gone as soon as its containers have ended', async () => {
    await harness.createPod(
      'web',
      { terminationGracePeriodSeconds: 600 },
      { annotations: { 'simulation.coxswain.dev/stop-duration': '3s' } },
    );
    await harness.waitForPod('web', isRunning);
    const begin = harness.clock.now();
    await harness.deletePod('web');
    expect((await harness.getPod('web')).metadata.deletionTimestamp).toBeDefined();
    await harness.waitForGone('web');
    expect(harness.clock.now() - begin).toBeGreaterThanOrEqual(3000);
    expect(harness.clock.now() - begin).toBeLessThan(3500);
    await harness.clock.advance('1s');
    expect(await harness.runtime.runtime.listPodSandbox()).toEqual([]);
    expect(await harness.runtime.runtime.listContainers()).toEqual([]);
    expect(await harness.eventsOf('web')).toContain('Killing: Stopping container main');
  });

  test('a deletion with a shorter grace period shortens a running one', async () => {
    await harness.createPod(
      'web',
      { terminationGracePeriodSeconds: 600 },
      { annotations: { 'simulation.coxswain.dev/stop-duration': '10m' } },
    );
    await harness.waitForPod('web', isRunning);
    await harness.deletePod('web');
    await harness.clock.advance('5s');
    const begin = harness.clock.now();
    await harness.deletePod('web', 4);
    await harness.waitForGone('web');
    expect(harness.clock.now() - begin).toBeLessThan(6000);
  });

  test('containers of a pod that was deleted by force are stopped', async () => {
    await harness.createPod('web', { terminationGracePeriodSeconds: 5 });
    await harness.waitForPod('web', isRunning);
    await harness.deletePod('web', 0);
    await harness.clock.advance('10s');
    expect(await harness.runtime.runtime.listPodSandbox()).toEqual([]);
  });

  test('a failing container is restarted with growing delays, and waits in CrashLoopBackOff', async () => {
    await harness.createPod('crash', {
      containers: [{ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', 'exit 3'] }],
    });
    const waiting = await harness.waitForPod('crash', (pod) => {
      const status = pod.status.containerStatuses?.[0];
      return status?.state.waiting?.reason === 'CrashLoopBackOff' && status.restartCount === 1;
    });
    const status = waiting.status.containerStatuses?.[0];
    expect(status?.state.waiting?.message).toBe(
      `back-off 10s restarting failed container=main pod=crash_default(${waiting.metadata.uid})`,
    );
    expect(status?.lastState.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(waiting.status.phase).toBe('Running');
    const begin = harness.clock.now();
    await harness.waitForPod(
      'crash',
      (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) === 4,
    );
    // 10 s, 20 s, 40 s: minus the time before the first failure was observed.
    expect(harness.clock.now() - begin).toBeGreaterThan(65_000);
    expect(harness.clock.now() - begin).toBeLessThan(75_000);
    // One dead instance is kept besides the newest.
    expect((await harness.runtime.runtime.listContainers()).length).toBeLessThanOrEqual(2);
  });

  test('a pod with restartPolicy Never ends with its containers', async () => {
    const container = (code: number) => [
      { name: 'main', image: 'busybox:1.36', command: ['sh', '-c', `exit ${code}`] },
    ];
    await harness.createPod('good', { restartPolicy: 'Never', containers: container(0) });
    await harness.createPod('bad', { restartPolicy: 'Never', containers: container(7) });
    const good = await harness.waitForPod('good', (pod) => pod.status.phase === 'Succeeded');
    expect(good.status.containerStatuses?.[0]?.state.terminated).toMatchObject({
      exitCode: 0,
      reason: 'Completed',
    });
    expect(good.status.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'PodCompleted',
    });
    const bad = await harness.waitForPod('bad', (pod) => pod.status.phase === 'Failed');
    expect(bad.status.containerStatuses?.[0]?.state.terminated).toMatchObject({
      exitCode: 7,
      reason: 'Error',
    });
    await harness.deletePod('bad');
    await harness.waitForGone('bad', '10s');
  });

  test('init containers run one after the other before the regular containers', async () => {
    const init = (name: string) => ({
      name,
      image: 'busybox:1.36',
      command: ['sh', '-c', 'sleep 2'],
    });
    await harness.createPod('staged', { initContainers: [init('one'), init('two')] });
    const first = await harness.waitForPod(
      'staged',
      (pod) => pod.status.initContainerStatuses?.[0]?.state.running !== undefined,
    );
    expect(first.status.initContainerStatuses?.[1]?.state.waiting?.reason).toBe('PodInitializing');
    expect(first.status.containerStatuses?.[0]?.state.waiting?.reason).toBe('PodInitializing');
    expect(first.status.conditions?.find(({ type }) => type === 'Initialized')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [one two]',
    });
    await harness.waitForPod(
      'staged',
      (pod) => pod.status.initContainerStatuses?.[1]?.state.running !== undefined,
    );
    const running = await harness.waitForPod('staged', isRunning);
    expect(
      running.status.initContainerStatuses?.map((status) => status.state.terminated?.reason),
    ).toEqual(['Completed', 'Completed']);
  });

  test('a missing config map delays the container until it is created', async () => {
    await harness.createPod('needy', {
      containers: [
        {
          name: 'main',
          image: 'busybox:1.36',
          command: ['sleep', 'infinity'],
          env: [{ name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'colors', key: 'sky' } } }],
        },
      ],
    });
    const waiting = await harness.waitForPod(
      'needy',
      (pod) =>
        pod.status.containerStatuses?.[0]?.state.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(waiting.status.containerStatuses?.[0]?.state.waiting?.message).toBe(
      'configmap "colors" not found',
    );
    await harness.client
      .resource(configMaps)
      .create({ metadata: { name: 'colors', namespace: 'default' }, data: { sky: 'blue' } });
    await harness.waitForPod('needy', isRunning, '1s');
  });

  test('an image that cannot be pulled is backed off from', async () => {
    await harness.createPod(
      'lost',
      {},
      { annotations: { 'simulation.coxswain.dev/image-pull-error': 'not found' } },
    );
    const failed = await harness.waitForPod(
      'lost',
      (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === 'ErrImagePull',
    );
    expect(failed.status.phase).toBe('Pending');
    await harness.waitForPod(
      'lost',
      (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === 'ImagePullBackOff',
      '20s',
    );
  });

  test('an image volume is pulled first; without it the container waits', async () => {
    const volumes = (reference: string): object => ({
      volumes: [{ name: 'pages', image: { reference, pullPolicy: 'Always' } }],
      containers: [
        {
          name: 'main',
          image: 'busybox:1.36',
          volumeMounts: [{ name: 'pages', mountPath: '/pages' }],
        },
      ],
    });
    await harness.createPod('reader', volumes('registry.example/pages:1'));
    await harness.waitForPod('reader', isRunning, '1s');
    const messages = (await harness.client.resource(events).namespace('default').list()).items
      .filter(
        ({ involvedObject: { name, fieldPath } }) => name === 'reader' && fieldPath === undefined,
      )
      .map(({ reason, message }) => `${reason}: ${message}`);
    expect(messages).toContain('Pulling: Pulling image "registry.example/pages:1"');

    await harness.createPod('blind', volumes('registry.example/pages:404'));
    const failed = await harness.waitForPod(
      'blind',
      (pod) => pod.status.containerStatuses?.[0]?.state.waiting?.reason === 'ErrImagePull',
    );
    expect(failed.status.containerStatuses?.[0]?.state.waiting?.message).toMatch(
      /registry.example\/pages:404: not found$/,
    );
  });

  test('a pod that does not fit is rejected', async () => {
    await harness.createPod('huge', {
      containers: [{ name: 'main', image: 'busybox:1.36', resources: { requests: { cpu: '5' } } }],
    });
    const pod = await harness.waitForPod(
      'huge',
      (candidate) => candidate.status.phase === 'Failed',
      '5s',
    );
    expect(pod.status.reason).toBe('OutOfcpu');
    expect(pod.status.message).toBe(
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000",
    );
    await harness.deletePod('huge');
    await harness.waitForGone('huge', '5s');
  });

  test('a pod that exceeds its activeDeadlineSeconds is stopped', async () => {
    await harness.createPod('late', {
      activeDeadlineSeconds: 20,
      terminationGracePeriodSeconds: 1,
    });
    await harness.waitForPod('late', isRunning);
    const pod = await harness.waitForPod(
      'late',
      (candidate) => candidate.status.phase === 'Failed',
      '40s',
    );
    expect(pod.status).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
  });

  test('a failing liveness probe restarts the container', async () => {
    await harness.createPod(
      'sick',
      {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'main',
            image: 'busybox:1.36',
            command: ['sleep', 'infinity'],
            livenessProbe: { exec: { command: ['false'] }, periodSeconds: 5, failureThreshold: 2 },
          },
        ],
      },
      { annotations: { 'simulation.coxswain.dev/exec-exit-code': '1' } },
    );
    await harness.waitForPod(
      'sick',
      (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) >= 1,
      '30s',
    );
    await harness.clock.advance('1s');
    expect(await harness.eventsOf('sick')).toEqual(
      expect.arrayContaining([
        expect.stringContaining('Unhealthy: Liveness probe failed:'),
        'Killing: Container main failed liveness probe, will be restarted',
      ]),
    );
  });
});

describe('restart of the kubelet', () => {
  test('running pods continue, and no container is started twice', async () => {
    await harness.createPod('web');
    const before = await harness.waitForPod('web', isRunning);
    const containers = await harness.runtime.runtime.listContainers();
    await harness.kubelet.stop();
    await harness.restartKubelet();
    await harness.clock.advance('1m');
    expect(await harness.runtime.runtime.listContainers()).toEqual(containers);
    const after = await harness.getPod('web');
    expect(after.status.containerStatuses).toEqual(before.status.containerStatuses);
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  test('a pod that was deleted meanwhile is stopped', async () => {
    await harness.createPod('web', { terminationGracePeriodSeconds: 2 });
    await harness.createPod('forced', { terminationGracePeriodSeconds: 2 });
    await harness.waitForPod('web', isRunning);
    await harness.waitForPod('forced', isRunning);
    await harness.kubelet.stop();
    await harness.deletePod('web');
    await harness.deletePod('forced', 0);
    await harness.restartKubelet();
    await harness.waitForGone('web', '10s');
    await harness.clock.advance('10s');
    expect(await harness.runtime.runtime.listPodSandbox()).toEqual([]);
  });

  test('a container that ended meanwhile is restarted', async () => {
    await harness.createPod('web');
    const before = await harness.waitForPod('web', isRunning);
    await harness.kubelet.stop();
    const id = before.status.containerStatuses?.[0]?.containerID?.split('://')[1] ?? '';
    await harness.runtime.runtime.stopContainer(id, 0);
    await harness.restartKubelet();
    const after = await harness.waitForPod(
      'web',
      (pod) => pod.status.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(after.status.containerStatuses?.[0]?.lastState.terminated?.containerID).toBe(
      before.status.containerStatuses?.[0]?.containerID,
    );
  });
});
