// Static pods: pods whose manifests are on the node or behind a URL. They run without the API server.
// The API has a mirror of each, which the kubelet creates, maintains, and deletes with the manifest.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { podUid, type Pod } from '../types.ts';
import { SOURCE_ANNOTATION } from './manifests.ts';
import { fullName, isMirrorPod, type MirrorPods } from './mirror-pods.ts';

export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[SOURCE_ANNOTATION];
  return source !== undefined && source !== 'api' && !isMirrorPod(pod);
}

/** Where manifests come from. */
export interface StaticPodSource {
  /** For logs: a path, or a URL without credentials. */
  readonly name: string;
  /** The time between two reads, in milliseconds. */
  readonly checkMs: number;
  /** Returns the desired pods. Rejects if they are unknown: then the former ones stay. */
  read(): Promise<readonly Pod[]>;
}

export interface StaticPodsConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mirrors: MirrorPods;
  readonly sources: readonly StaticPodSource[];
  readonly onAdd: (pod: Pod) => void;
  readonly onRemove: (pod: Pod) => void;
}

export class StaticPods {
  readonly #config: StaticPodsConfig;
  /** By source and UID, which changes with the manifest. */
  readonly #pods: ReadonlyMap<StaticPodSource, Map<string, Pod>>;
  /** The sources that have been read. */
  readonly #read = new Set<StaticPodSource>();

  constructor(config: StaticPodsConfig) {
    this.#config = config;
    this.#pods = new Map(config.sources.map((source) => [source, new Map<string, Pod>()]));
  }

  /**
   * Reads the manifests once, and reports their pods. A source that cannot be read is logged: its
   * pods start when it can be.
   */
  async load(): Promise<void> {
    await Promise.all(this.#config.sources.map((source) => this.#update(source)));
  }

  /** Reads the manifests periodically until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, sources } = this.#config;
    await Promise.all(
      sources.map(async (source) => {
        while (!signal.aborted) {
          await clock.sleep(source.checkMs, signal).catch(() => undefined);
          if (!signal.aborted) await this.#update(source);
        }
      }),
    );
  }

  async #update(source: StaticPodSource): Promise<void> {
    const { logger } = this.#config;
    try {
      await this.#apply(source, await source.read());
    } catch (error) {
      logger.warn('static pods not read', { source: source.name, err: error });
    }
  }

  /** Reports the added and the removed pods of the source. */
  async #apply(source: StaticPodSource, pods: readonly Pod[]): Promise<void> {
    const known = this.#pods.get(source)!;
    const wanted = new Map(pods.map((pod) => [podUid(pod), pod]));
    for (const [uid, pod] of known) {
      if (wanted.has(uid)) continue;
      known.delete(uid);
      this.#config.onRemove(pod);
      await this.#config.mirrors.delete(pod);
    }
    for (const [uid, pod] of wanted) {
      if (known.has(uid)) continue;
      known.set(uid, pod);
      this.#config.onAdd(pod);
    }
    if (this.#read.has(source)) return;
    this.#read.add(source);
    // Mirror pods of manifests that were removed while no kubelet ran.
    for (const mirror of this.#config.mirrors.all()) this.mirrorSeen(mirror);
  }

  /** Reports whether every source has been read. Before, a mirror may still get its pod. */
  get areAllRead(): boolean {
    return this.#read.size === this.#config.sources.length;
  }

  /** Returns the static pod of the mirror. A mirror without a static pod is deleted. */
  mirrorSeen(mirror: Pod): Pod | undefined {
    const { mirrors } = this.#config;
    mirrors.seen(mirror);
    const pod = this.#podOf(mirror);
    if (pod === undefined && this.areAllRead) void mirrors.delete(mirror);
    return pod;
  }

  /** Creates a deleted mirror again, if its static pod still exists. */
  mirrorDeleted(mirror: Pod): void {
    const { mirrors, logger } = this.#config;
    mirrors.gone(mirror);
    const pod = this.#podOf(mirror);
    if (pod === undefined) return;
    mirrors
      .get(pod)
      .catch((error: unknown) =>
        logger.warn('mirror pod not made', { pod: fullName(pod), err: error }),
      );
  }

  #podOf(mirror: Pod): Pod | undefined {
    const name = fullName(mirror);
    for (const pods of this.#pods.values())
      for (const pod of pods.values()) if (fullName(pod) === name) return pod;
    return undefined;
  }
}
