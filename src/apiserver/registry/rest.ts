// What the endpoints ask of a resource: one function per verb that it serves. A verb that is not there answers 405 and is not
// in discovery. ResourceStore is the usual implementation; virtual resources (reviews, bindings) write their own.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { ApiRequest, ApiResponse, EncodedObject, EncodedWatchEvent } from '../request.ts';
import type { Selection } from './selection.ts';
import type { RequestContext } from './strategy.ts';

export interface GetOptions {
  /** '' or '0' or a revision: the answer is at least that new. */
  readonly resourceVersion?: string;
}

export interface ListOptions {
  readonly selection: Selection;
  readonly limit: number;
  /** The token of the page before, as it was answered. */
  readonly continue: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
}

export interface ListAnswer {
  readonly items: readonly EncodedObject[];
  readonly resourceVersion: string;
  /** Absent on the last page. */
  readonly continue?: string;
  /** How many more there are, if that is known (it is not with selectors). */
  readonly remainingItemCount?: number;
}

export interface WatchOptions {
  readonly selection: Selection;
  /** '' or '0': the current state as ADDED first, then changes. */
  readonly resourceVersion: string;
  readonly allowBookmarks: boolean;
  /** The current state as ADDED, then a bookmark annotated k8s.io/initial-events-end, then changes. */
  readonly sendInitialEvents: boolean | undefined;
  /** Whoever asks will end it then: with allowBookmarks it has a bookmark shortly before. Default: not by time. */
  readonly timeoutMs?: number;
  /** See Subscription. */
  readonly latestBeats?: boolean;
}

/** What admission adds to a write. Called with what would be stored; throws StatusError to refuse it. */
export type ValidatingAdmission<T = unknown> = (object: T, old: T | undefined) => Awaitable<void>;

export interface CreateOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly validate?: ValidatingAdmission;
  /** Returns the object as it is stored and answered, once it is admitted (see ObjectCodec). Default: as it is. */
  readonly storedForm?: StoredForm;
  /** Whether the steps of the write should each have a turn of the event loop. Default: false. */
  readonly large?: boolean;
}

export type StoredForm = <T extends KubeObject>(object: T) => T;

/** A change to one object, as a function of what is there, since it is asked again after a conflict. */
export interface ObjectUpdate {
  /**
   * The new object from the current one (undefined: there is none, and the resource allows to create by update). Defaults and
   * mutating admission are applied. Answering `current` itself changes nothing.
   */
  apply(current: KubeObject | undefined): KubeObject | Promise<KubeObject>;
  /** The uid and resourceVersion that the client insists on, if it does. */
  readonly preconditions?: Preconditions;
}

export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface UpdateOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly validate?: ValidatingAdmission;
  /** Used instead of `validate` when the update creates. */
  readonly validateCreate?: ValidatingAdmission;
  /** See CreateOptions. */
  readonly storedForm?: StoredForm;
  /** PATCH that applies: may create whatever the strategy says. Default: as the strategy says. */
  readonly forceAllowCreate?: boolean;
}

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
  /** The old form of propagationPolicy. */
  readonly orphanDependents?: boolean;
  readonly preconditions?: Preconditions;
  readonly validate?: ValidatingAdmission;
}

export interface DeleteAnswer {
  /** The object as it is now, or a Status when it is gone. */
  readonly object: EncodedObject;
  readonly deleted: boolean;
}

/** The verbs of a resource or subresource. Errors are StatusError. */
export interface Rest {
  /** A deletion that is done answers the object, not a Status. */
  readonly returnsDeletedObject?: boolean;
  /** See UpdateStrategy. */
  readonly resetFields?: readonly (readonly string[])[];
  get?(context: RequestContext, name: string, options: GetOptions): Promise<EncodedObject>;
  list?(context: RequestContext, options: ListOptions): Promise<ListAnswer>;
  /** An object, undefined if there is none: for other parts of the server. Without it they get. */
  find?(namespace: string, name: string): Awaitable<KubeObject | undefined>;
  /** All objects of a namespace ('': of all), for other parts of the server. Without it they list. */
  findAll?(namespace: string): Awaitable<readonly KubeObject[]>;
  watch?(context: RequestContext, options: WatchOptions): Promise<WatchStream<EncodedWatchEvent>>;
  /** `name` is that of the parent, for subresources; otherwise ''. */
  create?(
    context: RequestContext,
    name: string,
    object: KubeObject,
    options: CreateOptions,
  ): Promise<EncodedObject>;
  update?(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
  ): Promise<{ readonly object: EncodedObject; readonly created: boolean }>;
  delete?(context: RequestContext, name: string, options: DeleteOptions): Promise<DeleteAnswer>;
  deleteCollection?(
    context: RequestContext,
    options: DeleteOptions,
    list: ListOptions,
  ): Promise<ListAnswer>;
  /** Everything that is not an object in, an object out: logs, exec, proxies. `path` is what follows the subresource. */
  connect?(request: ApiRequest, name: string, path: string): Promise<ApiResponse>;
  /**
   * Ends all watches normally, now and of requests that still come in; other requests are served on. Called when the last kind that has
   * this Rest is uninstalled, and when the server stops. Idempotent.
   */
  close?(): void;
}
