// The types of handlers in the process. They depend on nothing of the API server.

import type { MutatingWebhook, OperationType } from '#api/groups/admissionregistration/v1/index.ts';
import type { AdmissionRequest } from '#api/groups/admission/v1/index.ts';
import type {
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '#api/groups/authorization/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { JsonPatchOperation } from '#machinery/patch/json-patch.ts';

/** A request that a handler decides on. */
export interface AdmissionCall<T extends KubeObject = KubeObject> {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  /**
   * The object of the request. Of a DELETE: the object that is deleted. A mutating handler changes
   * it in place.
   */
  readonly object: T;
  /** The stored object, of an UPDATE or DELETE. */
  readonly oldObject: T | undefined;
  /** Empty for a create with `generateName`. */
  readonly name: string;
  /** Undefined for cluster-scoped resources. */
  readonly namespace: string | undefined;
  readonly user: AdmissionRequest['userInfo'];
  readonly dryRun: boolean;
  /** The request as the webhook protocol has it. */
  readonly review: AdmissionRequest;
  /** Aborts at the time limit. */
  readonly signal: AbortSignal;
  /** Adds a warning to the response of the request. */
  warn(text: string): void;
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void;
  /** Rejects the request with Forbidden. To reject with another status, throw a StatusError. */
  deny(message: string): never;
}

/**
 * Decides on a request. A StatusError rejects the request; any other error is a failed call, and
 * the failure policy decides.
 */
export type ValidatingHandler<T extends KubeObject> = (
  call: AdmissionCall<T>,
) => void | Promise<void>;

/** Changes `call.object`, or returns a JSON patch. Errors: as those of a ValidatingHandler. */
export type MutatingHandler<T extends KubeObject> = (
  call: AdmissionCall<T>,
) => void | readonly JsonPatchOperation[] | Promise<void | readonly JsonPatchOperation[]>;

/**
 * Returns the object in another version of its group. `to` is an apiVersion such as
 * 'example.com/v2'. The object is the handler's own copy. An error fails the requests that need the
 * conversion.
 */
export type ConversionHandler = (
  object: Readonly<Record<string, unknown>> & KubeObject,
  to: string,
) => object | Promise<object>;

/** Returns the status of a review of the access. Neither allowed nor denied: no opinion. */
export type AccessReviewer = (
  spec: SubjectAccessReviewSpec,
) => AccessDecision | Promise<AccessDecision>;

export type AccessDecision = Pick<SubjectAccessReviewStatus, 'allowed'> &
  Partial<SubjectAccessReviewStatus>;

/** A handler that takes part in the work of the API server. */
export interface InstalledHandler {
  /** The name of its configuration: of an object of the API, but for authorization. */
  readonly name: string;
  /** Takes the handler and its configuration away. Idempotent. */
  remove(): Promise<void>;
}

type WebhookFields = Pick<
  MutatingWebhook,
  | 'failurePolicy'
  | 'matchPolicy'
  | 'namespaceSelector'
  | 'objectSelector'
  | 'matchConditions'
  | 'timeoutSeconds'
>;

/** How admission calls a handler: as the fields of the same names in a webhook configuration. */
export interface AdmissionOptions extends Partial<WebhookFields> {
  /**
   * The name of the webhook and of its configuration, a domain of at least three parts. Handlers
   * are called in the order of names. Default: a name that keeps the order in which they were
   * added.
   */
  readonly name?: string;
  /** Default: CREATE and UPDATE. */
  readonly operations?: readonly OperationType[];
  /** Subresources, such as 'status' or '*', beside the resource itself. Default: none. */
  readonly subresources?: readonly string[];
  /**
   * Default: 'None'. A handler with effects is not called for dry runs: 'NoneOnDryRun' if it looks
   * at `dryRun`.
   */
  readonly sideEffects?: MutatingWebhook['sideEffects'];
}

export interface MutationOptions extends AdmissionOptions {
  /** Default: 'Never'. */
  readonly reinvocationPolicy?: MutatingWebhook['reinvocationPolicy'];
}

export interface AuthorizationOptions {
  /** The decision when the handler fails. Default: 'Deny'. */
  readonly failurePolicy?: 'NoOpinion' | 'Deny';
}

/** Handlers as plain functions: no port, no TLS. They have the semantics of configured webhooks. */
export interface Webhooks {
  /** Changes objects before they are validated and stored. */
  mutate<T extends KubeObject>(
    resources: ResourceType<T> | readonly ResourceType<T>[],
    handler: MutatingHandler<T>,
    options?: MutationOptions,
  ): Promise<InstalledHandler>;
  /** Rejects requests, or warns. */
  validate<T extends KubeObject>(
    resources: ResourceType<T> | readonly ResourceType<T>[],
    handler: ValidatingHandler<T>,
    options?: AdmissionOptions,
  ): Promise<InstalledHandler>;
  /**
   * Converts a custom resource between its versions. Its definition must exist; `remove` sets the
   * strategy None.
   */
  convert(resource: ResourceType, handler: ConversionHandler): Promise<InstalledHandler>;
  /**
   * Decides what users may do, before RBAC: with the status of a SubjectAccessReview. Neither
   * allowed nor denied: RBAC decides. It is asked about the cluster's components, too, but not
   * about members of system:masters. Decisions are not cached.
   */
  authorize(handler: AccessReviewer, options?: AuthorizationOptions): InstalledHandler;
}
