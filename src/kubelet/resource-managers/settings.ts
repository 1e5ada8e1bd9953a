// The settings of the managers of CPUs, memory and topology, with upstream's names and values.

import type { ResourceList } from '../types.ts';
import type { TopologyPolicy } from './hints/merge-hints.ts';
import type { TopologyScope } from './topology-manager.ts';

export interface MemoryReservation {
  readonly numaNode: number;
  readonly limits: ResourceList;
}

export interface ResourceManagerSettings {
  readonly cpuManagerPolicy: 'none' | 'static';
  readonly cpuManagerPolicyOptions: Readonly<Record<string, string>>;
  /** The feature gate CPUManagerPolicyAlphaOptions is on. */
  readonly cpuManagerAlphaOptions: boolean;
  readonly cpuManagerReconcileMs: number;
  /** In the kernel's list format. '': as many as are reserved for the system and the kubelet. */
  readonly reservedSystemCPUs: string;
  readonly memoryManagerPolicy: 'None' | 'Static';
  readonly reservedMemory: readonly MemoryReservation[];
  readonly topologyManagerPolicy: TopologyPolicy;
  readonly topologyManagerScope: TopologyScope;
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
}

export const DEFAULT_RESOURCE_MANAGERS: ResourceManagerSettings = {
  cpuManagerPolicy: 'none',
  cpuManagerPolicyOptions: {},
  cpuManagerAlphaOptions: false,
  cpuManagerReconcileMs: 10_000,
  reservedSystemCPUs: '',
  memoryManagerPolicy: 'None',
  reservedMemory: [],
  topologyManagerPolicy: 'none',
  topologyManagerScope: 'container',
  topologyManagerPolicyOptions: {},
};
