// Admission: what is asked of a write after authorization and before it reaches the registry. Plugins may change an object
// (all of them, in order, before its kind's own validation) and then refuse it (all of them, after that).

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { DeleteOptions } from '../registry/rest.ts';
import type { UserInfo } from '../request.ts';
import type { Reinvocation } from './reinvocation.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionAttributes {
  readonly operation: Operation;
  readonly kind: GroupVersionKind;
  readonly resource: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  };
  readonly subresource: string;
  /** '' for cluster-scoped resources. */
  readonly namespace: string;
  /** '' while a name is still to be generated, and for collections. */
  readonly name: string;
  /** Absent for DELETE and CONNECT. */
  readonly object?: KubeObject;
  /** Of UPDATE and DELETE. */
  readonly oldObject?: KubeObject;
  readonly deleteOptions?: DeleteOptions;
  /** Of CONNECT: what is asked for, as an object (PodExecOptions) that has no metadata. */
  readonly connectOptions?: () => object | undefined;
  /** How it was asked: fieldManager, fieldValidation. */
  readonly query: URLSearchParams;
  readonly dryRun: boolean;
  readonly user: UserInfo;
  /** Texts for `Warning` headers. */
  readonly warnings: string[];
  /** While plugins may change the object. */
  readonly reinvocation?: Reinvocation;
  /** Waits for admission. Absent: nothing ends admission early. */
  readonly caller?: AdmissionCaller;
}

/** The request that is admitted. Plugins that wait for others end when it ends. */
export interface AdmissionCaller {
  readonly signal: AbortSignal;
  /** When the time of the request is over, on the monotonic clock. Absent: it has no time limit. */
  readonly deadlineMs?: number;
}

/** What many writes have in common. */
export type AdmissionTarget = Pick<AdmissionAttributes, 'operation' | 'resource' | 'subresource'>;

export interface AdmissionPlugin {
  /** As Kubernetes names it: 'NamespaceLifecycle'. */
  readonly name: string;
  /** Whether it can have anything to say about such writes; asked once for all of them. Default: it can. */
  concerns?(target: AdmissionTarget): boolean;
  /** Whether it has about this one, which concerns it; asked before each call, so it should be quick. Default: it has. */
  handles?(attributes: AdmissionAttributes): boolean;
  /** The object as it shall be (the very same if nothing is to change). Throws StatusError to refuse it. */
  admit?(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject>;
  /**
   * As `admit`, for requests without an object: DELETE and CONNECT. Returns the options of a connection as they should be; undefined if
   * nothing is to change.
   */
  admitRequest?(attributes: AdmissionAttributes): Awaitable<object | undefined>;
  /** Throws StatusError to refuse it. */
  validate?(attributes: AdmissionAttributes): Awaitable<void>;
}
