// Pods whose containers ask for CPUs and memory, for tests.

import { makeContainer, makePod } from '../../testing/make-pod.ts';
import type { Container, Pod } from '../../types.ts';

/** Makes a container whose limits equal its requests. */
export function pinnedContainer(
  name: string,
  resources: Readonly<Record<string, string>>,
  overrides: Partial<Container> = {},
): Container {
  return makeContainer(name, {
    resources: { requests: resources, limits: resources },
    ...overrides,
  });
}

/** Makes a Guaranteed pod with one container per amount of CPUs. */
export function guaranteedPod(
  uid: string,
  cpus: readonly string[],
  init: readonly Container[] = [],
): Pod {
  const containers = cpus.map((cpu, i) => pinnedContainer(`c${i}`, { cpu, memory: '1Gi' }));
  return makePod({
    metadata: { uid, name: uid },
    spec: { containers, initContainers: init },
  });
}
