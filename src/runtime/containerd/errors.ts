// Converts gRPC errors of a CRI runtime to CriErrors.

import { type ServiceError, status } from '@grpc/grpc-js';
import { CriError, type CriErrorReason } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';

const reasons: Readonly<Partial<Record<status, CriErrorReason>>> = {
  [status.CANCELLED]: 'Canceled',
  [status.INVALID_ARGUMENT]: 'InvalidArgument',
  [status.DEADLINE_EXCEEDED]: 'DeadlineExceeded',
  [status.NOT_FOUND]: 'NotFound',
  [status.ALREADY_EXISTS]: 'AlreadyExists',
  [status.PERMISSION_DENIED]: 'PermissionDenied',
  [status.RESOURCE_EXHAUSTED]: 'ResourceExhausted',
  [status.FAILED_PRECONDITION]: 'FailedPrecondition',
  [status.UNIMPLEMENTED]: 'Unimplemented',
  [status.UNAVAILABLE]: 'Unavailable',
};

/** The message of a name that is taken: containerd 2 returns FAILED_PRECONDITION for it. */
const RESERVED = /\bis reserved for\b/;

/** Runtimes return UNKNOWN for many errors with a specific code, so their messages are matched. */
const words: readonly (readonly [RegExp, CriErrorReason])[] = [
  [/context deadline exceeded|timed? ?out/i, 'DeadlineExceeded'],
  [
    /is in CONTAINER_\w+ state|is not running|container is (?:not )?in \w+ state|must be in/i,
    'FailedPrecondition',
  ],
  [
    /no space left on device|cannot allocate memory|resource temporarily unavailable/i,
    'ResourceExhausted',
  ],
  [/\bnot found\b/, 'NotFound'],
];

function isServiceError(err: unknown): err is ServiceError {
  return err instanceof Error && typeof (err as Partial<ServiceError>).code === 'number';
}

/** Returns the error of a call to the runtime. */
export function fromGrpc(err: unknown): CriError {
  if (err instanceof CriError) return err;
  if (!isServiceError(err)) return new CriError('Internal', errorMessage(err), { cause: err });
  const message = err.details || err.message;
  if (RESERVED.test(message)) return new CriError('AlreadyExists', message, { cause: err });
  const named =
    reasons[err.code] ?? words.find(([pattern]) => pattern.test(message))?.[1] ?? 'Internal';
  return new CriError(named, message, { cause: err });
}

/** The names of gRPC's codes in texts of Go programs. */
const codeNames: Readonly<Record<number, string>> = {
  [status.CANCELLED]: 'Canceled',
  [status.UNKNOWN]: 'Unknown',
  [status.INVALID_ARGUMENT]: 'InvalidArgument',
  [status.DEADLINE_EXCEEDED]: 'DeadlineExceeded',
  [status.NOT_FOUND]: 'NotFound',
  [status.ALREADY_EXISTS]: 'AlreadyExists',
  [status.PERMISSION_DENIED]: 'PermissionDenied',
  [status.RESOURCE_EXHAUSTED]: 'ResourceExhausted',
  [status.FAILED_PRECONDITION]: 'FailedPrecondition',
  [status.ABORTED]: 'Aborted',
  [status.OUT_OF_RANGE]: 'OutOfRange',
  [status.UNIMPLEMENTED]: 'Unimplemented',
  [status.INTERNAL]: 'Internal',
  [status.UNAVAILABLE]: 'Unavailable',
  [status.DATA_LOSS]: 'DataLoss',
  [status.UNAUTHENTICATED]: 'Unauthenticated',
};

/**
 * Returns the error with the text of a gRPC error in upstream's events: `rpc error: code = NotFound
 * desc = …`. Errors that did not come from the runtime stay as they are.
 */
export function withRpcCode(error: CriError): CriError {
  const { cause } = error;
  const name = isServiceError(cause) ? codeNames[cause.code] : undefined;
  if (name === undefined) return error;
  return new CriError(error.reason, `rpc error: code = ${name} desc = ${error.message}`, { cause });
}

/**
 * Returns the error of a pull, with one of the image reasons. As in upstream's events, its message
 * begins with the gRPC code unless that is Unknown.
 */
export function fromPullError(err: unknown): CriError {
  const error = pullError(err);
  const isUnknown = isServiceError(error.cause) && error.cause.code === status.UNKNOWN;
  return isUnknown ? error : withRpcCode(error);
}

function pullError(err: unknown): CriError {
  const error = fromGrpc(err);
  const { message, cause } = error;
  if (
    message.startsWith('RegistryUnavailable') ||
    /dial tcp|no such host|i\/o timeout|connection refused/i.test(message)
  ) {
    return new CriError('RegistryUnavailable', message, { cause });
  }
  if (message.startsWith('SignatureValidationFailed'))
    return new CriError('SignatureValidationFailed', message, { cause });
  if (error.reason === 'InvalidArgument' || /invalid reference format/i.test(message)) {
    return new CriError('InvalidImageName', message, { cause });
  }
  if (error.reason === 'NotFound') return new CriError('ImageNotFound', message, { cause });
  if (
    error.reason === 'Unavailable' ||
    error.reason === 'DeadlineExceeded' ||
    error.reason === 'Unimplemented'
  )
    return error;
  return new CriError('ImagePull', message, { cause });
}
