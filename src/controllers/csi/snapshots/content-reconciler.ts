// Fills and deletes the contents of a driver's snapshots: the part that contents of one volume and
// of groups have in common. What differs between them is a ContentKind.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject, ObjectMeta } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { formatTime } from '#machinery/text/time.ts';
import type { CsiControllerConfig } from '../csi-config.ts';
import { MERGE_PATCH, statusPatch } from '../patches.ts';
import { secretValues } from '../secrets.ts';
import { type SecretAnnotations, SNAPSHOT_NODE } from './content-parts.ts';
import { Finalizers } from './finalizers.ts';

/** The parts that contents of both kinds have. */
export interface SnapshotContent {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Immutable<ObjectMeta>;
  readonly spec: { readonly driver: string; readonly deletionPolicy: string };
  readonly status?: {
    readonly readyToUse?: boolean;
    readonly error?: { readonly message?: string };
  };
}

/** One kind of content. */
export interface ContentKind<C extends SnapshotContent> {
  readonly type: ResourceType<KubeObject>;
  /** The noun of messages: 'snapshot', 'group snapshot'. */
  readonly noun: string;
  /** The prefix of the reasons of events: 'Snapshot', 'GroupSnapshot'. */
  readonly reasonPrefix: string;
  readonly finalizer: string;
  readonly secret: SecretAnnotations;
  /** Returns the handle of a snapshot that existed before its content; undefined if there is none. */
  givenHandle(content: C): string | undefined;
  /** Reports whether the driver has the snapshot. */
  exists(handle: string): Promise<boolean>;
  /** Returns the object that the content is bound to, if it exists. */
  ownerOf(content: C): { readonly metadata: Immutable<ObjectMeta> } | undefined;
  /** Reports whether the driver is called for the content. */
  isFilled(content: C): boolean;
  /** Takes the snapshot, or finds the given one, and returns the status of the content. */
  fill(content: C, secrets: Secrets): Promise<{ readonly readyToUse: boolean }>;
  /** Deletes the snapshot from the driver, if there is one to delete. */
  delete(content: C, secrets: () => Promise<Secrets>): Promise<void>;
}

export type Secrets = Readonly<Record<string, string>>;

export class ContentReconciler<C extends SnapshotContent> {
  readonly #config: CsiControllerConfig;
  readonly #kind: ContentKind<C>;
  readonly #recorder: EventRecorder;
  readonly #finalizers: Finalizers;

  constructor(config: CsiControllerConfig, kind: ContentKind<C>, recorder: EventRecorder) {
    this.#config = config;
    this.#kind = kind;
    this.#recorder = recorder;
    this.#finalizers = new Finalizers(config.client);
  }

  /** Fills the content, or deletes it. Rejects if the driver has to be called again. */
  async reconcile(content: C, signal: AbortSignal): Promise<void> {
    if (!(await this.isOurs(content))) return;
    const { type, finalizer } = this.#kind;
    if (content.metadata.deletionTimestamp !== undefined)
      return await this.#delete(content, signal);
    await this.#finalizers.add(type, content, finalizer, signal);
    await this.#keepNode(content, signal);
    if (content.status?.readyToUse === true || !this.#kind.isFilled(content)) return;
    try {
      await this.#fill(content, signal);
    } catch (error) {
      if (signal.aborted || apierrors.isConflict(error)) throw error;
      await this.#fail(content, errorMessage(error), signal);
      throw error;
    }
  }

  /** Reports whether the content's snapshot is of this driver, on this node. */
  async isOurs(content: C): Promise<boolean> {
    const { driver, nodeName } = this.#config;
    const { metadata, spec } = content;
    if (spec.driver !== driver) return false;
    const node = metadata.annotations?.[SNAPSHOT_NODE];
    if (nodeName === undefined || node === nodeName) return true;
    const given = this.#kind.givenHandle(content);
    return node === undefined && given !== undefined && (await this.#kind.exists(given));
  }

  /** Once the driver has deleted a given snapshot, no node could find out whose it was. */
  async #keepNode(content: C, signal: AbortSignal): Promise<void> {
    const { client, nodeName } = this.#config;
    const { name, annotations = {} } = content.metadata;
    if (nodeName === undefined || ownValue(annotations, SNAPSHOT_NODE) !== undefined) return;
    const patch = { metadata: { annotations: { [SNAPSHOT_NODE]: nodeName } } };
    await client.resource(this.#kind.type).patch(name, MERGE_PATCH, patch, { signal });
  }

  async #fill(content: C, signal: AbortSignal): Promise<void> {
    const status = await this.#kind.fill(content, await this.#secrets(content, signal));
    await this.#setStatus(content, status, signal);
    // A driver may upload a snapshot before it can be used.
    if (!status.readyToUse) throw new Error(`the ${this.#kind.noun} is not ready yet`);
  }

  /** Reports a failure, once as long as it lasts: each write would start another attempt. */
  async #fail(content: C, cause: string, signal: AbortSignal): Promise<void> {
    const { noun, reasonPrefix } = this.#kind;
    const isGiven = this.#kind.givenHandle(content) !== undefined;
    const message = isGiven
      ? `Failed to check and update ${noun} content: ${cause}`
      : `Failed to create ${noun}: ${cause}`;
    if (content.status?.error?.message === message) return;
    const reason = isGiven ? 'ContentCheckandUpdateFailed' : 'CreationFailed';
    this.#recorder.event(content, 'Warning', `${reasonPrefix}${reason}`, message);
    const error = { message, time: formatTime(this.#config.clock.now()) };
    await this.#setStatus(content, { ...content.status, readyToUse: false, error }, signal);
  }

  async #delete(content: C, signal: AbortSignal): Promise<void> {
    const { type, noun, reasonPrefix, finalizer } = this.#kind;
    // A content that was deleted by hand stays until its snapshot goes.
    const owner = this.#kind.ownerOf(content);
    if (owner !== undefined && owner.metadata.deletionTimestamp === undefined) return;
    if (content.spec.deletionPolicy === 'Delete') {
      try {
        await this.#kind.delete(content, () => this.#secrets(content, signal));
      } catch (error) {
        if (!signal.aborted) {
          const message = `Failed to delete ${noun}: ${errorMessage(error)}`;
          const reason = `${reasonPrefix}DeleteError`;
          this.#recorder.event(content, 'Warning', reason, message);
        }
        throw error;
      }
    }
    await this.#finalizers.remove(type, content, finalizer, signal);
  }

  async #setStatus(content: C, status: object, signal: AbortSignal): Promise<void> {
    await this.#config.client
      .resource(this.#kind.type)
      .patch(content.metadata.name, MERGE_PATCH, statusPatch(content.status, status), {
        subresource: 'status',
        signal,
      });
  }

  #secrets({ metadata }: C, signal: AbortSignal): Promise<Secrets> {
    const { name: nameKey, namespace: namespaceKey } = this.#kind.secret;
    const name = ownValue(metadata.annotations ?? {}, nameKey);
    if (name === undefined) return Promise.resolve({});
    const namespace = ownValue(metadata.annotations ?? {}, namespaceKey) ?? '';
    return secretValues(this.#config.client, { name, namespace }, signal);
  }
}
