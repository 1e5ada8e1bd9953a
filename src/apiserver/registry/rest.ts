// The interface of a resource for the endpoints: one function for each verb that it serves. A
// missing verb gets 405 and is not in discovery. ResourceStore is the usual implementation; virtual
// resources (reviews, bindings) have their own.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { WatchStream } from '#machinery/watch.ts';
import type { ApiRequest, ApiResponse, EncodedObject, EncodedWatchEvent } from '../request.ts';
import type { Selection } from './selection.ts';
import type { RequestContext } from './strategy.ts';

export interface GetOptions {
  /** '', '0' or a revision: the result is at least that new. */
  readonly resourceVersion?: string;
}

export interface ListOptions {
  readonly selection: Selection;
  readonly limit: number;
  /** The continue token of the previous page. */
  readonly continue: string;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: '' | 'Exact' | 'NotOlderThan';
}

export interface ListAnswer {
  readonly items: readonly EncodedObject[];
  readonly resourceVersion: string;
  /** The continue token of the next page. Absent on the last page. */
  readonly continue?: string;
  /** The number of further items, if known (it is unknown with selectors). */
  readonly remainingItemCount?: number;
}

export interface WatchOptions {
  readonly selection: Selection;
  /** '' or '0': the current state as ADDED events first, then changes. */
  readonly resourceVersion: string;
  readonly allowBookmarks: boolean;
  /**
   * The current state as ADDED events, then, with allowBookmarks, a bookmark with the annotation
   * k8s.io/initial-events-end, then changes.
   */
  readonly sendInitialEvents: boolean | undefined;
  /**
   * The time in ms after which the caller ends the watch. With allowBookmarks a bookmark is sent
   * shortly before. Default: no timeout.
   */
  readonly timeoutMs?: number;
  /** See Subscription. */
  readonly latestBeats?: boolean;
  /** See Subscription. */
  readonly withoutRenewals?: boolean;
  /**
   * Creates the object of a bookmark, which gets its metadata: the fields that the kind always has.
   * Default: none.
   */
  readonly emptyObject?: () => object;
}

/**
 * The validating admission of a write, which is called with the object to store. Throws StatusError
 * to reject it.
 */
export type ValidatingAdmission<T = unknown> = (object: T, old: T | undefined) => Awaitable<void>;

export interface CreateOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly validate?: ValidatingAdmission;
  /**
   * Returns the object as it is stored and returned, after admission (see ObjectCodec). Default:
   * unchanged.
   */
  readonly storedForm?: StoredForm;
  /** Whether the steps of the write should each have a turn of the event loop. Default: false. */
  readonly large?: boolean;
}

export type StoredForm = <T extends KubeObject>(object: T) => T;

/**
 * A change to one object, as a function of the current object, since it is called again after a
 * conflict.
 */
export interface ObjectUpdate {
  /**
   * Returns the new object. `current` is undefined if the object does not exist and the resource
   * allows creation by update. Must apply defaults and mutating admission. Returning `current`
   * itself changes nothing.
   */
  apply(current: KubeObject | undefined): KubeObject | Promise<KubeObject>;
  /** The uid and resourceVersion that the client requires, if any. */
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
  /** Called instead of `validate` when the update creates the object. */
  readonly validateCreate?: ValidatingAdmission;
  /** See CreateOptions. */
  readonly storedForm?: StoredForm;
  /**
   * Allows creation whatever the strategy says, for server-side apply. Default: the strategy
   * decides.
   */
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
  /** The object that still exists, or a Status if it was deleted. */
  readonly object: EncodedObject;
  readonly deleted: boolean;
}

/** The verbs of a resource or subresource. Errors are StatusError. */
export interface Rest {
  /** A completed deletion returns the object instead of a Status. */
  readonly returnsDeletedObject?: boolean;
  /** See UpdateStrategy. */
  readonly resetFields?: readonly (readonly string[])[];
  get?(context: RequestContext, name: string, options: GetOptions): Promise<EncodedObject>;
  list?(context: RequestContext, options: ListOptions): Promise<ListAnswer>;
  /**
   * Returns an object for other parts of the server; undefined if it does not exist. Without this
   * verb they use `get`.
   */
  find?(namespace: string, name: string): Awaitable<KubeObject | undefined>;
  /**
   * Returns all objects of a namespace ('': of all) for other parts of the server. Without this
   * verb they use `list`.
   */
  findAll?(namespace: string): Awaitable<readonly KubeObject[]>;
  watch?(context: RequestContext, options: WatchOptions): Promise<WatchStream<EncodedWatchEvent>>;
  /** Creates an object. `name` is the parent's name for subresources, otherwise ''. */
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
  /**
   * Serves requests without objects: logs, exec, proxies. `path`: the path after the subresource.
   */
  connect?(request: ApiRequest, name: string, path: string): Promise<ApiResponse>;
  /**
   * Ends all watches normally, now and for requests that still arrive; other requests are still
   * served. Called when the last kind with this Rest is uninstalled, and when the server stops.
   * Idempotent.
   */
  close?(): void;
}
