// The Status object and the error that carries it.

/** The defined values of `Status.reason`. The reason '' (unknown) is left out of the JSON. */
export const STATUS_REASONS = [
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'StorageReadError',
  'Timeout',
  'TooManyRequests',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'InternalError',
  'Expired',
  'ServiceUnavailable',
] as const;

export type StatusReason = (typeof STATUS_REASONS)[number];

export interface StatusCause {
  /** A machine-readable reason, such as 'FieldValueInvalid' or 'ResourceVersionTooLarge'. */
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource ('pods'); for reason Invalid, the kind ('Pod'). */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/**
 * meta.k8s.io/v1 Status in its JSON form: empty fields are left out, `metadata` is always present.
 */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: {
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly resourceVersion?: string;
    readonly selfLink?: string;
  };
  readonly status?: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: StatusReason | (string & {});
  readonly details?: StatusDetails;
  /** The HTTP status code. */
  readonly code?: number;
}

/** A resource and its group. Every ResourceType is a GroupResource. The core group is ''. */
export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** A kind and its group. Every GroupVersionKind is a GroupKind. */
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** An error that clients of the API receive. Its message is the message of the Status. */
export class StatusError extends Error {
  readonly status: Status;

  constructor(status: Status, options?: { readonly cause?: unknown }) {
    super(status.message ?? '', options);
    this.name = 'StatusError';
    this.status = status;
  }

  /** The HTTP status code; 0 if the Status has none. */
  get code(): number {
    return this.status.code ?? 0;
  }

  /** '' if unknown. */
  get reason(): string {
    return this.status.reason ?? '';
  }
}

/** Returns the name of a resource as in messages: 'replicasets.apps', 'pods'. */
export function groupResourceString(resource: GroupResource): string {
  return resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
}

/** Returns the name of a kind as in messages: 'ReplicaSet.apps', 'Pod'. */
export function groupKindString(kind: GroupKind): string {
  return kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
}

/** Returns the error for a Status that was received. */
export function fromStatus(status: Status, options?: { readonly cause?: unknown }): StatusError {
  return new StatusError(status, options);
}

/** Returns the error itself, or the nearest StatusError among its causes. */
export function findStatusError(error: unknown): StatusError | undefined {
  let current = error;
  // Bounded, since a chain of causes may be circular.
  for (let depth = 0; depth < 32; depth++) {
    if (current instanceof StatusError) return current;
    if (!(current instanceof Error)) return undefined;
    current = current.cause;
  }
  return undefined;
}
