// The knowledge that a kubelet takes over from the dormant one in whose place it begins.

import type { Snapshot } from '#client/informers/index.ts';
import type { ServiceVariables } from './env/service-variables.ts';
import type { ReporterState } from './node/node-reporter.ts';
import type { ObjectKind } from './objects.ts';
import type { ConfigMap, Node, Pod, Secret } from './types.ts';

/** A dormant kubelet that has ended. Pods that are at rest are not synced until they change. */
export interface Predecessor {
  /** Undefined: the kubelet reads its Node and its Lease. */
  readonly reporter: ReporterState | undefined;
  /** Absent: the kubelet lists its pods, its Node and the services. */
  readonly shared?: SharedObjects;
}

/**
 * Objects that an informer of the process has already. Every node may read the services, and this
 * one the rest. Its own watches go on from the snapshots, with its own rights.
 */
export interface SharedObjects {
  /** Returns the pods that are bound to the node. */
  readonly pods: () => Snapshot<Pod> | undefined;
  /** Returns the Node. */
  readonly node: () => Snapshot<Node> | undefined;
  /** Returns a ConfigMap or Secret, if pods at rest refer to it. */
  readonly object: (
    kind: ObjectKind,
    namespace: string,
    name: string,
  ) => Snapshot<ConfigMap | Secret> | undefined;
  /** The variables of all services. They follow changes. */
  readonly services: ServiceVariables;
}
