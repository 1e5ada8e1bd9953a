// The graph of objects that nodes need. Pods connect the objects that they refer to with their
// nodes; a claim connects its volume, and a volume connects its secrets. The graph is indexed by
// the objects that requests name, so that a lookup needs no search: at most the claims of one node
// are visited.

import type { PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { referencesOf, type ReferredKind, secretsOfVolume } from './references.ts';

type ReadPod = Immutable<Pod>;
type ReadVolume = Immutable<PersistentVolume>;

/** Cluster-scoped objects that may belong to a node. */
export type OwnedKind = 'volumeattachment' | 'resourceslice';
export type GraphKind = ReferredKind | OwnedKind | 'pod' | 'pv';

/** Reports whether objects of the kind name their node themselves. */
export function isOwned(kind: GraphKind): kind is OwnedKind {
  return kind === 'volumeattachment' || kind === 'resourceslice';
}

interface GraphPod {
  readonly node: string;
  /** Changes when the references of the pod may have changed. */
  readonly signature: string;
  /** Without duplicates. */
  readonly references: readonly Referred[];
}

/** An object that pods refer to. Pods share it, so that each keeps no text of its own. */
interface Referred {
  /** 'kind namespace/name' */
  readonly key: string;
  /** For each node, how many of its pods refer to the object. */
  readonly nodes: Map<string, number>;
}

interface GraphVolume {
  readonly claim: string;
  readonly secrets: readonly string[];
}

const MIRROR = 'kubernetes.io/config.mirror';

export class NodeGraph {
  readonly #pods = new Map<string, GraphPod>();
  /** By 'kind namespace/name'. Each has a node. */
  readonly #referred = new Map<string, Referred>();
  /**
   * By node: the claims ('namespace/name') that its pods refer to, with the number of such pods.
   */
  readonly #claims = new Map<string, Map<string, number>>();
  readonly #volumes = new Map<string, GraphVolume>();
  /** The names of the volumes that are bound to a claim, by 'namespace/name' of the claim. */
  readonly #volumesOf = new Map<string, Set<string>>();
  /** Secrets that volumes name, with the number of such volumes. */
  readonly #volumeSecrets = new Map<string, number>();
  readonly #owned: Readonly<Record<OwnedKind, Map<string, string>>> = {
    volumeattachment: new Map(),
    resourceslice: new Map(),
  };

  /**
   * Reports whether the object is connected with the node. `namespace`: '' for cluster-scoped
   * objects.
   */
  leadsTo(node: string, kind: GraphKind, namespace: string, name: string): boolean {
    const key = `${namespace}/${name}`;
    switch (kind) {
      case 'pod':
        return this.#pods.get(key)?.node === node;
      case 'pv': {
        const claim = this.#volumes.get(name)?.claim;
        return claim !== undefined && this.#refersTo(node, 'pvc', claim);
      }
      case 'secret':
        return (
          this.#refersTo(node, 'secret', key) ||
          (this.#volumeSecrets.has(key) && this.#volumeOfNodeNames(node, key))
        );
      case 'volumeattachment':
      case 'resourceslice':
        return this.#owned[kind].get(name) === node;
      default:
        return this.#refersTo(node, kind, key);
    }
  }

  setPod(pod: ReadPod): void {
    const node = pod.spec.nodeName ?? '';
    // A bound pod never changes its node.
    if (node === '') return;
    const key = `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;
    const signature = signatureOf(pod);
    const before = this.#pods.get(key);
    if (before?.signature === signature) return;
    if (before !== undefined) this.#count(before, -1);
    const references = referenceKeys(pod).map(
      (each) => this.#referred.get(each) ?? { key: each, nodes: new Map<string, number>() },
    );
    const graphPod: GraphPod = { node, signature, references };
    this.#pods.set(key, graphPod);
    this.#count(graphPod, 1);
  }

  /** Removes a pod. `key`: 'namespace/name'. */
  deletePod(key: string): void {
    const graphPod = this.#pods.get(key);
    if (graphPod === undefined) return;
    this.#pods.delete(key);
    this.#count(graphPod, -1);
  }

  /** Removes all pods. */
  deletePods(): void {
    this.#pods.clear();
    this.#referred.clear();
    this.#claims.clear();
  }

  setVolume(volume: ReadVolume): void {
    const { name } = volume.metadata;
    this.deleteVolume(name);
    const { claimRef } = volume.spec;
    if (claimRef === undefined) return;
    const graphVolume: GraphVolume = {
      claim: `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
      secrets: secretsOfVolume(volume),
    };
    this.#volumes.set(name, graphVolume);
    const ofClaim = this.#volumesOf.get(graphVolume.claim);
    if (ofClaim === undefined) this.#volumesOf.set(graphVolume.claim, new Set([name]));
    else ofClaim.add(name);
    for (const secret of graphVolume.secrets) add(this.#volumeSecrets, secret, 1);
  }

  deleteVolume(name: string): void {
    const graphVolume = this.#volumes.get(name);
    if (graphVolume === undefined) return;
    this.#volumes.delete(name);
    const ofClaim = this.#volumesOf.get(graphVolume.claim);
    ofClaim?.delete(name);
    if (ofClaim?.size === 0) this.#volumesOf.delete(graphVolume.claim);
    for (const secret of graphVolume.secrets) add(this.#volumeSecrets, secret, -1);
  }

  /** Records the node of an object; an undefined `node` removes it. */
  setOwned(kind: OwnedKind, name: string, node: string | undefined): void {
    if (node === undefined || node === '') this.#owned[kind].delete(name);
    else this.#owned[kind].set(name, node);
  }

  #refersTo(node: string, kind: ReferredKind, key: string): boolean {
    return this.#referred.get(`${kind} ${key}`)?.nodes.has(node) ?? false;
  }

  #volumeOfNodeNames(node: string, secret: string): boolean {
    for (const claim of this.#claims.get(node)?.keys() ?? []) {
      for (const volume of this.#volumesOf.get(claim) ?? []) {
        if (this.#volumes.get(volume)?.secrets.includes(secret) === true) return true;
      }
    }
    return false;
  }

  #count({ node, references }: GraphPod, difference: 1 | -1): void {
    for (const referred of references) {
      const { key, nodes } = referred;
      add(nodes, node, difference);
      if (nodes.size === 0) this.#referred.delete(key);
      else this.#referred.set(key, referred);
      if (key.startsWith('pvc '))
        addWithin(this.#claims, node, key.slice('pvc '.length), difference);
    }
  }
}

/**
 * Returns a text that changes when a bound pod's references may change: only by ephemeral
 * containers and device claims, which may be added later.
 */
function signatureOf({ metadata, spec, status }: ReadPod): string {
  const { resourceClaimStatuses = [], extendedResourceClaimStatus } = status;
  const claims = [
    ...resourceClaimStatuses.map((claim) => claim.resourceClaimName),
    extendedResourceClaimStatus?.resourceClaimName,
  ];
  const ephemeral = spec.ephemeralContainers?.length;
  if (ephemeral === undefined && claims.every((claim) => claim === undefined)) return metadata.uid;
  return [metadata.uid, ephemeral, ...claims].join(' ');
}

/**
 * Returns the keys of the pod's references. A mirror pod has none: its node creates it itself, and
 * must not gain access by it.
 */
function referenceKeys(pod: ReadPod): readonly string[] {
  if (pod.metadata.annotations?.[MIRROR] !== undefined) return [];
  const namespace = pod.metadata.namespace ?? '';
  return [...new Set([...referencesOf(pod)].map(([kind, name]) => `${kind} ${namespace}/${name}`))];
}

function add<K>(counts: Map<K, number>, key: K, difference: number): void {
  const count = (counts.get(key) ?? 0) + difference;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

function addWithin(
  index: Map<string, Map<string, number>>,
  key: string,
  inner: string,
  difference: number,
): void {
  let counts = index.get(key);
  if (counts === undefined) index.set(key, (counts = new Map()));
  add(counts, inner, difference);
  if (counts.size === 0) index.delete(key);
}
