// Recycles released volumes: starts a pod that deletes the files of a volume, watches it to its end,
// and deletes it. Nothing here waits for the pod: its end wakes the volume's next reconcile.

import {
  type PersistentVolume,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { relayEvents } from './relay-events.ts';
import { recyclerPod, type RecyclerSettings } from './recycler-pod.ts';

type ReadVolume = Immutable<PersistentVolume>;

export interface VolumeRecyclerConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Records events on volumes. */
  readonly recorder: Recorder;
  readonly settings: RecyclerSettings;
  /** Wakes the reconcile of the volume with this name after a delay. */
  readonly wakeLater: (name: string, delayMs: number) => void;
}

/** The state of a volume's recycling. */
export type Progress =
  /** The volume is waited for: its reconcile is woken. */
  | { readonly is: 'waiting' }
  | { readonly is: 'recycled' }
  /** It is tried again, unless no pod can recycle volumes of this kind. */
  | { readonly is: 'failed'; readonly message: string };

type Attempt = { readonly volumeUid: string } & (
  | { readonly is: 'running'; readonly pod: PodId; readonly relay: AbortController }
  | { readonly is: 'ended'; readonly progress: Progress; readonly retryAt: number }
);

interface PodId {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Upstream tries again with each of its syncs. */
const RETRY_MS = 15_000;

const WAITING: Progress = { is: 'waiting' };

export class VolumeRecycler {
  readonly #config: VolumeRecyclerConfig;
  /** The last attempt, by the volume's name. */
  readonly #attempts = new Map<string, Attempt>();

  constructor(config: VolumeRecyclerConfig) {
    this.#config = config;
  }

  /** Reports whether something is known of a volume with this name that `forget` must undo. */
  knows(name: string): boolean {
    return this.#attempts.has(name);
  }

  /**
   * Takes the next step for a released volume. `users`: the pods that use its claim. Idempotent. The
   * caller writes the volume: without its claim when it is recycled, as failed otherwise.
   */
  async step(volume: ReadVolume, users: readonly string[], signal: AbortSignal): Promise<Progress> {
    const { name, uid } = volume.metadata;
    const pod = recyclerPod(volume, this.#config.settings);
    if (pod === undefined)
      return { is: 'failed', message: 'No recycler plugin found for the volume!' };
    const attempt = this.#attempts.get(name);
    if (attempt !== undefined && attempt.volumeUid !== uid) await this.forget(name, signal);
    else if (attempt?.is === 'running') {
      const progress = await this.#observe(volume, attempt.pod, signal);
      if (progress !== WAITING) this.#end(volume, progress);
      return progress;
    } else if (attempt !== undefined && !this.#isDue(attempt)) return attempt.progress;
    if (users.length > 0) {
      this.#record(volume, 'Normal', 'VolumeFailedRecycle', usedBy(users));
      return this.#end(volume, WAITING);
    }
    if (!(await this.#isReleased(volume, signal))) return WAITING;
    return await this.#start(volume, pod, signal);
  }

  /** Ends an attempt for a volume that is not to be recycled, or not any more. Idempotent. */
  async forget(name: string, signal: AbortSignal): Promise<void> {
    const attempt = this.#attempts.get(name);
    if (attempt?.is === 'running') {
      attempt.relay.abort();
      await this.#deletePod(attempt.pod, signal);
    }
    this.#attempts.delete(name);
  }

  #isDue({ progress, retryAt }: Extract<Attempt, { readonly is: 'ended' }>): boolean {
    return progress.is !== 'recycled' && this.#config.clock.monotonic() >= retryAt;
  }

  /** Asks the server, since files are deleted next: the caller's cache may be old. */
  async #isReleased({ metadata, spec }: ReadVolume, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#config;
    const live = await apierrors.unlessMissing(
      client.resource(persistentVolumes).get(metadata.name, { signal }),
    );
    const { uid, namespace = '', name = '' } = spec.claimRef ?? {};
    if (live?.metadata.uid !== metadata.uid || live.spec.claimRef?.uid !== uid) return false;
    if (live.spec.persistentVolumeReclaimPolicy !== 'Recycle') return false;
    const claim = await apierrors.unlessMissing(
      client.resource(persistentVolumeClaims).namespace(namespace).get(name, { signal }),
    );
    return claim?.metadata.uid !== uid;
  }

  async #start(volume: ReadVolume, pod: New<Pod>, signal: AbortSignal): Promise<Progress> {
    const { client, logger } = this.#config;
    const { name = '', namespace = '' } = pod.metadata ?? {};
    const relay = new AbortController();
    const relaySignal = AbortSignal.any([signal, relay.signal]);
    const events = await relayEvents({ client, logger, namespace, name, signal: relaySignal });
    try {
      const created = await client.resource(pods).namespace(namespace).create(pod, { signal });
      const { uid } = created.metadata;
      events.from(uid, (type, message) =>
        this.#record(volume, type, 'RecyclerPod', `Recycler pod: ${message}`),
      );
      const volumeUid = volume.metadata.uid;
      const id = { namespace, name, uid };
      this.#attempts.set(volume.metadata.name, { is: 'running', volumeUid, pod: id, relay });
      return WAITING;
    } catch (error) {
      relay.abort();
      if (signal.aborted || !(error instanceof apierrors.StatusError)) throw error;
      if (!apierrors.isAlreadyExists(error))
        return this.#fail(volume, `unexpected error creating recycler pod: ${error.message}`);
      // It may be of a process before this one, or of anyone: nothing says that it deletes the files.
      await this.#deleteOld(namespace, name, signal);
      return this.#fail(volume, 'old recycler pod found, will retry later');
    }
  }

  async #observe(volume: ReadVolume, id: PodId, signal: AbortSignal): Promise<Progress> {
    const client = this.#config.client.resource(pods).namespace(id.namespace);
    const pod = await apierrors.unlessMissing(client.get(id.name, { signal }));
    if (pod?.metadata.uid !== id.uid)
      return failed('failed to recycle volume: recycler pod was deleted');
    const { phase, message = '' } = pod.status;
    if (phase !== 'Succeeded' && phase !== 'Failed') return WAITING;
    await this.#deletePod(id, signal);
    if (phase === 'Failed') {
      const why = message === '' ? 'pod failed, pod.Status.Message unknown' : message;
      return failed(`failed to recycle volume: ${why}`);
    }
    this.#record(volume, 'Normal', 'VolumeRecycled', 'Volume recycled');
    return { is: 'recycled' };
  }

  #fail(volume: ReadVolume, why: string): Progress {
    return this.#end(volume, failed(why));
  }

  /** Ends an attempt. What has not recycled the volume is tried again. */
  #end({ metadata: { name, uid } }: ReadVolume, progress: Progress): Progress {
    const attempt = this.#attempts.get(name);
    if (attempt?.is === 'running') attempt.relay.abort();
    const retryAt = this.#config.clock.monotonic() + RETRY_MS;
    this.#attempts.set(name, { is: 'ended', volumeUid: uid, progress, retryAt });
    if (progress.is !== 'recycled') this.#config.wakeLater(name, RETRY_MS);
    return progress;
  }

  async #deleteOld(namespace: string, name: string, signal: AbortSignal): Promise<void> {
    const client = this.#config.client.resource(pods).namespace(namespace);
    const old = await apierrors.unlessMissing(client.get(name, { signal }));
    if (old !== undefined)
      await this.#deletePod({ namespace, name, uid: old.metadata.uid }, signal);
  }

  async #deletePod({ namespace, name, uid }: PodId, signal: AbortSignal): Promise<void> {
    const client = this.#config.client.resource(pods).namespace(namespace);
    try {
      await client.delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (apierrors.isNotFound(error)) return;
      // A conflict may mean that another pod has the name now.
      const live = await apierrors.unlessMissing(client.get(name, { signal }));
      if (live?.metadata.uid === uid) throw error;
    }
  }

  #record({ metadata }: ReadVolume, type: string, reason: string, message: string): void {
    const regarding = { apiVersion: 'v1', kind: 'PersistentVolume', metadata };
    this.#config.recorder.event(
      regarding,
      type === 'Warning' ? 'Warning' : 'Normal',
      reason,
      message,
    );
  }
}

const failed = (why: string): Progress => ({ is: 'failed', message: `Recycle failed: ${why}` });

const usedBy = (users: readonly string[]): string => `Volume is used by pods: ${users.join(',')}`;
