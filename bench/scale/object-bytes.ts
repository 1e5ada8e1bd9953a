// Measures what one object costs in memory, as stored bytes and decoded, with pods of a cluster.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { encodeForStorage } from '#api/machinery/codec/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { SiblingParts } from '#client/thread/shared-parts.ts';
import { MvccStore } from '#storage/mvcc/store.ts';

interface MutablePod {
  readonly metadata: object;
  readonly status?: object;
}

/** Bytes of one pod. */
export interface ObjectBytes {
  /** Its JSON, as it is stored. */
  readonly json: number;
  /** In the store, with its key and versions: the JSON and what the store adds. */
  readonly stored: number;
  /** As a value. */
  readonly decoded: number;
  /** As a value without managedFields, as informers of another thread keep it. */
  readonly decodedKept: number;
  /** The same, where pods share their equal parts. */
  readonly decodedShared: number;
}

const COPIES = 5000;

/** Measures copies of these pods. There must be at least one. */
export function measureObjects(pods: readonly KubeObject[]): ObjectBytes {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const used = (): number => {
    for (let i = 0; i < 3; i++) gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const texts = pods.map((pod) => JSON.stringify(pod));
  const kept = pods.map(({ metadata, ...rest }) => {
    const { managedFields: _managedFields, ...others } = metadata;
    // Items of a list have no kind; received objects have one.
    return JSON.stringify({ ...rest, kind: 'Pod', apiVersion: 'v1', metadata: others });
  });
  const values = pods.map((pod) => Buffer.from(encodeForStorage(pod)));
  /** Returns the bytes of each value that `make` returns. */
  const each = (make: (index: number, copy: number) => unknown): number => {
    const all: unknown[] = Array.from({ length: COPIES });
    const before = used();
    for (let i = 0; i < COPIES; i++) all[i] = make(i % pods.length, i);
    const bytes = (used() - before) / COPIES;
    if (all.length !== COPIES) throw new Error('the values must be in memory until here');
    return bytes;
  };
  const store = new MvccStore();
  let revision = store.revision;
  const parts = new SiblingParts();
  /** Returns the value of a pod that differs from all others as pods of a template do. */
  const distinct = (text: string, index: number): object => {
    const pod = JSON.parse(text) as MutablePod;
    const suffix = String(index).padStart(6, '0');
    Object.assign(pod.metadata, { name: `pod-${suffix}`, uid: `uid-${suffix}` });
    Object.assign(pod.metadata, { resourceVersion: `10${suffix}` });
    Object.assign(pod.status ?? {}, { podIP: `10.0.0.${index}` });
    return pod;
  };
  return {
    json: values.reduce((sum, { length }) => sum + length, 0) / values.length,
    stored: each((i) => {
      const value = Buffer.allocUnsafeSlow(values[i]!.length);
      value.set(values[i]!);
      const key = `/registry/pods/default/${pods[i]!.metadata.name}-${++revision}`;
      store.apply(key, { key, value, createRevision: revision, modRevision: revision });
      return undefined;
    }),
    decoded: each((i, copy) => distinct(texts[i]!, copy)),
    decodedKept: each((i, copy) => distinct(kept[i]!, copy)),
    decodedShared: each((i, copy) => parts.share(distinct(kept[i]!, copy))),
  };
}
