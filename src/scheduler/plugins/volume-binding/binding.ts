// Carries out the decision for a pod: binds volumes to claims, sets the node for claims whose
// volumes must be provisioned, and waits until all claims are bound. The volume binder, another
// component, does the rest.

import { CsiMigrationError } from '#api/groups/core/v1/csi-migration/index.ts';
import {
  nodes,
  type PersistentVolume as CoreVolume,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '#api/groups/core/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Handle } from '#scheduler/framework/handle.ts';
import type { Node } from '#scheduler/framework/objects.ts';
import type { PodInfo } from '#scheduler/framework/pod-info.ts';
import { type AssumeCache, isOlder } from '../assume-cache.ts';
import {
  claimKey,
  isFullyBound,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '../volumes/claims.ts';
import { isAccessible, isBoundTo } from './matching.ts';
import { type Decision, SELECTED_NODE, type View } from './volumes.ts';

const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller';
/** The period of checking nodes and the pod; changes of claims and volumes are events. */
const CHECK_INTERVAL_MS = 1000;

/** The decision for one pod: its volumes and claims as they will be. */
export interface Assumed {
  readonly volumes: readonly {
    readonly volume: PersistentVolume;
    readonly claim: PersistentVolumeClaim;
  }[];
  /** The claims, with the node for which their volumes are provisioned. */
  readonly claims: readonly PersistentVolumeClaim[];
}

/** The pod has to be scheduled again. */
class BindingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BindingError';
  }
}

export interface VolumeBinderConfig {
  readonly handle: Handle;
  readonly volumes: AssumeCache<PersistentVolume>;
  readonly claims: AssumeCache<PersistentVolumeClaim>;
  readonly seenFrom: View;
  /** How long a pod waits for its claims, in milliseconds. */
  readonly timeoutMs: number;
}

export class VolumeBinder {
  readonly #config: VolumeBinderConfig;
  readonly #pods;
  readonly #nodes;

  constructor(config: VolumeBinderConfig) {
    this.#config = config;
    const { informers } = config.handle;
    this.#pods = informers.informerFor(pods).lister;
    this.#nodes = informers.informerFor(nodes).lister;
  }

  /**
   * Assumes the decision, so that other pods see it as done. Returns undefined, with nothing
   * assumed, if an object has changed since.
   */
  assume({ bind, provision }: Decision, node: string): Assumed | undefined {
    const { volumes, claims } = this.#config;
    const assumed: Assumed = {
      volumes: bind.map(({ claim, volume }) => ({ volume: givenTo(volume, claim), claim })),
      claims: provision.map((claim) => withAnnotation(claim, SELECTED_NODE, node)),
    };
    const done =
      assumed.volumes.every(({ volume }) => volumes.assume(volume)) &&
      assumed.claims.every((claim) => claims.assume(claim));
    if (done) return assumed;
    this.forget(assumed);
    return undefined;
  }

  /** Drops the assumed objects. Idempotent. */
  forget(assumed: Assumed): void {
    for (const { volume } of assumed.volumes) this.#config.volumes.restore(objectKey(volume));
    for (const claim of assumed.claims) this.#config.claims.restore(claimKey(claim));
  }

  /**
   * Writes the assumed objects, and waits. Throws BindingError, or errors of the API server;
   * written objects stay as they are.
   */
  async carryOut(assumed: Assumed, pod: PodInfo, node: string, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#config.handle;
    const written: { -readonly [K in keyof Assumed]: Assumed[K][number][] } = {
      volumes: [],
      claims: [],
    };
    for (const { volume, claim } of assumed.volumes) {
      written.volumes.push({
        volume: await client.resource(persistentVolumes).update(volume, { signal }),
        claim,
      });
    }
    for (const claim of assumed.claims) {
      const inNamespace = client
        .resource(persistentVolumeClaims)
        .namespace(claim.metadata.namespace ?? '');
      written.claims.push(await inNamespace.update(claim, { signal }));
    }
    const deadline = clock.monotonic() + this.#config.timeoutMs;
    while (!this.#isDone(written, pod, node)) {
      if (clock.monotonic() >= deadline)
        throw new BindingError('binding volumes: context deadline exceeded');
      await this.#nextChange(written, signal);
    }
  }

  /** Reports whether all claims are bound. Throws BindingError if that became impossible. */
  #isDone({ volumes, claims }: Assumed, pod: PodInfo, nodeName: string): boolean {
    const failed = (why: string): BindingError => new BindingError(`binding volumes: ${why}`);
    const { namespace = '', name = '' } = pod.pod.metadata;
    const node = this.#nodes.get('', nodeName);
    if (node === undefined)
      throw failed(`failed to get node ${quote(nodeName)}: node ${quote(nodeName)} not found`);
    if (this.#pods.get(namespace, name)?.metadata.uid !== pod.uid) {
      throw failed(`pod does not exist any more: pod ${quote(name)} not found`);
    }
    // Each claim is checked, so that a failure is not hidden by another claim that is still in
    // progress.
    const done = [
      ...volumes.map((one) => this.#isBound(one, node, failed)),
      ...claims.map((claim) => this.#isProvisioned(claim, node, failed)),
    ];
    return done.every(Boolean);
  }

  #isBound(
    { volume, claim }: Assumed['volumes'][number],
    node: Node,
    failed: (why: string) => BindingError,
  ): boolean {
    const now = this.#config.volumes.getSeen(objectKey(volume));
    if (now === undefined)
      throw failed(
        `failed to check binding: could not find v1.PersistentVolume ${quote(objectKey(volume))}`,
      );
    const claimNow = this.#config.claims.getSeen(claimKey(claim));
    if (claimNow === undefined) throw failed(`failed to check binding: ${missingClaim(claim)}`);
    if (isOlder(now, volume)) return false;
    this.#checkAccess(now, node, failed);
    if (!now.spec.claimRef?.uid)
      throw failed(`ClaimRef got reset for pv ${quote(objectKey(volume))}`);
    return isFullyBound(claimNow);
  }

  #isProvisioned(
    claim: PersistentVolumeClaim,
    node: Node,
    failed: (why: string) => BindingError,
  ): boolean {
    const now = this.#config.claims.getSeen(claimKey(claim));
    if (now === undefined) throw failed(`failed to check provisioning pvc: ${missingClaim(claim)}`);
    if (isOlder(now, claim)) return false;
    const { annotations, name = '' } = now.metadata;
    if (annotations === undefined)
      throw failed(`selectedNode annotation reset for PVC ${quote(name)}`);
    // The provisioner removes the annotation of the node if the volume cannot be created there.
    if (annotations[SELECTED_NODE] !== node.metadata.name)
      throw failed(`provisioning failed for PVC ${quote(name)}`);
    if (!now.spec.volumeName) return false;
    const volume = this.#config.volumes.getSeen(now.spec.volumeName);
    if (volume === undefined) return false;
    this.#checkAccess(volume, node, failed);
    return isFullyBound(now);
  }

  #checkAccess(volume: PersistentVolume, node: Node, failed: (why: string) => BindingError): void {
    let accessible: boolean;
    try {
      accessible = isAccessible(this.#config.seenFrom(volume, node), node);
    } catch (error) {
      if (error instanceof CsiMigrationError)
        throw failed(`failed to translate pv to csi: ${error.message}`);
      throw error;
    }
    if (accessible) return;
    const [name, at] = [quote(objectKey(volume)), quote(node.metadata.name)];
    throw failed(
      `pv ${name} node affinity doesn't match node ${at}: no matching NodeSelectorTerms`,
    );
  }

  async #nextChange({ volumes, claims }: Assumed, signal: AbortSignal): Promise<void> {
    const { handle, volumes: volumeCache, claims: claimCache } = this.#config;
    const claimKeys = [...volumes.map(({ claim }) => claimKey(claim)), ...claims.map(claimKey)];
    const volumeKeys = volumes.map(({ volume }) => objectKey(volume));
    const enough = new AbortController();
    const changed = (): void => enough.abort();
    for (const key of claimKeys) claimCache.onChange(key, changed);
    for (const key of volumeKeys) volumeCache.onChange(key, changed);
    signal.addEventListener('abort', changed, { once: true });
    await handle.clock.sleep(CHECK_INTERVAL_MS, enough.signal).catch(() => undefined);
    signal.removeEventListener('abort', changed);
    for (const key of claimKeys) claimCache.forget(key, changed);
    for (const key of volumeKeys) volumeCache.forget(key, changed);
    signal.throwIfAborted();
  }
}

function missingClaim(claim: PersistentVolumeClaim): string {
  return `could not find v1.PersistentVolumeClaim ${quote(claimKey(claim))}`;
}

/** Returns the volume with a reference to the claim. */
function givenTo(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  // A volume that was reserved for the claim has its name already, possibly without a UID.
  const meant = isBoundTo(volume, claim);
  const claimRef: CoreVolume['spec']['claimRef'] = {
    kind: 'PersistentVolumeClaim',
    namespace,
    name,
    uid,
    apiVersion: 'v1',
    resourceVersion,
  };
  const named =
    volume.spec.claimRef?.uid === uid ? volume : { ...volume, spec: { ...volume.spec, claimRef } };
  return meant ? named : withAnnotation(named, BOUND_BY_CONTROLLER, 'yes');
}

function withAnnotation<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
  key: string,
  value: string,
): T {
  return {
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [key]: value } },
  };
}
