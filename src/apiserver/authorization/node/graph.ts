// What concerns which node: pods lead to it, and what they refer to leads to them; a volume leads to its claim, its secrets to the
// volume. Kept by those whose objects they are, and indexed by what is asked for, so that an answer takes no search: at most
// the claims of one node are gone through.

import type { PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { referencesOf, type ReferredKind, secretsOfVolume } from './references.ts';

type ReadPod = Immutable<Pod>;
type ReadVolume = Immutable<PersistentVolume>;

/** Objects without a namespace that may be a node's. */
export type OwnedKind = 'volumeattachment' | 'resourceslice';
export type GraphKind = ReferredKind | OwnedKind | 'pod' | 'pv';

interface KnownPod {
  readonly node: string;
  /** Changes when what the pod refers to may have changed. */
  readonly signature: string;
  /** Keys of `#nodes`, each once. */
  readonly references: readonly string[];
}

interface KnownVolume {
  readonly claim: string;
  readonly secrets: readonly string[];
}

const MIRROR = 'kubernetes.io/config.mirror';

export class NodeGraph {
  readonly #pods = new Map<string, KnownPod>();
  /** By 'kind namespace/name': how many pods of which nodes refer to it. */
  readonly #nodes = new Map<string, Map<string, number>>();
  /** The claims that pods of a node refer to, as 'namespace/name', and by how many of them. */
  readonly #claims = new Map<string, Map<string, number>>();
  readonly #volumes = new Map<string, KnownVolume>();
  /** By claim, 'namespace/name': names of the volumes that are bound to it. */
  readonly #volumesOf = new Map<string, Set<string>>();
  /** Secrets that volumes name, and how many of them do. */
  readonly #volumeSecrets = new Map<string, number>();
  readonly #owned: Readonly<Record<OwnedKind, Map<string, string>>> = {
    volumeattachment: new Map(),
    resourceslice: new Map(),
  };

  /** Whether a pod that runs on the node (or the node itself) has to do with the object. `namespace` '' for objects without one. */
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
    // Once it has a node, it keeps it.
    if (node === '') return;
    const key = `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;
    const signature = signatureOf(pod);
    const before = this.#pods.get(key);
    if (before?.signature === signature) return;
    if (before !== undefined) this.#count(before, -1);
    const known: KnownPod = { node, signature, references: referenceKeys(pod) };
    this.#pods.set(key, known);
    this.#count(known, 1);
  }

  /** `key`: 'namespace/name'. */
  deletePod(key: string): void {
    const known = this.#pods.get(key);
    if (known === undefined) return;
    this.#pods.delete(key);
    this.#count(known, -1);
  }

  setVolume(volume: ReadVolume): void {
    const { name } = volume.metadata;
    this.deleteVolume(name);
    const { claimRef } = volume.spec;
    if (claimRef === undefined) return;
    const known: KnownVolume = {
      claim: `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
      secrets: secretsOfVolume(volume),
    };
    this.#volumes.set(name, known);
    const ofClaim = this.#volumesOf.get(known.claim);
    if (ofClaim === undefined) this.#volumesOf.set(known.claim, new Set([name]));
    else ofClaim.add(name);
    for (const secret of known.secrets) add(this.#volumeSecrets, secret, 1);
  }

  deleteVolume(name: string): void {
    const known = this.#volumes.get(name);
    if (known === undefined) return;
    this.#volumes.delete(name);
    const ofClaim = this.#volumesOf.get(known.claim);
    ofClaim?.delete(name);
    if (ofClaim?.size === 0) this.#volumesOf.delete(known.claim);
    for (const secret of known.secrets) add(this.#volumeSecrets, secret, -1);
  }

  /** `node` undefined: it is no node's. */
  setOwned(kind: OwnedKind, name: string, node: string | undefined): void {
    if (node === undefined || node === '') this.#owned[kind].delete(name);
    else this.#owned[kind].set(name, node);
  }

  #refersTo(node: string, kind: ReferredKind, key: string): boolean {
    return this.#nodes.get(`${kind} ${key}`)?.has(node) ?? false;
  }

  #volumeOfNodeNames(node: string, secret: string): boolean {
    for (const claim of this.#claims.get(node)?.keys() ?? []) {
      for (const volume of this.#volumesOf.get(claim) ?? []) {
        if (this.#volumes.get(volume)?.secrets.includes(secret) === true) return true;
      }
    }
    return false;
  }

  #count({ node, references }: KnownPod, difference: 1 | -1): void {
    for (const reference of references) {
      addWithin(this.#nodes, reference, node, difference);
      if (reference.startsWith('pvc '))
        addWithin(this.#claims, node, reference.slice('pvc '.length), difference);
    }
  }
}

/** What a pod refers to is said when it is bound, but for ephemeral containers and claims to devices, which may come later. */
function signatureOf({ metadata, spec, status }: ReadPod): string {
  const { resourceClaimStatuses = [], extendedResourceClaimStatus } = status;
  const claims = [
    ...resourceClaimStatuses.map((claim) => claim.resourceClaimName),
    extendedResourceClaimStatus?.resourceClaimName,
  ];
  return [metadata.uid, spec.nodeName, spec.ephemeralContainers?.length, ...claims].join(' ');
}

/** A node makes mirror pods itself: they must not give it anything. */
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
