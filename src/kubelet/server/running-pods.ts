// /runningpods/: the pods in the runtime, in upstream's form.

import type { RuntimePodStatus } from '../pod/pod-status.ts';

/**
 * The fields of a Pod that the runtime has. There is no creation time: Go clients could not parse
 * an empty one.
 */
export interface RunningPod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly resources: object;
    }[];
  };
  readonly status: object;
}

export function runningPod({ name, namespace, uid, containers }: RuntimePodStatus): RunningPod {
  const images = new Map(
    containers
      .filter(({ state }) => state === 'running')
      .map((record) => [record.name, record.image]),
  );
  return {
    metadata: { name, namespace, uid },
    spec: {
      containers: Array.from(images, ([container, image]) => ({
        name: container,
        image,
        resources: {},
      })),
    },
    status: {},
  };
}
