// A pod with the values that scheduling reads repeatedly, computed once per version of the pod.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Container, Volume } from '#api/groups/core/v1/index.ts';
import { affinityTermsOf, type AffinityTerms, hasAffinityTerms } from './affinity-terms.ts';
import { type Pod, podKey } from './objects.ts';
import { claimsOf, type ClaimUse, disksOf, isExclusiveDisk } from './pod-volumes.ts';
import { podRequests } from './pod-requests.ts';
import type { Resource } from './resource.ts';

/** A port on the node itself that a pod claims. */
export interface HostPort {
  /** '0.0.0.0' for every address of the node. */
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A version of a pod. Immutable: a changed pod gets a new PodInfo. */
export class PodInfo {
  readonly pod: Pod;
  readonly uid: string;
  /** namespace/name */
  readonly key: string;
  readonly priority: number;
  readonly requests: Resource;
  readonly nonZeroMilliCpu: number;
  readonly nonZeroMemory: number;
  readonly hostPorts: readonly HostPort[];
  /** Whether the pod has affinity or anti-affinity terms. */
  readonly hasAffinity: boolean;
  /** The claims that the pod mounts. */
  readonly claims: readonly ClaimUse[];
  /** The volumes of the pod that are cloud disks. */
  readonly disks: readonly Immutable<Volume>[];
  /** Whether the pod's volumes may keep other pods off its node: it has claims or disks. */
  readonly hasVolumes: boolean;
  #group: string | undefined;
  #tolerationsText: string | undefined;

  constructor(pod: Pod) {
    this.pod = pod;
    this.uid = pod.metadata.uid;
    this.key = podKey(pod);
    this.priority = pod.spec.priority ?? 0;
    const { requests, nonZeroMilliCpu, nonZeroMemory } = podRequests(pod);
    this.requests = requests;
    this.nonZeroMilliCpu = nonZeroMilliCpu;
    this.nonZeroMemory = nonZeroMemory;
    this.hostPorts = hostPortsOf(pod);
    this.hasAffinity = hasAffinityTerms(pod);
    this.claims = claimsOf(pod);
    this.disks = disksOf(pod);
    this.hasVolumes =
      this.claims.length > 0 ||
      this.disks.length > 0 ||
      (pod.spec.volumes?.some(isExclusiveDisk) ?? false);
  }

  /**
   * The pod's group. Every selector treats pods of one group the same: they have the same namespace
   * and labels, and both or neither are being deleted.
   */
  get group(): string {
    return (this.#group ??= groupOf(this.pod));
  }

  /** The same text for pods with equal tolerations. */
  get tolerationsText(): string {
    return (this.#tolerationsText ??= tolerationsTextOf(this.pod));
  }

  get affinityTerms(): AffinityTerms {
    return affinityTermsOf(this.pod);
  }
}

function tolerationsTextOf({ spec: { tolerations } }: Pod): string {
  return tolerations === undefined || tolerations.length === 0 ? '' : JSON.stringify(tolerations);
}

function groupOf({ metadata: { namespace = '', labels, deletionTimestamp } }: Pod): string {
  const entries = Object.entries(labels ?? {});
  if (entries.length > 1) entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `${namespace} ${deletionTimestamp === undefined ? '' : 'going '}${entries.join()}`;
}

const NONE: readonly HostPort[] = [];

/** Returns the host ports of the containers and sidecars. */
function hostPortsOf(pod: Pod): readonly HostPort[] {
  let ports: HostPort[] | undefined;
  const collect = (container: Immutable<Container>): void => {
    for (const port of container.ports ?? []) {
      if (port.hostPort === undefined || port.hostPort <= 0) continue;
      ports ??= [];
      ports.push({
        ip: port.hostIP || '0.0.0.0',
        protocol: port.protocol || 'TCP',
        port: port.hostPort,
      });
    }
  };
  pod.spec.containers.forEach(collect);
  for (const container of pod.spec.initContainers ?? [])
    if (container.restartPolicy === 'Always') collect(container);
  return ports ?? NONE;
}

/**
 * Reports whether a port of `wanted` conflicts with `used`: same protocol and number, and the same
 * address or any address.
 */
export function hostPortsConflict(wanted: readonly HostPort[], used: readonly HostPort[]): boolean {
  if (wanted.length === 0 || used.length === 0) return false;
  return wanted.some((want) =>
    used.some(
      (use) =>
        want.port === use.port &&
        want.protocol === use.protocol &&
        (want.ip === use.ip || want.ip === '0.0.0.0' || use.ip === '0.0.0.0'),
    ),
  );
}
