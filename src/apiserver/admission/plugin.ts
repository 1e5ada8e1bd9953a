// The interface of admission plugins, which run after authorization and before the registry. All
// plugins may first change an object, in order, before its kind's own validation. After that, all
// of them may reject it.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { DeleteOptions } from '../registry/rest.ts';
import type { RequestAudit, UserInfo } from '../request.ts';
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
  /** The namespace; '' for cluster-scoped resources. */
  readonly namespace: string;
  /** The name; '' while it is still to be generated, and for collections. */
  readonly name: string;
  /** The new object. Absent for DELETE and CONNECT. */
  readonly object?: KubeObject;
  /** The stored object, for UPDATE and DELETE. */
  readonly oldObject?: KubeObject;
  readonly deleteOptions?: DeleteOptions;
  /** Returns the options of CONNECT as an object without metadata, such as PodExecOptions. */
  readonly connectOptions?: () => object | undefined;
  /** The query of the request, with fieldManager and fieldValidation. */
  readonly query: URLSearchParams;
  readonly dryRun: boolean;
  readonly user: UserInfo;
  /** The texts of `Warning` headers. Plugins may add some. */
  readonly warnings: string[];
  /** Present while plugins may change the object. */
  readonly reinvocation?: Reinvocation;
  /** The request that waits for admission. Absent: nothing ends admission early. */
  readonly caller?: AdmissionCaller;
}

/** The request that is admitted. A plugin that waits stops when the request ends. */
export interface AdmissionCaller {
  readonly signal: AbortSignal;
  /** The deadline of the request on the monotonic clock, in ms. Absent: there is none. */
  readonly deadlineMs?: number;
  /** Takes annotations for the audit log. Absent: the request is not recorded. */
  readonly audit?: Pick<RequestAudit, 'annotate' | 'records'>;
}

/** The attributes that many writes have in common. */
export type AdmissionTarget = Pick<AdmissionAttributes, 'operation' | 'resource' | 'subresource'>;

export interface AdmissionPlugin {
  /** The plugin's name in Kubernetes, such as 'NamespaceLifecycle'. */
  readonly name: string;
  /**
   * True: the plugin never looks at what a heartbeat of a node changes: times of its Lease, or of its
   * status. It decides by the namespace, and by whether the object has the name of the user's node.
   * Default: it may.
   */
  readonly ignoresHeartbeats?: true;
  /**
   * Reports whether the plugin applies to such writes. The result is cached for all of them.
   * Default: it applies.
   */
  concerns?(target: AdmissionTarget): boolean;
  /**
   * Reports whether the plugin applies to this write, after `concerns` returned true. Called before
   * each call, so it must be fast. For heartbeats of nodes it must not depend on the name and on
   * what they change. Default: it applies.
   */
  handles?(attributes: AdmissionAttributes): boolean;
  /**
   * Returns the object as it should be; the same object if nothing is to change. Throws StatusError
   * to reject the write.
   */
  admit?(attributes: AdmissionAttributes & { readonly object: KubeObject }): Awaitable<KubeObject>;
  /**
   * Does the same as `admit` for requests without an object: DELETE and CONNECT. Returns the
   * options of a connection as they should be; undefined if nothing is to change.
   */
  admitRequest?(attributes: AdmissionAttributes): Awaitable<object | undefined>;
  /** Checks the final object. Throws StatusError to reject the write. */
  validate?(attributes: AdmissionAttributes): Awaitable<void>;
}
