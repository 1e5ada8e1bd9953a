// The heartbeats that a fault can meet. On a lazy virtual clock the store makes heartbeats itself (StorageBeats), and a
// fault does not meet those. So kubelets make the heartbeats that a fault may meet, and the store makes the others.

import { nodes } from '#api/groups/core/v1/index.ts';
import { leases } from '#api/groups/coordination/v1/index.ts';
import { storagePrefix } from '#apiserver/registry/storage-prefix.ts';
import type { StorageBeats } from '#storage/interface.ts';
import { selectedKind } from './kinds.ts';
import { type FaultSelector, isComponent } from './selector.ts';

/** The names of the nodes whose heartbeats a fault can meet, or all. */
export type MetHeartbeats = 'all' | readonly string[];

const KUBELET = 'kubelet/';
const PREFIXES = [`${storagePrefix(leases)}kube-node-lease/`, storagePrefix(nodes)];

/**
 * Returns the heartbeats that a selector of requests or events can match. Those of the scheduler
 * are none: it neither makes heartbeats nor depends on them. The controller manager depends on all.
 */
export function heartbeatsMetBy({
  component,
  kind,
}: Pick<FaultSelector, 'component' | 'kind'>): MetHeartbeats {
  if (kind !== undefined) {
    const { group, resource } = selectedKind(kind);
    const isHeartbeat = [leases, nodes].some(
      (type) => type.group === group && type.resource === resource,
    );
    if (!isHeartbeat) return [];
  }
  if (component === undefined) return 'all';
  if (isComponent(component, 'scheduler')) return [];
  return component.startsWith(KUBELET) ? [component.slice(KUBELET.length)] : 'all';
}

/** Returns the heartbeats that go missing while processes are started again: those of kubelets. */
export function heartbeatsOf(processes: readonly string[]): MetHeartbeats {
  return processes.flatMap((process) =>
    process.startsWith(KUBELET) ? [process.slice(KUBELET.length)] : [],
  );
}

/** Lets kubelets make these heartbeats. Returns a function that ends it. */
export function observeHeartbeats(beats: StorageBeats, met: MetHeartbeats): () => void {
  const keys =
    met === 'all' ? ['/'] : met.flatMap((node) => PREFIXES.map((prefix) => prefix + node));
  const ends = keys.map((key) => beats.observe(key));
  return () => {
    for (const end of ends) end();
  };
}
