// The knowledge that a kubelet takes over from the dormant one in whose place it begins.

import type { InformerView } from '#client/informers/index.ts';
import type { ServiceVariables } from './env/service-variables.ts';
import type { ReporterState } from './node/node-reporter.ts';
import type { WatchObject } from './objects.ts';
import type { Node, Pod } from './types.ts';

/** A dormant kubelet that has ended. Pods that are at rest are not synced until they change. */
export interface Predecessor {
  /** Undefined: the kubelet reads its Node and its Lease. */
  readonly reporter: ReporterState | undefined;
  /** Absent: the kubelet has watches of its own. */
  readonly shared?: SharedObjects;
}

/**
 * Objects that the informers of a process have for all of its simulated nodes: a kubelet among
 * thousands has no watches of its own. What it writes, it writes with its own rights.
 */
export interface SharedObjects {
  /** The pods that are bound to the node. */
  readonly pods: InformerView<Pod>;
  /** The Node. */
  readonly node: InformerView<Node>;
  /** Watches a ConfigMap or Secret. See ObjectTrackerConfig. */
  readonly watchObject: WatchObject;
  /** The variables of all services. They follow changes. */
  readonly services: ServiceVariables;
}
