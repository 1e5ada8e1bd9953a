// Static pods: pods whose manifests are files on the node. They run without the API server. The API
// has a mirror of each, which the kubelet creates, maintains, and deletes with the file.

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { setPodDefaults } from '#api/groups/core/v1/defaults.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import type { Clock } from '#machinery/clock.ts';
import { FileTypeError, readUntrusted } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';
import { formatTime } from '#machinery/text/time.ts';
import { fullName, isMirrorPod, type MirrorPods } from './mirror-pods.ts';
import { podUid, type Pod } from './types.ts';

const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
const HASH_ANNOTATION = 'kubernetes.io/config.hash';
const SEEN_ANNOTATION = 'kubernetes.io/config.seen';

/** Upstream's limit for a configuration file. */
const MAX_MANIFEST_BYTES = 10 * 1024 * 1024;

export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[SOURCE_ANNOTATION];
  return source !== undefined && source !== 'api' && !isMirrorPod(pod);
}

export interface StaticPodsConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mirrors: MirrorPods;
  readonly nodeName: string;
  /** A directory, or a single file. Files with a leading dot in their name are left out. */
  readonly path: string;
  readonly checkMs: number;
  readonly onAdd: (pod: Pod) => void;
  readonly onRemove: (pod: Pod) => void;
}

export class StaticPods {
  readonly #config: StaticPodsConfig;
  /** By UID, which changes with the manifest. */
  readonly #pods = new Map<string, Pod>();
  /** The manifests have been read: mirrors without a manifest are deleted from then on. */
  #loaded = false;

  constructor(config: StaticPodsConfig) {
    this.#config = config;
  }

  /**
   * Reads the manifests, and reports added and removed pods. Unreadable manifests are logged and
   * left out.
   */
  async load(): Promise<void> {
    const found = new Map<string, Pod>();
    for (const pod of await this.#read()) found.set(podUid(pod), pod);
    for (const [uid, pod] of this.#pods) {
      if (found.has(uid)) continue;
      this.#pods.delete(uid);
      this.#config.onRemove(pod);
      await this.#config.mirrors.delete(pod);
    }
    for (const [uid, pod] of found) {
      if (this.#pods.has(uid)) continue;
      this.#pods.set(uid, pod);
      this.#config.onAdd(pod);
    }
    if (this.#loaded) return;
    this.#loaded = true;
    // Mirror pods of manifests that were removed while no kubelet ran.
    for (const mirror of this.#config.mirrors.all()) this.mirrorSeen(mirror);
  }

  /** Reads the manifests periodically until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, checkMs, logger } = this.#config;
    while (!signal.aborted) {
      try {
        await clock.sleep(checkMs, signal);
        await this.load();
      } catch (error) {
        if (!signal.aborted)
          logger.warn('static pods not read', { path: this.#config.path, err: error });
      }
    }
  }

  /** Returns the static pod of the mirror. A mirror without a static pod is deleted. */
  mirrorSeen(mirror: Pod): Pod | undefined {
    const { mirrors } = this.#config;
    mirrors.seen(mirror);
    const pod = this.#podOf(mirror);
    if (pod === undefined && this.#loaded) void mirrors.delete(mirror);
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
    return [...this.#pods.values()].find((candidate) => fullName(candidate) === fullName(mirror));
  }

  async #read(): Promise<Pod[]> {
    const { path, logger } = this.#config;
    let files: readonly string[];
    try {
      const names = await readdir(path);
      files = names
        .filter((name) => !name.startsWith('.'))
        .toSorted()
        .map((name) => join(path, name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return [];
      if (code !== 'ENOTDIR') throw error;
      files = [path];
    }
    const found: Pod[] = [];
    for (const file of files) {
      try {
        const manifest = await readUntrusted(file, MAX_MANIFEST_BYTES, { followLinks: true });
        found.push(...(await this.#parse(manifest.toString('utf8'))));
      } catch (error) {
        const isDirectory = error instanceof FileTypeError && error.actual === 'directory';
        if (!isDirectory) logger.error('static pod manifest is invalid', { file, err: error });
      }
    }
    return found;
  }

  async #parse(text: string): Promise<Pod[]> {
    // Loaded on demand: few nodes have static pods, and the parser is large.
    const { parseYamlDocuments } = await import('#api/machinery/codec/yaml.ts');
    return parseYamlDocuments(text)
      .filter((document) => document !== null && document !== undefined)
      .map((document) => this.#makePod(document));
  }

  #makePod(document: unknown): Pod {
    const { nodeName, clock } = this.#config;
    const { object, unknownFields } = decodeObject<v1.Pod>(
      allSchemas.message('core/v1.Pod'),
      document,
    );
    if (object.apiVersion !== 'v1' || object.kind !== 'Pod')
      throw new Error(`not a Pod: ${object.apiVersion ?? ''} ${object.kind ?? ''}`);
    if (unknownFields.length > 0) throw new Error(`unknown fields: ${unknownFields.join(', ')}`);
    if (object.metadata.name === '') throw new Error('the pod has no name');
    if (object.spec.containers.length === 0) throw new Error('the pod has no containers');
    setPodDefaults(object);
    const hash = createHash('sha256')
      .update(nodeName)
      .update(JSON.stringify(document))
      .digest('hex')
      .slice(0, 32);
    return {
      ...object,
      metadata: {
        ...object.metadata,
        name: `${object.metadata.name}-${nodeName}`,
        namespace: object.metadata.namespace ?? 'default',
        uid: object.metadata.uid || hash,
        annotations: {
          ...object.metadata.annotations,
          [HASH_ANNOTATION]: hash,
          [SEEN_ANNOTATION]: formatTime(clock.now()),
          [SOURCE_ANNOTATION]: 'file',
        },
      },
      spec: {
        ...object.spec,
        nodeName,
        tolerations: [
          ...(object.spec.tolerations ?? []),
          { operator: 'Exists', effect: 'NoExecute' },
        ],
      },
      status: { phase: 'Pending' },
    };
  }
}
