// The only error type of the runtime boundary. Every rejection of a RuntimeService or ImageService
// method is a CriError (or the reason of the caller's own AbortSignal), with a reason from this
// closed set.

export const criErrorReasons = [
  /** No such sandbox, container or file. */
  'NotFound',
  /** A name that must be unique is taken (same pod and attempt, same container and attempt). */
  'AlreadyExists',
  /** The request is invalid: a retry fails, too. */
  'InvalidArgument',
  /**
   * The object is in the wrong state for this call, for example starting a container that has
   * exited.
   */
  'FailedPrecondition',
  /** The runtime cannot be reached or is not ready; a retry may succeed. */
  'Unavailable',
  /** The call's timeout passed; its effect is unknown. */
  'DeadlineExceeded',
  /** The runtime cancelled the call. */
  'Canceled',
  /** Disk, memory, addresses or processes are exhausted. */
  'ResourceExhausted',
  'PermissionDenied',
  /** This runtime does not have the requested method or feature. */
  'Unimplemented',
  /** The image exists neither here nor in its registry. */
  'ImageNotFound',
  /** The image reference cannot be parsed. */
  'InvalidImageName',
  /** The registry could not be reached. */
  'RegistryUnavailable',
  /** The image's signature was not accepted. */
  'SignatureValidationFailed',
  /** Any other failure to pull. */
  'ImagePull',
  'Internal',
] as const;

export type CriErrorReason = (typeof criErrorReasons)[number];

export class CriError extends Error {
  override readonly name = 'CriError';
  readonly reason: CriErrorReason;

  constructor(reason: CriErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export function isCriError(err: unknown, ...reasons: CriErrorReason[]): err is CriError {
  return err instanceof CriError && (reasons.length === 0 || reasons.includes(err.reason));
}

/** Reports whether the sandbox, container or image does not exist, or no longer does. */
export function isNotFound(err: unknown): err is CriError {
  return isCriError(err, 'NotFound', 'ImageNotFound');
}
