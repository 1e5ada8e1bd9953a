// A kubelet with files and a runtime that reports user namespaces.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { nodes } from '#api/groups/core/v1/index.ts';
import { NODE_NAME } from '../testing/harness.ts';
import { type RealTimeKubelet, startRealTimeKubelet } from '../testing/real-time-kubelet.ts';

let kubelet: RealTimeKubelet | undefined;
afterEach(async () => {
  await kubelet?.stop();
  kubelet = undefined;
});

const SPEC = {
  hostUsers: false,
  containers: [
    { name: 'main', image: 'busybox:1.36', volumeMounts: [{ name: 'data', mountPath: '/data' }] },
  ],
  volumes: [{ name: 'data', emptyDir: {} }],
};

test('containers and their mounts have the mappings of the pod, over restarts', async () => {
  kubelet = await startRealTimeKubelet();
  const { createPod, waitForPod, waitForGone, deletePod, containers, rootDir } = kubelet;
  const { uid } = (await createPod('first', SPEC)).metadata;
  await waitForPod('first', (pod) => pod.status.phase === 'Running');
  const [config] = containers;
  const options = config?.linux?.securityContext?.namespaceOptions?.usernsOptions;
  const mappings = [{ hostId: 65_536, containerId: 0, length: 65_536 }];
  expect(options).toEqual({ mode: 'POD', uids: mappings, gids: mappings });
  expect(config?.mounts?.map(({ containerPath }) => containerPath)).toContain('/data');
  for (const mount of config?.mounts ?? [])
    expect(mount).toMatchObject({ uidMappings: mappings, gidMappings: mappings });
  const file = join(rootDir, 'pods', uid, 'userns');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    uidMappings: mappings,
    gidMappings: mappings,
  });

  await kubelet.stopKubelet();
  await kubelet.startKubelet();
  await createPod('second', SPEC);
  await waitForPod('second', (pod) => pod.status.phase === 'Running');
  const second = containers.at(-1)?.linux?.securityContext?.namespaceOptions?.usernsOptions;
  expect(second?.uids?.[0]?.hostId).toBe(131_072);

  await deletePod('first');
  await waitForGone('first');
  expect(existsSync(file)).toBe(false);
});

test('the Node names the handlers of the runtime, and features of it and of the kubelet', async () => {
  kubelet = await startRealTimeKubelet();
  const { status } = await kubelet.client.resource(nodes).get(NODE_NAME);
  expect(status.runtimeHandlers).toEqual([
    { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
  ]);
  expect(status.features).toEqual({ supplementalGroupsPolicy: true });
  // The scheduler leaves pods with restart rules for all containers to nodes that declare this.
  expect(status.declaredFeatures).toContain('RestartAllContainersOnContainerExits');
});
