// Writes planned slices, and remembers its writes until the cache shows them: a decision on a stale
// cache would put the same endpoint into two slices.

import { type EndpointSlice, endpointSlices } from '#api/groups/discovery/v1/index.ts';
import type { Immutable, New, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { InformerSource, SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { OwnWrites } from '../own-writes.ts';
import { isNamespaceTerminating } from '../pod-control.ts';
import type { SliceMetrics } from './metrics.ts';
import type { Content, Plan } from './plan.ts';
import { serviceKeyOf } from './slice-metadata.ts';

type ReadSlice = Immutable<EndpointSlice>;

const BY_SERVICE = (managedBy: string): string => `service/${managedBy}`;

export interface SliceWriterConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly informers: InformerSource;
  readonly managedBy: string;
  /** Called after an event of a slice, with the key of its service. */
  readonly onChange: (key: string) => void;
  readonly metrics: SliceMetrics;
}

/** The parts of a slice besides its endpoints and ports. */
export interface SliceFrame {
  readonly key: string;
  readonly addressType: string;
  readonly generateName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Removes annotations of other writers. Default: they are kept. */
  readonly replaceAnnotations?: boolean;
  readonly ownerReferences: Immutable<ObjectMeta>['ownerReferences'];
}

export class SliceWriter {
  readonly slices: SharedInformer<ReadSlice>;
  readonly #config: SliceWriterConfig;
  readonly #own: OwnWrites;
  /** UIDs of deleted slices that the cache may still have. */
  readonly #deleted = new Set<string>();

  constructor(config: SliceWriterConfig) {
    const { clock, informers, managedBy } = config;
    this.#config = config;
    this.#own = new OwnWrites({ clock });
    this.slices = informers.informerFor(endpointSlices);
    const keyOf = (slice: ReadSlice): string | undefined => serviceKeyOf(slice, managedBy);
    this.slices.addIndexers({
      [BY_SERVICE(managedBy)]: (slice) => {
        const key = keyOf(slice);
        return key === undefined ? [] : [key];
      },
    });
    this.slices.addEventHandler({
      onAdd: (slice) => this.#seen(slice, keyOf(slice)),
      onUpdate: (before, slice) => {
        if (before.metadata.uid !== slice.metadata.uid) this.#gone(before, keyOf(before));
        // Another writer moved the slice to another service.
        else if (keyOf(before) !== keyOf(slice)) this.#seen(slice, keyOf(before));
        this.#seen(slice, keyOf(slice));
      },
      onDelete: (slice) => this.#gone(slice, keyOf(slice)),
    });
  }

  /** Returns the slices of a service, without those that are being deleted. */
  slicesOf(key: string): readonly ReadSlice[] {
    return this.slices.lister
      .byIndex(BY_SERVICE(this.#config.managedBy), key)
      .filter(
        ({ metadata }) =>
          metadata.deletionTimestamp === undefined && !this.#deleted.has(metadata.uid),
      )
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /**
   * Returns in how many milliseconds the key may be reconciled if the cache shows no own write
   * until then; 0: now.
   */
  remainingMs(key: string): number {
    return this.#own.remainingMs(key);
  }

  forget(key: string): void {
    this.#own.forget(key);
  }

  /**
   * Writes the plan. Creates new slices before it deletes old ones, so that every endpoint is
   * always in a slice.
   */
  async carryOut(
    { create, update, remove }: Plan,
    frame: SliceFrame,
    signal: AbortSignal,
  ): Promise<void> {
    for (const content of create) await this.#create(content, frame, signal);
    for (const { slice, content } of update) await this.#update(slice, content, frame, signal);
    for (const slice of remove) await this.remove(slice, signal);
  }

  async remove(slice: ReadSlice, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', uid } = slice.metadata;
    // Skipped if the deletion was observed already.
    if (this.slices.lister.get(namespace, name)?.metadata.uid === uid) this.#deleted.add(uid);
    try {
      await this.#in(namespace).delete(name, { preconditions: { uid }, signal });
      this.#config.metrics.wrote('delete');
    } catch (error) {
      if (apierrors.isNotFound(error)) return;
      this.#deleted.delete(uid);
      throw error;
    }
  }

  async #create(content: Content, frame: SliceFrame, signal: AbortSignal): Promise<void> {
    const [namespace = ''] = frame.key.split('/');
    const { generateName, labels, annotations, ownerReferences } = frame;
    const slice = {
      metadata: { generateName, namespace, labels, annotations, ownerReferences },
      addressType: frame.addressType,
      ...content,
    } as New<EndpointSlice>;
    try {
      this.#wrote(frame.key, await this.#in(namespace).create(slice, { signal }));
      this.#config.metrics.wrote('create');
    } catch (error) {
      // Nothing can be created in a terminating namespace.
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  async #update(
    slice: ReadSlice,
    content: Content,
    frame: SliceFrame,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace = '' } = slice.metadata;
    const { labels, ownerReferences } = frame;
    const annotations =
      frame.replaceAnnotations === true
        ? frame.annotations
        : { ...slice.metadata.annotations, ...frame.annotations };
    const metadata = { ...slice.metadata, labels, annotations, ownerReferences };
    const updated = { ...slice, metadata, ...content } as ReadSlice;
    this.#wrote(frame.key, await this.#in(namespace).update(updated, { signal }));
    this.#config.metrics.wrote('update');
  }

  #in(namespace: string) {
    return this.#config.client.resource(endpointSlices).namespace(namespace);
  }

  #wrote(key: string, slice: ReadSlice): void {
    this.#own.wrote(
      key,
      slice,
      this.slices.lister.get(slice.metadata.namespace ?? '', slice.metadata.name),
    );
  }

  #seen(slice: ReadSlice, key: string | undefined): void {
    if (key === undefined) return;
    this.#own.seen(key, slice);
    this.#config.onChange(key);
  }

  #gone(slice: ReadSlice, key: string | undefined): void {
    this.#deleted.delete(slice.metadata.uid);
    if (key === undefined) return;
    this.#own.gone(key, slice);
    this.#config.onChange(key);
  }
}
