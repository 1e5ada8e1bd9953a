// Pods whose manifests are files on the node. They run whatever the API says; the API shows a mirror of each, which the
// kubelet makes, keeps, and removes with the file.

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeObject } from '#api/machinery/codec/index.ts';
import { setPodDefaults } from '#api/groups/core/v1/defaults.ts';
import { pods } from '#api/groups/core/v1/index.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import type { Client } from '#client/client.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { FileTypeError, readUntrusted } from '#machinery/files/untrusted.ts';
import type { Logger } from '#machinery/log.ts';
import { formatTime } from '#machinery/text/time.ts';
import { podUid, type Pod } from './types.ts';

const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
const HASH_ANNOTATION = 'kubernetes.io/config.hash';
const SEEN_ANNOTATION = 'kubernetes.io/config.seen';
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

/** As upstream's limit on a configuration file. */
const MAX_MANIFEST_BYTES = 10 * 1024 * 1024;

export function isStaticPod(pod: Pod): boolean {
  const source = pod.metadata.annotations?.[SOURCE_ANNOTATION];
  return source !== undefined && source !== 'api' && !isMirrorPod(pod);
}

export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
}

export interface StaticPodsConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: Client;
  readonly nodeName: string;
  /** Of the node's object: a mirror goes with it. Rejects while there is none. */
  readonly nodeUid: () => Promise<string>;
  /** A directory, or one file. Files whose names begin with a dot are left out. */
  readonly path: string;
  readonly checkMs: number;
  readonly onAdd: (pod: Pod) => void;
  readonly onRemove: (pod: Pod) => void;
}

export class StaticPods {
  readonly #config: StaticPodsConfig;
  /** By UID, which changes with the manifest. */
  readonly #pods = new Map<string, Pod>();
  /** The mirrors that the API has, by 'namespace/name'. */
  readonly #mirrors = new Map<string, Pod>();
  /** The manifests have been read: a mirror of none of them is not wanted. */
  #loaded = false;

  constructor(config: StaticPodsConfig) {
    this.#config = config;
  }

  /** Reads the manifests, and tells what has come and gone. What cannot be read is logged, and left out. */
  async load(): Promise<void> {
    const found = new Map<string, Pod>();
    for (const pod of await this.#read()) found.set(podUid(pod), pod);
    for (const [uid, pod] of this.#pods) {
      if (found.has(uid)) continue;
      this.#pods.delete(uid);
      this.#config.onRemove(pod);
      await this.#deleteMirror(pod);
    }
    for (const [uid, pod] of found) {
      if (this.#pods.has(uid)) continue;
      this.#pods.set(uid, pod);
      this.#config.onAdd(pod);
    }
    if (this.#loaded) return;
    this.#loaded = true;
    // Of manifests that were taken away while no kubelet ran.
    for (const mirror of this.#mirrors.values()) this.mirrorSeen(mirror);
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, checkMs, logger } = this.#config;
    while (!signal.aborted) {
      try {
        await clock.sleep(checkMs, signal);
        await this.load();
      } catch (err) {
        if (!signal.aborted) logger.warn('static pods not read', { path: this.#config.path, err });
      }
    }
  }

  /** The API's copy of a static pod, made if it is not there. Rejects as the API does. */
  async mirrorOf(pod: Pod): Promise<Pod> {
    const known = this.#mirrors.get(nameOf(pod));
    if (known !== undefined && known.metadata.annotations?.[MIRROR_ANNOTATION] === podUid(pod)) return known;
    const resource = this.#config.client.resource(pods).namespace(pod.metadata.namespace ?? '');
    // The mirror of a manifest before this one.
    if (known !== undefined) await this.#deleteMirror(known);
    const { name, namespace, labels, annotations } = pod.metadata;
    const node = { apiVersion: 'v1', kind: 'Node', name: this.#config.nodeName, uid: await this.#config.nodeUid() };
    try {
      const made = await resource.create({
        metadata: {
          name,
          namespace,
          ...(labels !== undefined ? { labels } : {}),
          annotations: { ...annotations, [MIRROR_ANNOTATION]: podUid(pod) },
          ownerReferences: [{ ...node, controller: true }],
        },
        spec: pod.spec,
      });
      this.#mirrors.set(nameOf(pod), made);
      return made;
    } catch (err) {
      if (!apierrors.isAlreadyExists(err)) throw err;
      const present = await resource.get(name);
      this.#mirrors.set(nameOf(pod), present);
      return present;
    }
  }

  /** Answers the static pod that the mirror is of; a mirror of none is deleted. */
  mirrorSeen(mirror: Pod): Pod | undefined {
    this.#mirrors.set(nameOf(mirror), mirror);
    const pod = [...this.#pods.values()].find((candidate) => nameOf(candidate) === nameOf(mirror));
    if (pod === undefined && this.#loaded) void this.#deleteMirror(mirror);
    return pod;
  }

  /** Somebody has deleted a mirror: as long as the pod is there, it is made again. */
  mirrorDeleted(mirror: Pod): void {
    this.#mirrors.delete(nameOf(mirror));
    const pod = [...this.#pods.values()].find((candidate) => nameOf(candidate) === nameOf(mirror));
    if (pod === undefined) return;
    this.mirrorOf(pod).catch((err: unknown) => this.#config.logger.warn('mirror pod not made', { pod: nameOf(pod), err }));
  }

  async #deleteMirror(pod: Pod): Promise<void> {
    const mirror = this.#mirrors.get(nameOf(pod));
    if (mirror === undefined) return;
    this.#mirrors.delete(nameOf(pod));
    try {
      await this.#config.client
        .resource(pods)
        .namespace(mirror.metadata.namespace ?? '')
        .delete(mirror.metadata.name, { gracePeriodSeconds: 0, preconditions: { uid: podUid(mirror) } });
    } catch (err) {
      if (!apierrors.isNotFound(err)) this.#config.logger.warn('mirror pod not deleted', { pod: nameOf(pod), err });
    }
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
    } catch (err) {
      const { code } = err as NodeJS.ErrnoException;
      if (code === 'ENOENT') return [];
      if (code !== 'ENOTDIR') throw err;
      files = [path];
    }
    const found: Pod[] = [];
    for (const file of files) {
      try {
        const manifest = await readUntrusted(file, MAX_MANIFEST_BYTES, { followLinks: true });
        found.push(...(await this.#parse(manifest.toString('utf8'))));
      } catch (err) {
        const isDirectory = err instanceof FileTypeError && err.actual === 'directory';
        if (!isDirectory) logger.error('static pod manifest not usable', { file, err });
      }
    }
    return found;
  }

  async #parse(text: string): Promise<Pod[]> {
    // Few nodes have static pods, and the parser is large: it is loaded when it is needed.
    const { parseYamlDocuments } = await import('#api/machinery/codec/yaml.ts');
    return parseYamlDocuments(text)
      .filter((document) => document !== null && document !== undefined)
      .map((document) => this.#makePod(document));
  }

  #makePod(document: unknown): Pod {
    const { nodeName, clock } = this.#config;
    const { object, unknownFields } = decodeObject<v1.Pod>(allSchemas.message('core/v1.Pod'), document);
    if (object.apiVersion !== 'v1' || object.kind !== 'Pod')
      throw new Error(`not a Pod: ${object.apiVersion ?? ''} ${object.kind ?? ''}`);
    if (unknownFields.length > 0) throw new Error(`unknown fields: ${unknownFields.join(', ')}`);
    if (object.metadata.name === '') throw new Error('the pod has no name');
    if (object.spec.containers.length === 0) throw new Error('the pod has no containers');
    setPodDefaults(object);
    const hash = createHash('sha256').update(nodeName).update(JSON.stringify(document)).digest('hex').slice(0, 32);
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
        tolerations: [...(object.spec.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }],
      },
      status: { phase: 'Pending' },
    };
  }
}

function nameOf(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`;
}
