// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A way to run containers that nodes support. */
export interface RuntimeClass extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The name of the configuration in the container runtime. */
  handler: string;
  /** Resources that pods of this class use beyond their containers. */
  overhead?: Overhead;
  /** The nodes that support the class. */
  scheduling?: Scheduling;
}

/** Resources that running a pod costs. */
export interface Overhead {
  /** The fixed resources of each pod. */
  podFixed?: core.ResourceList;
}

/** The nodes that support a RuntimeClass. */
export interface Scheduling {
  /** Labels of the nodes. They are added to the node selector of the pods. */
  nodeSelector?: Record<string, string>;
  /** Tolerations that are added to the pods. */
  tolerations?: core.Toleration[];
}

/** A list of RuntimeClass objects. */
export interface RuntimeClassList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: RuntimeClass[];
}
